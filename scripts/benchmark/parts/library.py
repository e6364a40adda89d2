"""The library's batch requests beside other ways to the same rows, and the cascades of a Core Data store."""

from ..measuring import measure as run
from ..report import Goal, median, medians, number, ratio, ratios, table
from ..stores import SCHEMAS, Schema, count

POINTS = {
    "options": ("--relationship", "detail"), "table": "ZYAHOOGOLDPRICEPOINT", "date": "ZUPDATETIME",
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
            lines.append([what, unit, *medians((first, second), figure), *ratios(first, second, figure)])
        goals.append(Goal(f"{what}: CPU ratio", limit, ratio(first, second, "cpu_ms")))

    def commands(names, before, argument, after):
        def work(name):
            folder = shop.work_folder(schema, before)
            sample = run([shop.storebench, *name.split(), "prices.sqlite", argument], folder)
            run(shop.shell(f"SELECT count(*) FROM {schema.table}"), folder, output=str(after))
            return sample

        shop.note(f"library: {', '.join(names)}")
        return shop.in_turn(names, work).values()

    half = rows // 2
    add(f"delete {count(half)} rows: batch delete; object by object", 0.4,
        *commands(("delete batch", "delete classic"), rows, schema.cutoff(half), half))
    merged, = commands(("delete merged",), rows, schema.cutoff(100), 100)
    what = f"delete {count(rows)} rows and merge; the context holds others"
    lines.append([what, "memory MB", *medians([merged], "memory_mb"), "", ""])
    goals.append(Goal("delete and merge: memory", 60, median(merged, "memory_mb"), " MB"))
    add(f"insert {count(rows)} rows: batch insert; prepared statement through GRDB", 1.5,
        *commands(("insert batch", "insert grdb"), 0, rows, rows))
    add(f"insert {count(rows)} rows: typed; batch insert", 1.5,
        *commands(("insert typed", "insert batch"), 0, rows, rows))
    shop.note(f"Core Data cascade: 50 % of {rows:,} points expired")
    schemas = {"job": MODEL, "shell": FOREIGN_KEY}
    found = shop.in_turn(schemas, lambda side: shop.delete(side, schemas[side], rows, half))
    add(f"Core Data cascade, half of {count(rows)}: job; shell, `ON DELETE CASCADE`", 1.3, *found.values())
    shop.note(f"library: merging {rows // 10:,} deleted IDs")
    merge = [shop.storebench, "merge", shop.store(schema, rows), "--ids", rows // 10, "--held", rows // 100]
    milliseconds = float(run(merge, shop.folder).printed)
    lines.append([f"merge {count(rows // 10)} deleted IDs; a tenth is held", "wall ms", number(milliseconds), "", ""])
    goals.append(Goal("merging deleted IDs: wall", 50, milliseconds, " ms"))
    return table(["what", "", "first", "second", "ratio"], lines), goals
