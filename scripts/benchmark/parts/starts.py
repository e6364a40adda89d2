"""What a run costs that has nothing to delete, and what a dry run costs beside the same count."""

from ..measuring import measure as run
from ..report import Goal, Section, median, number, table
from ..stores import SCHEMAS, SHELL, count


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
    return Section(table(["", "job, wall ms", "shell, wall ms", "job, CPU ms", "shell, CPU ms"], lines), goals)
