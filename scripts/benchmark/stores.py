"""The stores that are measured, what is deleted from them, and each side of a comparison."""

import os
import pathlib
import shutil
import sys
import time
from dataclasses import dataclass

from .measuring import end, measure

# All points of a store are before this instant, and it is the run's "as of": the figures do not depend on the day.
UNTIL = "2025-01-01T00:00:00Z"
UNTIL_SECONDS = 1735689600
# Core Data's dates begin in 2001.
APPLE_EPOCH_SECONDS = 978307200
ENTITY = "YahooGoldPricePoint"
# The shell's settings; the stores are in WAL mode already. It waits for others as long as the job does.
SHELL = "PRAGMA busy_timeout = 60000; PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; "
# Another program that deletes.
CHUNKS = pathlib.Path(__file__).parent / "chunks.py"


@dataclass(frozen=True)
class Schema:
    """A shape of store: how it is made, and how each side is told what to delete."""

    name: str
    what: str
    # For goldprices, or for storebench if there is a relationship, and SQL that changes what it made.
    options: tuple
    changes: str = ""
    symbols: int = 1
    table: str = ENTITY
    date: str = "updateTime"
    date_format: str = "unix_seconds"
    # The shell's way; the job's rule gets `rule` in addition.
    sql: str = "DELETE FROM {table} WHERE {date} < {cutoff}"
    rule: str = ""
    # SQL that sums up what is left, if these are not just the newest rows.
    sums: str = ""
    # Seconds from one point of a symbol to the next. Even the largest store begins after 2001.
    step: int = 10

    def kept(self, rows, percent):
        """How many rows a delete of the oldest `percent` leaves; every step goes with all of its symbols."""
        steps = rows // self.symbols
        return (steps - steps * percent // 100) * self.symbols

    def cutoff(self, kept):
        """The date before which rows go, as SQL, where `kept` rows stay."""
        seconds = UNTIL_SECONDS - kept // self.symbols * self.step
        if self.date_format == "iso8601":
            return time.strftime("'%Y-%m-%dT%H:%M:%SZ'", time.gmtime(seconds))
        return str(seconds - (APPLE_EPOCH_SECONDS if self.date_format == "apple_seconds" else 0))

    def statement(self, kept):
        return self.sql.format(table=self.table, date=self.date, cutoff=self.cutoff(kept))

    def count(self, kept):
        """SQL that counts what goes."""
        return f"SELECT count(*) FROM {self.table} WHERE {self.date} < {self.cutoff(kept)}"

    def policy(self, kept):
        """The same for the job. The shell gives no room back, so the job does not either."""
        return (
            "version: 1\nstore: prices.sqlite\nrules:\n  - name: bench\n"
            f"    entity: {ENTITY}\n    date_attribute: updateTime\n    date_format: {self.date_format}\n"
            f"    max_age: {kept // self.symbols * self.step}s\n    reclaim: none\n{self.rule}")


SYMBOLS = ("--symbols", "XAUUSD,XAUEUR,XAUGBP,XAGUSD,XAGEUR,XPTUSD,XPDUSD,GC=F,SI=F,PL=F")
SCHEMAS = {
    schema.name: schema for schema in [
        Schema("S1", "date index", ("--schema", "s1")),
        Schema("S2", "date index and unique key (symbol, time)", ("--schema", "s2", *SYMBOLS), symbols=10),
        Schema("S3", "`WITHOUT ROWID`, key (symbol, time)", ("--schema", "s3", *SYMBOLS), symbols=10),
        Schema("S4", "no date index", ("--schema", "s4")),
        Schema("S5", "date index, dates as ISO text", ("--schema", "s5"), date_format="iso8601"),
        Schema(
            "S6", "Core Data store", ("--relationship", "none"), table="ZYAHOOGOLDPRICEPOINT",
            date="ZUPDATETIME", date_format="apple_seconds"),
        Schema("R", "date index, rows in random time order", ("--schema", "s1", "--order", "random")),
    ]
}


def count(rows):
    return f"{rows // 1_000_000}M" if rows >= 1_000_000 else f"{rows:,}"


def write_policy(folder, text):
    policy = folder / "retention.yaml"
    policy.write_text(text)
    # One that others may write is refused when run as root.
    policy.chmod(0o644)


class Workshop:
    """The programs, a folder for stores, and the sizes that all parts share."""

    def __init__(self, programs, folder, rows, runs):
        self.retention, self.goldprices, self.storebench = (
            programs / name for name in ("retention", "goldprices", "storebench"))
        self.folder, self.rows, self.runs = folder, rows, runs
        self.stores, self.left, self.began = [], {}, time.monotonic()

    def note(self, text):
        minutes, seconds = divmod(int(time.monotonic() - self.began), 60)
        print(f"{minutes:3}:{seconds:02}  {text}", file=sys.stderr, flush=True)

    def store(self, schema, rows):
        """A store of that shape and size. Two others stay, for the room."""
        path = self.folder / f"{schema.name}-{rows}.sqlite"
        if path not in self.stores:
            self.note(f"making {path.name}")
            while len(self.stores) > 2:
                self.stores.pop(0).unlink()
            maker, until = (
                ([self.storebench, "objects"], UNTIL_SECONDS) if "--relationship" in schema.options
                else ([self.goldprices], UNTIL))
            options = ["--rows", rows, "--until", until, "--every", schema.step]
            measure([*maker, path, *schema.options, *options], self.folder)
            if schema.changes:
                measure(["sqlite3", "-batch", path, schema.changes], self.folder)
            self.stores.append(path)
        return path

    def work_folder(self, schema, rows, kept=0, side="job"):
        """A fresh folder with a copy of the store, and the policy of a job that keeps so many rows."""
        folder = self.folder / "work"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        shutil.copyfile(self.store(schema, rows), folder / "prices.sqlite")
        policy = schema.policy(kept)
        if side == "archive":
            (folder / "archive").mkdir(mode=0o700)
            policy = policy.replace("rules:", "archive: { folder: archive, keep: 30d }\nrules:", 1)
        write_policy(folder, policy)
        # Or the first one that syncs would pay for the copy.
        with open(folder / "prices.sqlite", "rb") as copy:
            os.fsync(copy)
        return folder

    def shell(self, sql):
        return ["sqlite3", "-batch", "prices.sqlite", sql]

    def job(self, *options, as_of=UNTIL):
        return [self.retention, "run", "--as-of", as_of, "--format", "json", "--log-level", "error", *options]

    def run_before(self, folder, forget):
        """A run that deletes nothing, so that there is a ledger; what it has recorded of its rules may be forgotten."""
        measure(self.job(as_of="2024-01-01T00:00:00Z"), folder)
        if forget:
            measure(["sqlite3", "-batch", "retention.ledger.sqlite", "UPDATE run SET rules = NULL"], folder)

    def command(self, side, schema, kept):
        """What a side runs: the shell, another program, or the job, which makes an archive if its policy says so."""
        if side == "shell":
            return self.shell(SHELL + schema.statement(kept))
        return [sys.executable, CHUNKS, "prices.sqlite", schema.cutoff(kept)] if side == "chunks" else self.job()

    def delete(self, side, schema, rows, kept):
        """One side deletes from a fresh copy what is older than the newest `kept` rows. Every side must leave the same."""
        folder = self.work_folder(schema, rows, kept, side)
        sample = measure(self.command(side, schema, kept), folder)
        sums = schema.sums or f"{schema.count(kept)}; SELECT count(*) FROM {schema.table}"
        left = measure(self.shell(sums), folder).printed
        expected = self.left.setdefault((schema, rows, kept), left if schema.sums else f"0\n{kept}")
        return sample if left == expected else end(f"{schema.name}: {side} leaves {left} instead of {expected}")

    def deletes(self, sides, schema, rows, kept):
        self.note(f"{schema.name}: {rows - kept:,} of {rows:,} rows expired; {', '.join(sides)}")
        return self.in_turn(sides, lambda side: self.delete(side, schema, rows, kept))

    def in_turn(self, sides, work):
        """The samples of each side, measured several times, one after the other, the order reversed each time.

        `work` returns the sample of a side. What disturbs the machine disturbs all of them, and nobody always comes first.
        """
        samples = {side: [] for side in sides}
        for run in range(self.runs):
            for side in sides if run % 2 == 0 else reversed(sides):
                samples[side].append(work(side))
        return samples
