"""A store, a policy and pending files made of a seed; and the laws that must hold for them whatever happens to a run."""

import json
import os
import random
import shutil
import sqlite3
import subprocess
import time

AS_OF = "2026-11-20T00:00:00Z"
NOW = 1795132800  # AS_OF in seconds since 1970
DAY = 86_400
CUTOFF = NOW - 30 * DAY
SHAPES = {
    "an index on the date": "CREATE TABLE Price(id INTEGER PRIMARY KEY, symbol TEXT, tag TEXT, at INTEGER);"
    "CREATE INDEX Price_at ON Price(at)",
    "no index": "CREATE TABLE Price(id INTEGER PRIMARY KEY, symbol TEXT, tag TEXT, at INTEGER)",
    "WITHOUT ROWID": "CREATE TABLE Price(id INTEGER UNIQUE, symbol TEXT, tag TEXT, at INTEGER, PRIMARY KEY (tag, symbol))"
    " WITHOUT ROWID; CREATE INDEX Price_at ON Price(at)",
    "no key": "CREATE TABLE Price(id INTEGER, symbol TEXT, tag TEXT, at INTEGER); CREATE INDEX Price_at ON Price(at, symbol)",
}
METHODS = ["auto", "range", "windows", "keys", "whole", "rebuild"]


class Broken(Exception):
    """A law does not hold."""


def require(holds, *what):
    if not holds:
        raise Broken(" ".join(str(part) for part in what))


class Program:
    """The program under test."""

    def __init__(self, path, faults=None, clock=None):
        self.path = path
        self.faults, self.clock = faults, clock

    def environment(self, variables, libraries, clock=None):
        """That of a process with libraries that are preloaded, and with another clock than that of the system."""
        environment = {key: value for key, value in os.environ.items() if not key.startswith("FAULTS_")} | variables
        if clock is not None:
            libraries = libraries + [self.clock]
            environment["CLOCK_OFFSET"] = str(int(clock.timestamp()) - int(time.time()))
        if libraries:
            environment["LD_PRELOAD"] = ":".join(libraries)
        return environment

    def run(self, folder, *arguments, faults=None, kill_after=None, clock=None):
        """Runs it to its end, or kills it after some seconds, and returns the ended process."""
        variables = {f"FAULTS_{key}": str(value) for key, value in (faults or {}).items()}
        if faults is not None:
            variables["FAULTS_UNDER"] = folder
        environment = self.environment(variables, [] if faults is None else [self.faults], clock)
        process = subprocess.Popen(
            [self.path, *arguments], cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            stdin=subprocess.DEVNULL)
        try:
            output, errors = process.communicate(timeout=kill_after if kill_after is not None else 120)
        except subprocess.TimeoutExpired:
            process.kill()
            output, errors = process.communicate()
            require(kill_after is not None, "the program did not end within two minutes")
        return subprocess.CompletedProcess(
            arguments, process.returncode, output.decode(errors="replace"), errors.decode(errors="replace"))

    def job(self, folder, *arguments, **options):
        """Runs the job with a report in JSON."""
        return self.run(folder, "run", "--as-of", AS_OF, "--format", "json", *arguments, **options)


