"""What a run costs that has nothing to delete, and what a dry run costs beside the same count."""

from ..measuring import measure as run
from ..report import COSTS, Goal, cost_heads, median, medians, ratio, table
from ..stores import SCHEMAS, SHELL, count

CASES = [("S1", 0, "run, nothing expired"), ("S1", 50, "dry run, 50 % expired"), ("S4", 50, "dry run, 50 % expired")]


def guarded(shop, schema, rows, percent, side):
    """A run after one that has recorded its rules, or whose record is taken away."""
    folder = shop.work_folder(schema, rows, schema.kept(rows, percent))
    shop.run_before(folder, forget=side == "not compared")
    return run(shop.job(), folder)


def guards(shop, goals):
    """What comparing a policy with that of the last run costs, and looking for rows that came back."""
    schema, sides, lines = SCHEMAS["S1"], ("compared", "not compared"), []
    for rows, percent in ((shop.rows // 2, 0), (shop.rows // 10, 10)):
        shop.note(f"{schema.name}: {percent} % of {rows:,} rows expired; with and without a former run to compare with")
        first, second = shop.in_turn(sides, lambda side: guarded(shop, schema, rows, percent, side)).values()
        what = f"{percent} % of {count(rows)} rows expired"
        lines.append([what, *medians((first, second), *COSTS)])
        if percent:
            goals.append(Goal(f"guards, {what}: CPU ratio", 1.02, ratio(first, second, "cpu_ms")))
        else:
            more = median(first, "wall_ms") - median(second, "wall_ms")
            goals.append(Goal(f"guards, {what}: wall", 3, more, " ms"))
    return table(cost_heads(*sides), lines)


def start(shop, schema, rows, percent):
    """The samples of the job and of the shell, which delete nothing or count."""
    kept = schema.kept(rows, percent)
    folder = shop.work_folder(schema, rows, kept)
    if percent:
        sides = {"shell": shop.shell(schema.count(kept)), "job": shop.job("--dry-run")}
    else:
        sides = {"shell": shop.shell(SHELL + schema.statement(kept)), "job": shop.job()}
    return shop.in_turn(sides, lambda side: run(sides[side], folder))


def measure(shop):
    rows, lines, goals = shop.rows, [], []
    for name, percent, what in CASES:
        schema = SCHEMAS[name]
        shop.note(f"{name}: {what}, {rows:,} rows")
        shell, job = start(shop, schema, rows, percent).values()
        lines.append([f"{what}, {count(rows)} rows, {schema.what}", *medians((job, shell), *COSTS)])
        if name == "S1":
            limit = 1.3 * median(shell, "wall_ms") + 10 if percent else 13
            goals.append(Goal(f"{what}, {count(rows)}: wall", round(limit, 1), median(job, "wall_ms"), " ms"))
    return (
        table(cost_heads("job", "shell"), lines)
        + "\n\nA run with a former run to compare its policy and its oldest row with, and without one:\n\n"
        + guards(shop, goals)), goals
