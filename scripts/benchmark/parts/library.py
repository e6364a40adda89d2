"""The library's batch requests beside other ways to the same rows, and the cascades of a Core Data store."""

import shutil

from ..measuring import measure
from ..schemas import Schema, UNTIL_SECONDS
from ..workshop import SHELL, schema

CASCADE = Schema(
    "cascade", "Core Data store, each point with a detail that goes with it",
    ("--core-data", "--relationship", "detail"), table="ZYAHOOGOLDPRICEPOINT", date="ZUPDATETIME", key="Z_PK",
    date_format="apple_seconds")


def measure_cascade(workshop):
    """Half of the points and their details; the shell has the same rows with a foreign key."""
    rows = workshop.options.rows
    store = workshop.store(CASCADE, rows)
    plain = with_foreign_key(workshop, store)
    kept = CASCADE.kept(rows, 50)
    workshop.note(f"Core Data cascade: 50 % of {rows:,} points expired")

    def shell():
        folder = workshop.work_folder(plain)
        statement = SHELL + "PRAGMA foreign_keys = ON; " + CASCADE.delete(kept)
        sample = measure(workshop.shell(folder, statement), folder, watched=True)
        workshop.check(folder, CASCADE, kept)
        return sample, None

    samples, strategies = workshop.in_turn(
        [("shell", shell), ("job", lambda: workshop.delete("job", CASCADE, rows, 50))], workshop.options.runs)
    for side in ("shell", "job"):
        workshop.result.add(
            samples[side], part="cascade", rows=rows, percent=50, side=side, strategy=strategies.get(side))
    workshop.forget(CASCADE, rows)
    plain.unlink()


def with_foreign_key(workshop, store):
    """The same rows with the model's cascade declared as a foreign key."""
    path = workshop.folder / "foreign-key.sqlite"
    shutil.copyfile(store, path)
    measure(["sqlite3", "-batch", path, """
        CREATE TABLE detail (Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER,
            ZPOINT INTEGER REFERENCES ZYAHOOGOLDPRICEPOINT (Z_PK) ON DELETE CASCADE, ZSOURCE VARCHAR);
        INSERT INTO detail SELECT * FROM ZPRICEDETAIL; DROP TABLE ZPRICEDETAIL;
        ALTER TABLE detail RENAME TO ZPRICEDETAIL;
        CREATE INDEX ZPRICEDETAIL_ZPOINT_INDEX ON ZPRICEDETAIL (ZPOINT); VACUUM"""], workshop.folder)
    return path


def measure_library(workshop):
    """Deletes, inserts and merges of a context."""
    rows, shape = workshop.options.rows, schema("S1")
    kept = shape.kept(rows, 50)
    workshop.note(f"library: deleting {rows - kept:,} of {rows:,}")
    pair(workshop, "library_delete", {"batch": "delete-batch", "other": "delete-classic"}, shape, workshop.store(
        shape, rows), [UNTIL_SECONDS - kept * 60], rows - kept, kept)
    workshop.note(f"library: inserting {rows:,}")
    pair(workshop, "library_insert", {"batch": "insert-batch", "other": "insert-grdb"}, shape, workshop.store(
        shape, 0), [rows], rows, None)
    ids, held = rows // 10, rows // 100
    workshop.note(f"library: merging {ids:,} deleted IDs")
    command = [workshop.storebench, "merge", workshop.store(shape, rows), "--ids", ids, "--held", held]
    merges = [float(measure(command, workshop.folder).printed) for _ in range(workshop.options.library_runs)]
    workshop.result.add({"wall_ms": merges}, part="library_merge", rows=ids, held=held, side="batch")


def pair(workshop, part, commands, shape, store, arguments, printed, left):
    """Two commands of storebench, each on a copy of the same store; they print the same number."""
    def work(command):
        folder = workshop.work_folder(store)
        sample = measure(
            [workshop.storebench, command, "prices.sqlite", *arguments], folder, output=str(printed), watched=True)
        if left is not None:
            workshop.check(folder, shape, left)
        return sample, None

    samples, _ = workshop.in_turn(
        [(side, lambda command=command: work(command)) for side, command in commands.items()],
        workshop.options.library_runs)
    for side in commands:
        workshop.result.add(samples[side], part=part, rows=printed, side=side)
