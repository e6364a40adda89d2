"""What a run costs that has nothing to delete, and what a dry run costs beside the same count."""

from ..measuring import measure as run
from ..report import Goal, Section, median, number, ratio, table
from ..stores import FORGET, SCHEMAS, SHELL, UNTIL, count


def guarded(shop, schema, rows, percent, side):
    """A run after one that has recorded its rules, or whose record is taken away."""
    folder = shop.work_folder(schema, rows, schema.kept(rows, percent))
    earlier = ["2024-01-01T00:00:00Z" if word == UNTIL else word for word in shop.job()]
    run(earlier, folder)
    if side == "without":
        run(["sqlite3", "-batch", "retention.ledger.sqlite", FORGET], folder)
    return run(shop.job(), folder)


def guards(shop):
    """What comparing a policy with that of the last run costs, and looking for rows that came back."""
    schema, lines, goals = SCHEMAS["S1"], [], []
    for rows, percent in ((shop.rows // 2, 0), (shop.rows // 10, 10)):
        shop.note(f"{schema.name}: {percent} % of {rows:,} rows expired; with and without a former run to compare with")
        found = shop.in_turn({
            side: lambda side=side: guarded(shop, schema, rows, percent, side) for side in ("with", "without")})
        first, second = found["with"], found["without"]
        lines.append([
            f"{percent} % of {count(rows)} rows expired",
            *(number(median(side, figure)) for figure in ("wall_ms", "cpu_ms") for side in (first, second))])
        what = f"guards, {percent} % of {count(rows)} rows expired"
        if percent:
            goals.append(Goal(f"{what}: CPU ratio", 1.02, ratio(first, second, "cpu_ms")))
        else:
            goals.append(Goal(f"{what}: wall", 3, median(first, "wall_ms") - median(second, "wall_ms"), " ms"))
        if rows != shop.rows // 10:
            shop.forget(schema, rows)
    heads = ["", "compared, wall ms", "not compared, wall ms", "compared, CPU ms", "not compared, CPU ms"]
    return table(heads, lines), goals


def measure(shop):
    rows, lines, goals = shop.rows, [], []
    for name, percent, what in (
            ("S1", 0, "run, nothing expired"), ("S1", 50, "dry run, 50 % expired"), ("S4", 50, "dry run, 50 % expired")):
        schema = SCHEMAS[name]
        kept = schema.kept(rows, percent)
        shop.note(f"{name}: {what}, {rows:,} rows")
        folder = shop.work_folder(schema, rows, kept)
        sql, options = (schema.count(kept), ["--dry-run"]) if percent else (SHELL + schema.statement(kept), [])
        found = shop.in_turn({
            "shell": lambda: run(shop.shell(sql), folder, output=str(rows - kept) if percent else None),
            "job": lambda: run(shop.job(*options), folder)})
        job, shell = found["job"], found["shell"]
        lines.append([
            f"{what}, {count(rows)} rows, {schema.what}",
            *(number(median(side, figure)) for figure in ("wall_ms", "cpu_ms") for side in (job, shell))])
        if name == "S1":
            limit = 1.3 * median(shell, "wall_ms") + 10 if percent else 13
            goals.append(Goal(f"{what}, {count(rows)}: wall", round(limit, 1), median(job, "wall_ms"), " ms"))
    shop.forget(schema, rows)
    text = table(["", "job, wall ms", "shell, wall ms", "job, CPU ms", "shell, CPU ms"], lines)
    more, limits = guards(shop)
    return Section(
        f"{text}\n\nA run with a former run to compare its policy and its oldest row with, and without one:\n\n{more}",
        goals + limits)
