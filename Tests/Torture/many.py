"""Years of nights for a folder of stores with one policy: `store: { files: … }`.

Each store has the laws of years.py for itself. Some nights one is locked, damaged, lacks its table or is away, or a new one appears:
that one is as it was, and the others are cleaned up."""

import contextlib
import json
import os
import shutil
import sqlite3
import subprocess
import sys

from nights import broken
from scenario import require
from years import Years

# What the names of stores are, sorted as a run takes them.
NAMES = ["data/a.sqlite", "data/a b'%.sqlite", "data/2026/b.sqlite", "data/2026/q1/c.sqlite", "data/z.sqlite"]


class Store(Years):
    """One of the stores. What it does not know itself, the folder does."""

    def __init__(self, many, file):
        self.many, self.file = many, file
        self.begin()

    def __getattr__(self, name):
        return getattr(self.many, name)

    def call(self, *arguments, **options):
        return self.many.call(*arguments, **options)

    @property
    def agreed(self):
        """One policy is agreed for all stores."""
        return self.many.agreed

    @agreed.setter
    def agreed(self, policies):
        self.many.agreed = policies

    @property
    def path(self):
        return f"{self.folder}/{self.file}"

    def check_refusal(self, said):
        """Rows that were restored in a store that was moved are protected in all stores."""
        if said["refusal"] != "restored_rows" or not any(store.restored for store in self.many.stores):
            super().check_refusal(said)

    def second_run(self, report, after):
        """As `again` of one store."""
        refused = self.refused_rules
        self.check_run(report, after, set(), None)
        deleted = sum(count for name, count in self.deleted.items() if name not in refused) + broken("again", 0, 1)
        require(deleted == 0, "a second run deletes", deleted, "rows of", self.file)