class Scenario:
    """What a seed makes, in a folder that is copied for each trial."""

    def __init__(self, seed, folder, program):
        chance = random.Random(f"scenario {seed}")
        self.folder = folder
        self.program = program
        self.journal = chance.choice(["DELETE", "TRUNCATE", "PERSIST", "WAL", "WAL"])
        self.shape = chance.choice(list(SHAPES))
        self.vacuum = chance.choice([0, 0, 1, 2])
        self.page_size = chance.choice([512, 1024, 4096, 4096])
        self.reclaim = chance.choice(["none", "auto", "vacuum"])
        self.batch_rows = chance.choice([5, 17, 60, 150])
        self.is_audited = chance.random() < 0.5
        self.has_children = chance.random() < 0.4
        self.is_archived = chance.random() < 0.5
        # Without a choice of its own, so that the scenarios of a seed stay what they were.
        self.is_rolled = random.Random(f"candles {seed}").random() < 0.3
        self.method = "auto"
        self._make(chance)
        self.values = self.state(self.folder)["values"]
        self._choose_method(chance)

    def __str__(self):
        return (
            f"{self.shape}, {self.journal}, page size {self.page_size}, auto_vacuum {self.vacuum}, reclaim"
            f" {self.reclaim}, method {self.method} ({self.found_method}), batches of {self.batch_rows},"
            f" {len(self.rows)} rows, audit {self.is_audited}, children {self.has_children}, archive {self.is_archived},"
            f" candles {self.is_rolled}")

    def _make(self, chance):
        os.makedirs(f"{self.folder}/pending")
        os.makedirs(f"{self.folder}/archive", mode=0o700)
        store = sqlite3.connect(f"{self.folder}/prices.sqlite", isolation_level=None)
        for pragma in [f"page_size = {self.page_size}", f"auto_vacuum = {self.vacuum}", f"journal_mode = {self.journal}"]:
            store.execute(f"PRAGMA {pragma}")
        store.executescript(SHAPES[self.shape])
        if self.is_audited:
            store.executescript(
                "CREATE TABLE Audit(tag TEXT);"
                "CREATE TRIGGER Price_audit AFTER DELETE ON Price BEGIN INSERT INTO Audit VALUES (OLD.tag); END")
        if self.has_children and self.shape != "no key":
            store.executescript(
                "CREATE TABLE Quote(price INTEGER REFERENCES Price(id) ON DELETE CASCADE, tag TEXT);"
                "CREATE INDEX Quote_price ON Quote(price)")
        else:
            self.has_children = False
        # Rows to which others refer become no candles.
        self.is_rolled = self.is_rolled and not self.has_children
        # tag -> date, and symbol
        self.rows, self.symbols = {}, {}
        expired = chance.choice([40, 300, 900])
        for number in range(expired + chance.choice([1, 60, 300])):
            at = CUTOFF - 1 - chance.randrange(400 * DAY) if number < expired else CUTOFF + chance.randrange(30 * DAY)
            self.rows[f"row {number}"] = CUTOFF if chance.random() < 0.01 else at
        numbers = list(range(1, len(self.rows) + 1))
        chance.shuffle(numbers)
        store.execute("BEGIN")
        for number, (tag, at) in zip(numbers, self.rows.items()):
            symbol = self.symbols[tag] = chance.choice(["XAUUSD", "XAUEUR"])
            store.execute("INSERT INTO Price(id, symbol, tag, at) VALUES (?, ?, ?, ?)", (number, symbol, tag, at))
            if self.has_children:
                store.execute("INSERT INTO Quote VALUES (?, ?)", (number, tag))
        store.execute("COMMIT")
        store.close()
        self._make_pending(chance)
        self.rows_and_pending = self.rows | {tag: at for file in self.pending.values() for tag, at in file.items()}
        self.expired = {tag for tag, at in self.rows_and_pending.items() if at < CUTOFF}
        self.kept = set(self.rows_and_pending) - self.expired
        with open(f"{self.folder}/retention.yaml", "w") as policy:
            policy.write(
                "version: 1\nstore: prices.sqlite\nlog: { file: retention.log }\n"
                + ("archive: { folder: archive }\n" if self.is_archived else "") +
                "pending: [ { files: 'pending/*.csv', entity: Price }, { files: 'pending/*.ndjson', entity: Price } ]\n"
                "rules:\n  - { name: gold, entity: Price, date_attribute: at, date_format: unix_seconds, max_age: 30d,"
                f" batch: {{ rows: {self.batch_rows} }}, reclaim: {self.reclaim}, allow_empty: true"
                + (", rollup: { into: Candle, every: 1h, per: [symbol], price: at }" if self.is_rolled else "") + " }\n")
        os.chmod(f"{self.folder}/retention.yaml", 0o644)

    def _make_pending(self, chance):
        # file -> tag -> date; bad lines by file
        self.pending, self.bad, self.bytes = {}, {}, {}
        for number in range(chance.choice([0, 1, 2, 3])):
            is_csv = chance.random() < 0.6
            name = f"new {number}." + ("csv" if is_csv else "ndjson")
            rows, lines = {}, ["symbol,tag,at"] if is_csv else []
            for row in range(chance.choice([1, 30, 2500 if number == 0 else 50])):
                tag = f"{name} {row}"
                at = NOW - chance.randrange(60 * DAY)
                rows[tag] = at
                lines.append(f"XAUUSD,{tag},{at}" if is_csv else json.dumps({"symbol": "XAUUSD", "tag": tag, "at": at}))
            if chance.random() < 0.3:
                self.bad[name] = "XAUUSD,bad,soon" if is_csv else '{"symbol": "XAUUSD", "at": "soon"}'
                lines.insert(chance.randrange(1, len(lines) + 1), self.bad[name])
            text = "\n".join(lines) + "\n"
            with open(f"{self.folder}/pending/{name}", "w") as file:
                file.write(text)
            self.pending[name], self.bytes[name] = rows, text.encode()

    def _choose_method(self, chance):
        """One that the program accepts for this store: it is asked."""
        for method in chance.sample(METHODS, len(METHODS)):
            self.method = method
            answer = self.program.job(self.folder, "--dry-run", *self.options())
            if answer.returncode in (0, 65):
                self.found_method = json.loads(answer.stdout)["rules"][0]["method"]
                break
            require(answer.returncode in (64, 78) and method != "auto", "the dry run fails:", answer.stderr)
        for name in os.listdir(self.folder):
            if name.endswith(("-shm", "-wal")):
                os.remove(f"{self.folder}/{name}")

    def options(self):
        return [] if self.method == "auto" else ["--method", self.method]

    def copy(self, folder):
        shutil.copytree(self.folder, folder, copy_function=shutil.copy2)

    # Laws

    def state(self, folder):
        """What is in a store, read from a copy of its files, so that the next run finds them as they are."""
        copy = folder + ".look"
        shutil.copytree(folder, copy, ignore=shutil.ignore_patterns("pending", "*.log"))
        try:
            store = sqlite3.connect(f"{copy}/prices.sqlite")
            found = {
                "integrity": [row[0] for row in store.execute("PRAGMA integrity_check")],
                "tags": [row[0] for row in store.execute("SELECT tag FROM Price")],
                "values": set(store.execute("SELECT tag, quote(id), quote(symbol), quote(at) FROM Price")),
                "audit": [row[0] for row in store.execute("SELECT tag FROM Audit")] if self.is_audited else None,
                "children": [row[0] for row in store.execute("SELECT tag FROM Quote")] if self.has_children else None,
                "tables": {row[0] for row in store.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")},
                "candles": {}, "running": 0,
            }
            if "Candle" in found["tables"]:
                for symbol, time, *values in store.execute("SELECT symbol, time, open, high, low, close, count FROM Candle"):
                    require((symbol, time) not in found["candles"], "an hour has two candles:", symbol, time)
                    found["candles"][symbol, time] = values
            store.close()
            found["archived"] = self._archived(f"{copy}/archive")
            if os.path.exists(f"{copy}/retention.ledger.sqlite"):
                ledger = sqlite3.connect(f"{copy}/retention.ledger.sqlite")
                found["ledger"] = [row[0] for row in ledger.execute("PRAGMA integrity_check")]
                if ledger.execute("SELECT 1 FROM sqlite_schema WHERE name = 'run'").fetchone():
                    found["running"] = ledger.execute("SELECT count(*) FROM run WHERE outcome = 'running'").fetchone()[0]
                ledger.close()
            return found
        finally:
            shutil.rmtree(copy)

    def _archived(self, folder):
        """The rows of all archives: tag -> date, and the tags of children."""
        rows, children = {}, set()
        for name in sorted(os.listdir(folder)):
            if not name.endswith(".sqlite"):
                continue
            archive = sqlite3.connect(f"{folder}/{name}")
            require([row[0] for row in archive.execute("PRAGMA integrity_check")] == ["ok"], "the archive", name, "is damaged")
            tables = {row[0] for row in archive.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")}
            if "Price" in tables:
                rows.update(archive.execute("SELECT tag, at FROM Price"))
            if "Quote" in tables:
                children.update(row[0] for row in archive.execute("SELECT tag FROM Quote"))
            if "retention_archive" in tables:
                complete = archive.execute("SELECT value FROM retention_archive WHERE name = 'complete'").fetchone()
                sides = [end for end in ("-wal", "-journal") if os.path.exists(f"{folder}/{name}{end}")]
                require(complete != ("1",) or not sides, "the archive", name, "is complete, and has", sides)
            archive.close()
        return rows, children

    def check(self, folder, loses_batches=False):
        """The laws for the store as a run left it that came to any end. Returns the state."""
        state = self.state(folder)
        require(state["integrity"] == ["ok"], "the store is damaged:", state["integrity"][:3])
        require(state.get("ledger", ["ok"]) == ["ok"], "the ledger is damaged")
        tags = set(state["tags"])
        require(len(tags) == len(state["tags"]), "rows are there twice")
        require(tags <= set(self.rows_and_pending), "rows are there that nobody wrote")
        gone = set(self.rows) - tags
        require(gone <= self.expired, "rows are gone that are not expired:", sorted(gone - self.expired)[:5])
        for name, rows in self.pending.items():
            there = set(rows) & tags
            # Rows are saved in batches in the order of the file, and deleted only after all of them are saved.
            is_saved = set(rows) - there <= self.expired
            if not is_saved:
                require(there == set(list(rows)[:len(there)]), name, "is saved in part, and not from its beginning")
                require(not gone, "rows are gone before", name, "was saved")
            self._check_file(folder, name, is_saved=is_saved, tags=tags)
        if self.is_rolled:
            # Nothing is deleted before all pending files are saved.
            self._check_candles(state["candles"], self.expired - tags if gone or state["candles"] else set())
        if gone:
            deleted = self.expired - tags
            self._check_batches(deleted)
            if self.is_audited:
                require(sorted(state["audit"]) == sorted(deleted), "the trigger saw other rows than are gone")
            if self.found_method in ("range batches", "date batches"):
                newest = max(self.rows_and_pending[tag] for tag in deleted)
                left = [tag for tag in self.expired & tags if self.rows_and_pending[tag] < newest]
                require(not left, "older rows are left than are gone:", left[:3])
        if self.is_archived:
            rows, children = state["archived"]
            lost = (self.expired - tags if gone else set()) - set(rows)
            require(not lost, "rows are neither in the store nor in an archive:", sorted(lost)[:3])
            wrong = [tag for tag, at in rows.items() if self.rows_and_pending.get(tag) != at]
            require(not wrong, "an archive has other rows than the store had:", wrong[:3])
            if self.has_children:
                lost = set(self.rows) - set(state["children"]) - children
                require(not lost, "children are neither in the store nor in an archive:", sorted(lost)[:3])
        if self.has_children:
            require(set(state["children"]) == set(self.rows) & tags, "children are not with their rows")
        return state

    def _check_candles(self, candles, deleted):
        """Each row is there as a row or in one candle: the candles are those of the rows that are gone."""
        hours = {}
        for tag in deleted:
            at = self.rows_and_pending[tag]
            hours.setdefault((self.symbols.get(tag, "XAUUSD"), at // 3600 * 3600), []).append(at)
        wanted = {key: [min(dates), max(dates), min(dates), max(dates), len(dates)] for key, dates in hours.items()}
        wrong = sorted(key for key in wanted.keys() | candles.keys() if wanted.get(key) != candles.get(key))
        require(not wrong, "candles are not those of the rows that are gone:",
                [(key, candles.get(key), wanted.get(key)) for key in wrong[:3]])

    def _check_batches(self, deleted):
        # Rows of one date become candles together, beyond the limit of a batch.
        if self.is_rolled:
            return
        if self.found_method == "range batches":
            require(
                len(deleted) % self.batch_rows == 0 or deleted == self.expired,
                f"{len(deleted)} rows are gone, which are no whole batches")
        elif self.found_method == "one statement" or self.found_method.startswith("rebuild"):
            require(deleted == self.expired, "a part of the only batch is gone")

    def _check_file(self, folder, name, is_saved, tags):
        places = [place for place in (f"pending/{name}", f"pending/done/{name}") if os.path.exists(f"{folder}/{place}")]
        require(places, "the file", name, "is lost")
        for place in places:
            with open(f"{folder}/{place}", "rb") as file:
                require(file.read() == self.bytes[name], place, "has other bytes")
        if f"pending/{name}" not in places:
            require(is_saved, name, "is in done and its rows are not in the store")
            if name in self.bad:
                with open(f"{folder}/pending/{name}.rejected") as file:
                    require(self.bad[name] in file.read(), "the bad line of", name, "is lost")

    def check_finished(self, folder):
        """The laws for the store after a run that nothing disturbed."""
        state = self.check(folder)
        tags = set(state["tags"])
        require(tags == self.kept, "left over:", sorted(tags - self.kept)[:3], "missing:", sorted(self.kept - tags)[:3])
        for name in self.pending:
            require(not os.path.exists(f"{folder}/pending/{name}"), name, "was not moved")
        wanted = {"Price"} | ({"Audit"} if self.is_audited else set()) | ({"Quote"} if self.has_children else set())
        wanted |= {"Candle"} if self.is_rolled else set()
        require(state["tables"] == wanted, "tables are left over:", state["tables"])
        known = {"prices.sqlite", "prices.sqlite.retention-lock", "prices.sqlite-journal", "retention.yaml",
                 "retention.log", "retention.ledger.sqlite", "pending", "archive"}
        left = {name for name in os.listdir(folder) if not name.endswith(("-wal", "-shm"))} - known
        require(not left, "files are left over:", left)
        hidden = [name for name in os.listdir(f"{folder}/pending") if name.startswith(".")]
        require(not hidden, "hidden files are left over:", hidden)

    def finish(self, folder, state):
        """Lets the next run finish the work, and looks at what it says and leaves."""
        end = self.program.job(folder, *self.options())
        require(end.returncode in (0, 65), "the next run ends with", end.returncode, end.stderr)
        require(end.returncode == 0 or self.bad, "the next run refuses:", end.stderr, end.stdout)
        self.check_finished(folder)
        if state["running"]:
            log = self.program.run(folder, "log", "--format", "json")
            require(log.returncode == 0, "the log cannot be read:", log.stderr)
            crashed = [run for run in json.loads(log.stdout)["runs"] if run["outcome"] == "crashed"]
            require(len(crashed) == state["running"], "the dead run is not shown as crashed")

    def undo(self, folder, chance):
        """Undoes all runs, the last first, some of them after an undo that is killed: every row is what it was."""
        if not self.is_archived:
            return
        listed = self.program.run(folder, "undo", "--list", "--format", "json")
        require(listed.returncode == 0, "the runs with archives are not listed:", listed.stderr)
        for run in reversed(json.loads(listed.stdout)["runs"]):
            if chance.random() < 0.5:
                self.program.run(folder, "undo", run["run"], faults={"KILL_AT": chance.randint(1, 80)})
            end = self.program.run(folder, "undo", run["run"])
            is_empty = run["outcome"] == "crashed" and "the archive is empty" in end.stderr
            require(end.returncode == 0 or is_empty, "the undo ends with", end.returncode, end.stderr, end.stdout)
        state = self.state(folder)
        require(state["integrity"] == ["ok"], "the store is damaged by an undo:", state["integrity"][:3])
        require(sorted(state["tags"]) == sorted(self.rows_and_pending), "after the undo there are other rows than before")
        require(self.values <= state["values"], "an undo restores other values:", sorted(self.values - state["values"])[:3])
        if self.has_children:
            require(sorted(state["children"]) == sorted(self.rows), "an undo restores other children")
        if self.is_rolled:
            require(not state["candles"], "an undo leaves candles of rows that it restores:", list(state["candles"])[:3])
