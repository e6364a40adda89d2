"""Makes the stores and their copies, and runs the sides of a comparison in turn."""

import json
import os
import shutil
import sys
import time

from .measuring import end, measure
from .schemas import SCHEMAS, UNTIL

# The shell's settings; the stores are in WAL mode already.
SHELL = "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; "


# What a report says of each technique.
TECHNIQUES = {
    "one statement": "whole", "range batches": "range", "sorted batches": "sorted", "rowid windows": "windows",
    "key batches": "keys", "rebuild by copy-back": "rebuild", "rebuild in place": "rebuild_in_place",
    "whole partitions": "partitions"}
# These take as long as they take where they are forced.
LOCKING = ("whole", "rebuild", "rebuild_in_place")


class NotAvailable(Exception):
    """The program does not have this strategy, or not for this store."""


class Workshop:
    """The programs, a folder for stores, and the options that all parts share."""

    def __init__(self, retention, programs, folder, options, result):
        self.retention = retention
        self.goldprices, self.storebench = programs / "goldprices", programs / "storebench"
        self.folder, self.options, self.result = folder, options, result
        self.began = time.monotonic()

    def note(self, text):
        minutes, seconds = divmod(int(time.monotonic() - self.began), 60)
        print(f"{minutes:3}:{seconds:02}  {text}", file=sys.stderr, flush=True)

    def store(self, schema, rows):
        """A store of that shape and size; made once."""
        return self.made(f"{schema.name}-{rows}", [*schema.options, "--rows", rows])

    def made(self, name, options):
        """A store that goldprices makes by these options; made once."""
        path = self.folder / f"{name}.sqlite"
        if not path.exists():
            self.note(f"making {path.name}")
            measure([self.goldprices, path, *options, "--until", UNTIL], self.folder)
        return path

    def forget(self, schema, rows):
        """Removes a store that is not needed again, for the room."""
        (self.folder / f"{schema.name}-{rows}.sqlite").unlink(missing_ok=True)

    def work_folder(self, store, policy=None):
        """A fresh folder with a copy of the store, and the policy if there is one."""
        folder = self.folder / "work"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        shutil.copyfile(store, folder / "prices.sqlite")
        if policy is not None:
            (folder / "retention.yaml").write_text(policy)
            # A policy that others may write is refused when run as root.
            (folder / "retention.yaml").chmod(0o644)
        # Or the first one that syncs would pay for the copy.
        with open(folder / "prices.sqlite", "rb") as copy:
            os.fsync(copy)
        return folder

    def shell(self, folder, sql):
        return ["sqlite3", "-batch", folder / "prices.sqlite", sql]

    def job(self, *options):
        return [self.retention, "run", "--as-of", UNTIL, "--format", "json", "--log-level", "error", *options]

    def check(self, folder, schema, left):
        """Every side must have left the same rows."""
        count = f"SELECT count(*) FROM {schema.table} WHERE {schema.date} >= {self.literal(schema, left)}"
        measure(self.shell(folder, f"{count}; SELECT count(*) FROM {schema.table}"), folder, output=f"{left}\n{left}")

    def literal(self, schema, kept):
        cutoff = schema.cutoff(kept)
        return f"'{cutoff}'" if schema.date_format == "iso8601" else cutoff

    def delete(self, side, schema, rows, percent, strategy=None):
        """One side deletes the oldest `percent` of a fresh copy.

        Returns what it cost, and the strategy that the job says it took. Raises NotAvailable where the program refuses
        the strategy.
        """
        kept = schema.kept(rows, percent)
        extra = "    limits: { max_lock: 1h }\n" if strategy in LOCKING else ""
        folder = self.work_folder(self.store(schema, rows), schema.policy(kept, extra))
        if side == "shell":
            sample, taken = measure(self.shell(folder, SHELL + schema.delete(kept)), folder, watched=True), None
        elif side == "job":
            options = ["--technique", strategy] if strategy else []
            sample = measure(self.job(*options), folder, watched=True, statuses=(0, 64, 78))
            if sample.status != 0:
                if "is not possible" in sample.errors or "not supported yet" in sample.errors:
                    raise NotAvailable
                end(f"retention run: exit status {sample.status}\n{sample.errors}")
            taken = TECHNIQUES.get(self.rule(sample)["method"])
        else:
            command = {"chunks": "delete-in-chunks", "objects": "delete-one-by-one"}[side]
            sample = measure(
                [self.storebench, command, *schema.peer_options(kept)], folder, output=str(rows - kept), watched=True)
            taken = None
        sample.file_mb = (folder / "prices.sqlite").stat().st_size / 1e6
        self.check(folder, schema, kept)
        return sample, taken

    def rule(self, sample):
        """What a run reports of its rule."""
        return json.loads(sample.printed)["rules"][0]

    def in_turn(self, sides, runs):
        """Measures each side `runs` times, one after the other, the order reversed each time.

        `sides` are pairs of a name and a function that returns a sample and a strategy. What disturbs the machine
        disturbs all of them, and nobody always comes first.
        """
        samples = {name: [] for name, _ in sides}
        strategies = {}
        for run in range(runs):
            for name, work in sides if run % 2 == 0 else reversed(sides):
                sample, taken = work()
                samples[name].append(sample)
                if taken:
                    strategies[name] = taken
        return samples, strategies


def schema(name):
    return SCHEMAS[name]