class Many(Years):
    may_be_named = False

    def __init__(self, program, chance, folder):
        super().__init__(program, chance, folder)
        self.names = list(NAMES)
        self.stores = []
        os.makedirs(f"{self.folder}/away")
        os.rename(f"{self.folder}/prices.sqlite", f"{self.folder}/away/prices.sqlite")
        self.add(f"{self.folder}/away/prices.sqlite")
        for _ in range(chance.choice([1, 2])):
            self.appear()

    def add(self, path):
        store = Store(self, self.names.pop(self.chance.randrange(len(self.names))))
        os.makedirs(os.path.dirname(store.path), exist_ok=True)
        os.rename(path, store.path)
        self.stores.append(store)
        # Another store may have had the path, and the policy has changed since.
        store.has_changed = True

    def appear(self):
        shutil.rmtree(f"{self.base}/new", ignore_errors=True)
        self.life.make(f"{self.base}/new")
        if self.chance.random() < 0.4:
            # No row of it is concerned by what people change now.
            with contextlib.closing(self.life.open(f"{self.base}/new/prices.sqlite")) as store:
                for table in ["Note"] * bool(self.life.children) + self.life.tables:
                    store.execute(f"DELETE FROM {table}")
        self.add(f"{self.base}/new/prices.sqlite")

    def move(self, store):
        """A store that was moved is a new one, but rows that were restored in it are protected in every store."""
        former, restored = store.path, store.restored
        self.names.append(store.file)
        store.begin()
        store.file, store.restored, store.has_changed = self.names.pop(0), restored, True
        os.makedirs(os.path.dirname(store.path), exist_ok=True)
        os.rename(former, store.path)
        self.story.append(f"night {self.night}: {former} becomes {store.file}")
        self.counts["moves"] += 1

    def nights(self, count):
        for since in self.each_night(count):
            if self.names and self.chance.random() < 0.05:
                self.appear()
                self.story.append(f"night {self.night}: {self.stores[-1].file} appears")
            if self.names and self.chance.random() < 0.05:
                self.move(self.chance.choice(self.stores))
            for store in self.stores:
                self.life.feed(store.path, since, self.night)
            self.edit()
            before = {store: store.look() for store in self.stores}
            with contextlib.ExitStack() as stack:
                self.ailing = ailing = self.trouble(stack)
                if self.chance.random() < 0.2 and self.agreed:
                    self.part(*self.some_part())
                self.night_of(ailing)
            if ailing:
                ailing.check_same(before[ailing], ailing.look(), f"a run that could not take {ailing.file}")
            if self.chance.random() < 0.1:
                self.undo_one()

    def edit(self):
        if self.chance.random() < 0.25:
            self.story.append(f"night {self.night}: somebody {self.life.edit()}")
            for store in self.stores:
                store.has_changed = True
        self.life.write(self.folder, self.life.written)
        with open(f"{self.folder}/retention.yaml") as policy:
            text = policy.read()
        files = '{ files: "data/**/*.sqlite", busy_timeout: 100ms }'
        with open(f"{self.folder}/retention.yaml", "w") as policy:
            policy.write(text.replace("store: prices.sqlite", f"store: {files}"))

    def trouble(self, stack):
        """Something that ails a store tonight. Returns the store; None: nothing."""
        kind = self.chance.choice([None, None, None, None, "locked", "damaged", "away", "without its table"])
        if not kind or len(self.stores) < 2 or (kind == "without its table" and self.life.feature == "tables"):
            return None
        store = self.chance.choice(self.stores)
        self.story.append(f"night {self.night}: {store.file} is {kind}")
        self.counts[kind] += 1
        if kind == "locked":
            stack.callback(self.lock(store.path))
        elif kind == "damaged":
            with open(store.path, "r+b") as file:
                header = file.read(100)
                file.seek(0)
                file.write(b"x" * 100)
            stack.callback(self.repair, store.path, header)
        elif kind == "away":
            os.rename(store.path, f"{self.folder}/away/it")
            stack.callback(os.rename, f"{self.folder}/away/it", store.path)
        else:
            self.rename_table(store.path, "Tick", "Tock")
            stack.callback(self.rename_table, store.path, "Tock", "Tick")
        return store

    @staticmethod
    def lock(path):
        """Locks a store in another process: a process loses its locks when it closes any file that it has read. Returns what unlocks."""
        code = "import sqlite3, sys; sqlite3.connect(sys.argv[1], isolation_level=None).execute('BEGIN EXCLUSIVE'); print('.', flush=True); input()"
        process = subprocess.Popen([sys.executable, "-c", code, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        process.stdout.read(1)

        def unlock():
            process.kill()
            process.communicate()
        return unlock

    @staticmethod
    def repair(path, header):
        with open(path, "r+b") as file:
            file.write(header)

    @staticmethod
    def rename_table(path, one, other):
        with contextlib.closing(sqlite3.connect(path)) as store:
            store.execute(f"ALTER TABLE {one} RENAME TO {other}")

    def reports(self, ailing, *arguments, **options):
        """The report of each healthy store."""
        end = self.call(*arguments, **options)
        require(end.stdout, "ends with", end.returncode, end.stderr)
        reports = json.loads(end.stdout)
        reports = [reports] if isinstance(reports, dict) else reports
        require(end.returncode == max(report["exit_code"] for report in reports), "ends with", end.returncode)
        found = {report["store"]: report for report in reports}
        is_selected = "--store" in arguments
        missing = [store.file for store in self.healthy(ailing) if store.file not in found]
        require(is_selected or not missing, "no report of", missing)
        for name, report in found.items():
            store = next(store for store in self.stores if store.file == name)
            if store is not ailing:
                require(report["exit_code"] in (0, 65), name, "ends with", report["exit_code"], report["failure"])
                store.checked(report)
        return found

    def healthy(self, ailing):
        return [store for store in self.stores if store is not ailing]

    def night_of(self, ailing):
        refused = set().union(*(store.refused for store in self.stores))
        self.refused = refused
        accept = self.accepted()
        whole = self.healthy(ailing)
        before = {store: store.look() for store in whole}
        judges = {store: store.judge(before[store].rows) for store in whole}
        bytes_before = {store: store.store_bytes() for store in whole}
        planned = self.reports(ailing, *self.words(accept), "--dry-run")
        require(all(store.store_bytes() == bytes_before[store] for store in whole), "the dry run changed a store")
        gone = {store: self.life.compare(planned[store.file]["rules"], judges[store], f"the dry run of {store.file}") for store in whole}
        if self.chance.random() < 0.25:
            self.counts["killed"] += 1
            at = self.chance.randint(1, 200 * len(whole))
            self.call(*self.words(accept), faults={"KILL_AT": at})
            before = {store: store.stopped(before[store], gone[store], f"{store.file} after a run killed at change {at}") for store in whole}
            for store in whole:
                store.recorded(accept)
            planned = {}
        done = self.reports(ailing, *self.words(accept))
        after = {store: store.check_run(done[store.file], before[store], accept, planned.get(store.file)) for store in whole}
        self.agree_all(done, whole, accept)
        again = self.reports(ailing, *self.words(()))
        for store in whole:
            store.second_run(again[store.file], after[store])
        self.agree_all(again, whole, set())

    def agree_all(self, reports, whole, accept):
        """A run of all stores has the rules of all of them."""
        self.agree([rule for store in whole for rule in reports[store.file]["rules"]], accept)

    # Runs of a part

    @property
    def able(self):
        return self.healthy(self.ailing)

    def take(self, *words):
        reports = self.reports(self.ailing, *words)
        return {store: reports[store.file] for store in self.able if store.file in reports}

    def some_part(self):
        words, days, accept = super().some_part()
        if self.chance.random() < 0.6:
            words = [*words, "--store", self.chance.choice(self.able).file]
        return words, days, accept

    def undo_one(self):
        """The undo of a run of one store leaves the others as they are."""
        able = [store for store in self.stores if store.runs]
        if able:
            one = self.chance.choice(able)
            others = {store: store.look() for store in self.stores if store is not one}
            one.undo()
            for store, before in others.items():
                store.check_same(before, store.look(), f"an undo of {one.file}")
