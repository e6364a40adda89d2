"""The stores that are measured, what is deleted from them, and each side of a comparison."""

import json
import os
import shutil
import sys
import time
from dataclasses import dataclass

from .measuring import end, measure

# All points of a store are before this instant, and it is the run's "as of": the figures do not depend on the day.
UNTIL = "2025-01-01T00:00:00Z"
UNTIL_SECONDS = 1735689600
# After this the ledger has no rules to compare a policy with.
FORGET = "UPDATE run SET rules = NULL"
# From one point of a symbol to the next, if a schema says nothing else. Even the largest store begins after 2001.
STEP_SECONDS = 10
# Core Data's dates begin in 2001.
APPLE_EPOCH_SECONDS = 978307200
ENTITY = "YahooGoldPricePoint"
# The shell's settings; the stores are in WAL mode already.
SHELL = "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; "


@dataclass(frozen=True)
class Schema:
    """A shape of store: how it is made, and how each side is told what to delete."""

    name: str
    what: str
    # For goldprices, and SQL that changes what it made.
    options: tuple
    changes: str = ""
    symbols: int = 1
    table: str = ENTITY
    date: str = "updateTime"
    date_format: str = "unix_seconds"
    # The shell's way; the job's rule gets `rule` in addition.
    sql: str = "DELETE FROM {table} WHERE {date} < {cutoff}"
    rule: str = ""
    step: int = STEP_SECONDS

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
            "S6", "Core Data store", ("--core-data", "--relationship", "none"), table="ZYAHOOGOLDPRICEPOINT",
            date="ZUPDATETIME", date_format="apple_seconds"),
        Schema("R", "date index, rows in random time order", ("--schema", "s1", "--order", "random")),
    ]
}


def count(rows):
    return f"{rows // 1_000_000}M" if rows >= 1_000_000 else f"{rows:,}"


class Workshop:
    """The programs, a folder for stores, and the sizes that all parts share."""

    def __init__(self, programs, folder, rows, runs):
        self.retention, self.goldprices, self.storebench = (
            programs / name for name in ("retention", "goldprices", "storebench"))
        self.folder, self.rows, self.runs = folder, rows, runs
        self.began = time.monotonic()

    def note(self, text):
        minutes, seconds = divmod(int(time.monotonic() - self.began), 60)
        print(f"{minutes:3}:{seconds:02}  {text}", file=sys.stderr, flush=True)

    def store(self, schema, rows):
        """A store of that shape and size; made once."""
        path = self.folder / f"{schema.name}-{rows}.sqlite"
        if not path.exists():
            self.note(f"making {path.name}")
            options = ["--rows", rows, "--until", UNTIL, "--every", schema.step]
            measure([self.goldprices, path, *schema.options, *options], self.folder)
            if schema.changes:
                measure(["sqlite3", "-batch", path, schema.changes], self.folder)
        return path

    def forget(self, schema, rows):
        """Removes a store that is not needed again, for the room."""
        (self.folder / f"{schema.name}-{rows}.sqlite").unlink(missing_ok=True)

    def work_folder(self, schema, rows, kept=None, archive=False):
        """A fresh folder with a copy of the store, and the policy if it is known how many rows are kept."""
        folder = self.folder / "work"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        shutil.copyfile(self.store(schema, rows), folder / "prices.sqlite")
        if kept is not None:
            policy = schema.policy(kept)
            if archive:
                (folder / "archive").mkdir(mode=0o700)
                policy = policy.replace("rules:", "archive: { folder: archive, keep: 30d }\nrules:", 1)
            (folder / "retention.yaml").write_text(policy)
            # A policy that others may write is refused when run as root.
            (folder / "retention.yaml").chmod(0o644)
        # Or the first one that syncs would pay for the copy.
        with open(folder / "prices.sqlite", "rb") as copy:
            os.fsync(copy)
        return folder

    def shell(self, sql):
        return ["sqlite3", "-batch", "prices.sqlite", sql]

    def job(self, *options):
        return [self.retention, "run", "--as-of", UNTIL, "--format", "json", "--log-level", "error", *options]

    def check(self, folder, schema, kept):
        """Every side must have left the same rows."""
        rest = f"{schema.count(kept)}; SELECT count(*) FROM {schema.table}"
        measure(self.shell(rest), folder, output=f"0\n{kept}")

    def delete(self, side, schema, rows, percent):
        """One side deletes the oldest `percent` of a fresh copy: the shell, the job, or a command of storebench."""
        kept = schema.kept(rows, percent)
        folder = self.work_folder(schema, rows, kept)
        commands = {"shell": self.shell(SHELL + schema.statement(kept)), "job": self.job()}
        sample = measure(
            commands.get(side) or [self.storebench, side, "prices.sqlite", schema.cutoff(kept)], folder)
        self.check(folder, schema, kept)
        return sample

    def deletes(self, sides, schema, rows, percent):
        self.note(f"{schema.name}: {percent} % of {rows:,} rows expired; {', '.join(sides)}")
        return self.in_turn({side: lambda side=side: self.delete(side, schema, rows, percent) for side in sides})

    def method(self, sample):
        """How the run says that it deleted the rows."""
        return json.loads(sample.printed)["rules"][0]["method"]

    def in_turn(self, sides):
        """Measures each side several times, one after the other, the order reversed each time.

        `sides` are functions that return a sample. What disturbs the machine disturbs all of them, and nobody always
        comes first.
        """
        samples = {side: [] for side in sides}
        for run in range(self.runs):
            for side in sides if run % 2 == 0 else reversed(sides):
                samples[side].append(sides[side]())
        return samples
