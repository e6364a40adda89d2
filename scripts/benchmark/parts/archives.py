"""Runs with an archive beside the same runs without one, and an undo beside the shell."""

import json

from ..measuring import measure as run
from ..report import COSTS, Goal, medians, ratio, ratios, table
from ..stores import ENTITY, SCHEMAS, SHELL, count


def restore(shop, schema, rows, percent, side):
    """One side restores what a run has deleted."""
    folder = shop.work_folder(schema, rows, schema.kept(rows, percent), "archive")
    deleted = json.loads(run(shop.job(), folder).printed)["run"]
    insert = f"INSERT INTO main.{ENTITY} SELECT * FROM archive.{ENTITY}"
    sample = run({
        "shell": shop.shell(f"{SHELL}ATTACH 'archive/{deleted}.sqlite' AS archive; {insert}"),
        "undo": [shop.retention, "undo", deleted, "--format", "json", "--log-level", "error"]}[side], folder)
    run(shop.shell(f"SELECT count(*) FROM {ENTITY}"), folder, output=str(rows))
    return sample


def measure(shop):
    schema, rows = SCHEMAS["S1"], shop.rows // 10
    where = f"{count(rows)} rows, {schema.what}"
    size = shop.shell(f"SELECT sum(pgsize) FROM dbstat WHERE name = '{ENTITY}'")
    size = int(run(size, shop.work_folder(schema, rows)).printed)
    lines, goals = [], []
    for percent in (10, 50):
        without, archive = shop.deletes(("job", "archive"), schema, rows, schema.kept(rows, percent)).values()
        space = max(json.loads(sample.printed)["archive"]["archive_bytes"] for sample in archive) / (size * percent / 100)
        lines.append([*line(f"delete {percent} %: archive; none", archive, without), f"{space:.2f}"])
        goals += [
            Goal(f"{where}, {percent} %, with an archive: CPU ratio", 2, ratio(archive, without, "cpu_ms")),
            Goal(f"{where}, {percent} %, with an archive: wall ratio", 2.2, ratio(archive, without, "wall_ms")),
            Goal(f"{where}, {percent} %: space of the archive beside that of the rows", 1.1, space)]
    shop.note(f"{schema.name}: half of {rows:,} rows restored; undo, shell")
    found = shop.in_turn(("undo", "shell"), lambda side: restore(shop, schema, rows, 50, side))
    lines.append([*line(f"restore {count(rows // 2)} rows: undo; shell", *found.values()), ""])
    heads = ["what", "first, s", "second, s", "wall ratio", "CPU ratio", "memory MB", "archive / rows"]
    return f"{where}:\n\n{table(heads, lines)}", goals


def line(what, first, second):
    return [
        what, *medians((first, second), "wall_ms", divisor=1000), *ratios(first, second, *COSTS),
        " / ".join(medians((first, second), "memory_mb"))]
