"""Runs with an archive beside the same runs without one, and an undo beside the shell."""

import json

from ..measuring import measure as run
from ..report import Goal, Section, median, number, ratio, table
from ..stores import ENTITY, SCHEMAS, SHELL, count


def delete(shop, schema, rows, percent, side, sizes):
    folder = shop.work_folder(schema, rows, schema.kept(rows, percent), archive=side == "with")
    sample = run(shop.job(), folder)
    shop.check(folder, schema, schema.kept(rows, percent))
    sizes += [file.stat().st_size for file in folder.glob("archive/*")]
    return sample


def restore(shop, schema, rows, percent, side):
    """One side restores what a run has deleted."""
    folder = shop.work_folder(schema, rows, schema.kept(rows, percent), archive=True)
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
    size = f"SELECT sum(pgsize) FROM dbstat WHERE name = '{ENTITY}'"
    size = int(run(shop.shell(size), shop.work_folder(schema, rows), output=None).printed)
    lines, goals = [], []
    for percent in (10, 50):
        shop.note(f"{schema.name}: {percent} % of {rows:,} rows expired; with and without an archive")
        sizes = []
        found = shop.in_turn({side: lambda side=side: delete(shop, schema, rows, percent, side, sizes)
                              for side in ("without", "with")})
        space = max(sizes) / (size * percent / 100)
        add(f"delete {percent} %: archive; none", found["with"], found["without"], lines, f"{space:.2f}")
        goals += [
            Goal(f"{where}, {percent} %, with an archive: CPU ratio", 2, ratio(found["with"], found["without"], "cpu_ms")),
            Goal(f"{where}, {percent} %, with an archive: wall ratio", 2.2, ratio(found["with"], found["without"], "wall_ms")),
            Goal(f"{where}, {percent} %: space of the archive beside that of the rows", 1.1, space)]
    shop.note(f"{schema.name}: half of {rows:,} rows restored; undo, shell")
    found = shop.in_turn({side: lambda side=side: restore(shop, schema, rows, 50, side) for side in ("undo", "shell")})
    add(f"restore {count(rows // 2)} rows: undo; shell", found["undo"], found["shell"], lines, "")
    shop.forget(schema, rows)
    heads = ["what", "first, s", "second, s", "wall ratio", "CPU ratio", "memory MB", "archive / rows"]
    return Section(f"{where}:\n\n" + table(heads, lines), goals)


def add(what, first, second, lines, space):
    lines.append([
        what, *(number(median(side, "wall_ms") / 1000) for side in (first, second)),
        *(f"{ratio(first, second, figure):.2f}" for figure in ("wall_ms", "cpu_ms")),
        " / ".join(number(median(side, "memory_mb")) for side in (first, second)), space])
