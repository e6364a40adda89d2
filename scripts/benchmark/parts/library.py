"""The library's batch requests beside other ways to the same rows, and the cascades of a Core Data store."""

from ..measuring import measure as run
from ..report import Goal, Section, median, number, ratio, table
from ..stores import SCHEMAS, Schema, count

POINTS = {
    "options": ("--core-data", "--relationship", "detail"), "table": "ZYAHOOGOLDPRICEPOINT", "date": "ZUPDATETIME",
    "date_format": "apple_seconds"}
MODEL = Schema("model", "each point with a detail that goes with it", **POINTS)
# The same rows, with the model's cascade as a foreign key.
FOREIGN_KEY = Schema(
    "foreign-key", "the same in SQL", **POINTS, sql="PRAGMA foreign_keys = ON; DELETE FROM {table} WHERE {date} < {cutoff}",
    changes="""
        CREATE TABLE detail (Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER,
            ZPOINT INTEGER REFERENCES ZYAHOOGOLDPRICEPOINT (Z_PK) ON DELETE CASCADE, ZSOURCE VARCHAR);
        INSERT INTO detail SELECT * FROM ZPRICEDETAIL; DROP TABLE ZPRICEDETAIL;
        ALTER TABLE detail RENAME TO ZPRICEDETAIL;
        CREATE INDEX ZPRICEDETAIL_ZPOINT_INDEX ON ZPRICEDETAIL (ZPOINT); VACUUM""")


def measure(shop):
    rows, schema, lines, goals = shop.rows // 10, SCHEMAS["S1"], [], []

    def add(what, limit, first, second):
        for figure, unit in (("cpu_ms", "CPU ms"), ("memory_mb", "memory MB")):
            lines.append([
                what, unit, number(median(first, figure)), number(median(second, figure)),
                f"{ratio(first, second, figure):.2f}"])
        goals.append(Goal(f"{what}: CPU ratio", limit, ratio(first, second, "cpu_ms")))

    def command(name, before, argument, after):
        folder = shop.work_folder(schema, before)
        sample = run([shop.storebench, name, "prices.sqlite", argument], folder)
        run(shop.shell(f"SELECT count(*) FROM {schema.table}"), folder, output=str(after))
        return sample

    gone, cutoff = rows // 2, schema.cutoff(rows // 2)
    shop.note(f"library: deleting {gone:,} of {rows:,}")
    found = shop.in_turn({
        name: lambda name=name: command(name, rows, cutoff, rows - gone) for name in ("delete-batch", "delete-classic")})
    add(f"delete {count(gone)} rows: batch delete; object by object", 0.4, *found.values())
    merged = shop.in_turn({"merged": lambda: command("delete-merged", rows, schema.cutoff(100), 100)})["merged"]
    lines.append([
        f"delete {count(rows)} rows and merge; the context holds others", "memory MB", number(median(merged, "memory_mb")),
        "", ""])
    goals.append(Goal("delete and merge: memory", 60, median(merged, "memory_mb"), " MB"))
    shop.note(f"library: inserting {rows:,}")
    found = shop.in_turn({
        name: lambda name=name: command(name, 0, rows, rows) for name in ("insert-batch", "insert-grdb")})
    add(f"insert {count(rows)} rows: batch insert; prepared statement through GRDB", 1.5, *found.values())
    found = shop.in_turn({
        name: lambda name=name: command(name, 0, rows, rows) for name in ("insert-typed", "insert-batch")})
    add(f"insert {count(rows)} rows: typed; batch insert", 1.5, *found.values())
    store = shop.store(schema, rows)
    found = shop.in_turn({
        name: lambda flag=flag: run([shop.storebench, "fetch-points", store, *flag], shop.folder, output=str(rows))
        for name, flag in (("typed", ["--typed"]), ("values", []))})
    add(f"fetch {count(rows)} rows: typed; as values", 1.5, *found.values())
    shop.note(f"Core Data cascade: 50 % of {rows:,} points expired")
    found = shop.in_turn({
        "job": lambda: shop.delete("job", MODEL, rows, 50), "shell": lambda: shop.delete("shell", FOREIGN_KEY, rows, 50)})
    add(f"Core Data cascade, half of {count(rows)}: job; shell, `ON DELETE CASCADE`", 1.3, *found.values())
    shop.note(f"library: merging {rows // 10:,} deleted IDs")
    merge = run([
        shop.storebench, "merge", shop.store(schema, rows), "--ids", rows // 10, "--held", rows // 100], shop.folder)
    milliseconds = float(merge.printed)
    lines.append([f"merge {count(rows // 10)} deleted IDs; a tenth is held", "wall ms", number(milliseconds), "", ""])
    goals.append(Goal("merging deleted IDs: wall", 50, milliseconds, " ms"))
    for used in (MODEL, FOREIGN_KEY):
        shop.forget(used, rows)
    return Section(table(["what", "", "first", "second", "ratio"], lines), goals)
