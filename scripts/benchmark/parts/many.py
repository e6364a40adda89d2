"""Many symbols with ages of their own, beside one age for all; and many tables and stores in which nothing is expired."""

import contextlib
import sqlite3
from dataclasses import replace

from ..measuring import end, measure as run
from ..report import COSTS, Goal, cost_heads, median, medians, ratio, ratios, table
from ..stores import ENTITY, SCHEMAS, UNTIL_SECONDS, count, write_policy

SYMBOLS = [f"PAIR{number}" for number in range(1000)]
# So much of the rows each quarter of the symbols keeps, in percent; half of all rows go.
KEPT = (20, 40, 60, 80)
# The same with a table of ages.
SHAPES = [
    replace(SCHEMAS[name], options=(*SCHEMAS[name].options[:2], "--symbols", ",".join(SYMBOLS)), symbols=len(SYMBOLS))
    for name in ("S3", "S2")]
POLICY = "version: 1\nstore: {store}\nrules:\n  - {{ name: bench, entity: {entity}, date_attribute: time, date_format: unix_seconds, max_age: 30d }}\n"


def with_ages(schema, rows):
    """The schema with a table of ages: four, each for a quarter of the symbols."""
    steps = rows // schema.symbols
    ages = ", ".join(
        f"('{name}', '{steps * KEPT[number % len(KEPT)] // 100 * schema.step}s')" for number, name in enumerate(SYMBOLS))
    return replace(
        schema, name=schema.name + "A", changes=f"CREATE TABLE Age (symbol TEXT PRIMARY KEY, age TEXT); INSERT INTO Age VALUES {ages}")


def ages(shop, schema, rows, side):
    """A run with the ages of the table, or with one age for all that deletes as many rows."""
    kept = schema.kept(rows, 50)
    folder = shop.work_folder(schema, rows, kept)
    if side == "ages":
        age = f"max_age: {kept // schema.symbols * schema.step}s"
        by = "max_age: { by: symbol, from: { entity: Age, key: symbol, age: age }, default: 9999d }"
        write_policy(folder, schema.policy(kept).replace(age, by))
    sample = run(shop.job(), folder)
    left = run(shop.shell(f"SELECT count(*) FROM {ENTITY}"), folder).printed
    return sample if left == str(kept) else end(f"{schema.name}: {side} leaves {left} rows instead of {kept}")


def nothing(shop, name, number):
    """The wall time of a run that finds nothing expired in so many tables or stores, per piece, the ledger's second run."""
    folder = shop.folder / name
    folder.mkdir()
    rows = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {}) "
    fill = f"INSERT INTO {{0}} SELECT i, {UNTIL_SECONDS} - i, i FROM n; CREATE INDEX {{0}}_time ON {{0}} (time);"
    made = "PRAGMA journal_mode = WAL; BEGIN;"
    for piece in range(number if name == "tables" else 1):
        made += f"CREATE TABLE t{piece} (id INTEGER PRIMARY KEY, time INTEGER, price REAL);"
        made += rows.format(100 if name == "tables" else 10_000) + fill.format(f"t{piece}")
    with contextlib.closing(sqlite3.connect(folder / "prices.sqlite")) as store:
        store.executescript(made + "COMMIT")
    if name == "stores":
        first = (folder / "prices.sqlite").read_bytes()
        for piece in range(number):
            (folder / f"s{piece}.db").write_bytes(first)
        write_policy(folder, POLICY.format(store='{ files: "*.db" }', entity="t0"))
    else:
        write_policy(folder, POLICY.format(store="prices.sqlite", entity='"t*"'))
    return [run(shop.job(), folder) for _ in range(shop.runs + 1)][1:]


def measure(shop):
    lines, goals, later = [], [], []
    rows = max(shop.rows // 10, 10 * len(SYMBOLS))
    # Ten steps at least, so that each age is a whole number of them.
    for shape in SHAPES:
        schema = with_ages(shape, rows)
        shop.note(f"{schema.name}: half of {rows:,} rows expired; {len(SYMBOLS)} symbols with four ages, and with one")
        several, one = shop.in_turn(("ages", "one"), lambda side: ages(shop, schema, rows, side)).values()
        where = f"{count(rows)} rows of {len(SYMBOLS):,} symbols, {schema.what}"
        lines.append([where, *medians((several, one), *COSTS), *ratios(several, one, "cpu_ms")])
        goals.append(Goal(f"four ages, {where}: CPU ratio", 2, ratio(several, one, "cpu_ms")))
    for name, limit in (("tables", 0.4), ("stores", 2.5)):
        number = max(10, min(1000, shop.rows // 10_000))
        shop.note(f"nothing expired in {number} {name}")
        samples = nothing(shop, name, number)
        wall = median(samples, "wall_ms") / number
        later.append([f"{number:,} {name}", *medians((samples,), *COSTS), f"{wall:.2f}"])
        goals.append(Goal(f"nothing expired in {number:,} {name}: wall for each", limit, wall, " ms"))
    return (
        table([*cost_heads("four ages", "one age"), "CPU ratio"], lines)
        + "\n\nNothing expired in many tables of 100 rows, and in many stores of 10,000 rows:\n\n"
        + table(["", "wall ms", "CPU ms", "each, wall ms"], later)), goals
