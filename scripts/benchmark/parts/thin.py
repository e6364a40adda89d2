"""Thinning beside the best single statement, and what a run costs that has nothing left to thin."""

from dataclasses import replace

from ..measuring import measure as run
from ..report import COSTS, Goal, cost_heads, median, medians, ratio, ratios, table
from ..stores import ENTITY, SYMBOLS, UNTIL_SECONDS, Schema, count, write_policy

DAY = 86_400
# So much is thinned, to hours in the newer half and to days in the older one.
DAYS = 30
SCHEMAS = [
    Schema("T1", "index (symbol, time)", ("--schema", "s2", *SYMBOLS), "DROP INDEX ix_time", symbols=10, step=60),
    Schema("T2", "index (time)", ("--schema", "s1", *SYMBOLS), symbols=10, step=60)]
# The last price of each symbol in each hour and day. That for each row another one is sought takes a tenth longer.
PICKS = (
    "SELECT id FROM (SELECT id, max(updateTime) FROM {table} WHERE updateTime >= {first} AND updateTime < {end} "
    "GROUP BY symbol, updateTime / {unit})")


def kept_of(schema, rows):
    return rows - min(DAYS * DAY // schema.step * schema.symbols, rows // 2)


def thinned(schema, kept):
    """The schema with a rule and a statement that thin what is before the newest `kept` rows."""
    cutoff = int(schema.cutoff(kept))
    half = cutoff - DAYS // 2 * DAY
    hours, days = (
        PICKS.format(table=ENTITY, first=first, end=-(-cutoff // unit) * unit, unit=unit)
        for first, unit in ((half, 3600), (0, DAY)))
    return replace(
        schema, sums=f"SELECT count(*), sum(id) FROM {ENTITY}", sql=f"{schema.sql} AND id NOT IN ({hours} UNION ALL {days})",
        rule=f"    thin: {{ per: [symbol], hourly: {UNTIL_SECONDS - half}s, daily: forever }}\n")


def again(shop, schema, rows):
    """Runs with nothing left to thin, and runs of a rule without `thin` whose rows are all younger, on the same store."""
    kept = kept_of(schema, rows)
    folder = shop.work_folder(thinned(schema, kept), rows, kept)
    run(shop.job(), folder)
    (folder / "plain").mkdir()
    # In a ledger of its own, or it would be a policy that has become wider.
    write_policy(folder / "plain", schema.policy(rows).replace("prices.sqlite", "../prices.sqlite\nledger: ledger.sqlite"))
    return shop.in_turn((folder, folder / "plain"), lambda place: run(shop.job(), place)).values()


def measure(shop):
    thinnings, later, goals = [], [], []
    for schema in SCHEMAS:
        rows = shop.rows // 10
        kept = kept_of(schema, rows)
        job, shell = shop.deletes(("job", "shell"), thinned(schema, kept), rows, kept).values()
        where = f"{DAYS} days of {count(rows)} rows thinned, {schema.what}"
        thinnings.append([where, *medians((job, shell), *COSTS), *ratios(job, shell, "cpu_ms")])
        goals.append(Goal(f"{where}: CPU ratio", 1.3, ratio(job, shell, "cpu_ms")))
        rows = shop.rows // 2
        shop.note(f"{schema.name}: nothing left to thin of {rows:,} rows; with and without thin")
        first, second = again(shop, schema, rows)
        where = f"nothing left to thin, {count(rows)} rows, {schema.what}"
        later.append([where, *medians((first, second), *COSTS)])
        more = median(first, "wall_ms") - median(second, "wall_ms")
        goals.append(Goal(f"{where}: wall beside a rule without thin", 40, more, " ms"))
    return (
        table([*cost_heads("job", "shell"), "CPU ratio"], thinnings)
        + "\n\nThe run after, beside a rule without `thin` and with nothing expired:\n\n"
        + table(cost_heads("thin", "without"), later)), goals
