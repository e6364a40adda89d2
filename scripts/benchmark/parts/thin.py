"""Thinning beside the best single statement, and what a run costs that has nothing left to thin."""

from dataclasses import replace

from ..measuring import end, measure as run
from ..report import Goal, Section, median, number, ratio, table
from ..stores import ENTITY, SHELL, SYMBOLS, UNTIL_SECONDS, Schema, count

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
        schema, sql=f"{schema.sql} AND id NOT IN ({hours} UNION ALL {days})",
        rule=f"    thin: {{ per: [symbol], hourly: {UNTIL_SECONDS - half}s, daily: forever }}\n")


def thin(shop, schema, rows, side, rest):
    """One side thins a fresh copy. Both must leave the same rows."""
    kept = kept_of(schema, rows)
    schema = thinned(schema, kept)
    folder = shop.work_folder(schema, rows, kept)
    sample = run(shop.job() if side == "job" else shop.shell(SHELL + schema.statement(kept)), folder)
    rest.add(run(shop.shell(f"SELECT count(*), sum(id) FROM {ENTITY}"), folder).printed)
    if len(rest) != 1:
        end(f"the job and the statement leave other rows: {rest}")
    return sample


def again(shop, schema, rows):
    """Runs with nothing left to thin, and runs of a rule without `thin` whose rows are all younger, on the same store."""
    kept = kept_of(schema, rows)
    folder = shop.work_folder(thinned(schema, kept), rows, kept)
    run(shop.job(), folder)
    (folder / "plain").mkdir()
    plain = folder / "plain" / "retention.yaml"
    # In a ledger of its own, or it would be a policy that has become wider.
    plain.write_text(schema.policy(rows).replace("prices.sqlite", "../prices.sqlite\nledger: ledger.sqlite"))
    plain.chmod(0o644)
    return shop.in_turn({"thin": lambda: run(shop.job(), folder), "plain": lambda: run(shop.job(), folder / "plain")})


def measure(shop):
    lines, goals = [], []
    for schema in SCHEMAS:
        rows = shop.rows // 10
        shop.note(f"{schema.name}: {DAYS} days of {rows:,} rows thinned; job, shell")
        rest = set()
        found = shop.in_turn({
            side: lambda side=side: thin(shop, schema, rows, side, rest) for side in ("job", "shell")})
        job, shell = found["job"], found["shell"]
        where = f"{DAYS} days of {count(rows)} rows thinned, {schema.what}"
        lines.append([
            where, *(number(median(side, figure)) for figure in ("wall_ms", "cpu_ms") for side in (job, shell)),
            f"{ratio(job, shell, 'cpu_ms'):.2f}"])
        goals.append(Goal(f"{where}: CPU ratio", 1.3, ratio(job, shell, "cpu_ms")))
        shop.forget(schema, rows)
    text = table(["", "job, wall ms", "shell, wall ms", "job, CPU ms", "shell, CPU ms", "CPU ratio"], lines)
    lines = []
    for schema in SCHEMAS:
        rows = shop.rows // 2
        shop.note(f"{schema.name}: nothing left to thin of {rows:,} rows; with and without thin")
        found = again(shop, schema, rows)
        first, second = found["thin"], found["plain"]
        where = f"nothing left to thin, {count(rows)} rows, {schema.what}"
        lines.append([
            where, *(number(median(side, figure)) for figure in ("wall_ms", "cpu_ms") for side in (first, second))])
        goals.append(Goal(
            f"{where}: wall beside a rule without thin", 40,
            median(first, "wall_ms") - median(second, "wall_ms"), " ms"))
        shop.forget(schema, rows)
    return Section(
        f"{text}\n\nThe run after, beside a rule without `thin` and with nothing expired:\n\n" + table(
            ["", "thin, wall ms", "without, wall ms", "thin, CPU ms", "without, CPU ms"], lines), goals)
