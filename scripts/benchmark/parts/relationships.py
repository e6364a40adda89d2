"""Rows that refer to the row before them: the job beside the quickest SQL, alone and beside a writer."""

from ..report import Goal, Section, median, number, ratio, table
from ..stores import ENTITY, SCHEMAS, Schema, count
from . import live

# In both the shell has foreign keys off, and only the rows that have to are changed.
NULLIFY = """BEGIN IMMEDIATE; UPDATE {table} SET previous = NULL WHERE id IN (
    SELECT later.id FROM {table} AS gone JOIN {table} AS later ON later.previous = gone.id
    WHERE gone.{date} < {cutoff} AND later.{date} >= {cutoff}); DELETE FROM {table} WHERE {date} < {cutoff}; COMMIT"""
CASCADE = """DELETE FROM {table} WHERE id IN (WITH RECURSIVE removed (id) AS (
    SELECT id FROM {table} WHERE {date} < {cutoff} UNION
    SELECT later.id FROM removed JOIN {table} AS later ON later.previous = removed.id) SELECT id FROM removed)"""


def chain(name, what, mode, length, sql):
    """S1 in which each row refers to the one before it; every `length` rows begin a chain of their own."""
    return Schema(
        name, what, SCHEMAS["S1"].options, sql=sql, rule=f"    relationships: {mode}\n", changes=f"""
        ALTER TABLE {ENTITY} ADD COLUMN previous INTEGER REFERENCES {ENTITY} (id);
        UPDATE {ENTITY} SET previous = id - 1 WHERE (id - 1) % {length} > 0;
        CREATE INDEX ix_previous ON {ENTITY} (previous); VACUUM""")


def measure(shop):
    rows = shop.rows // 10
    schemas = [
        chain("nullify", "one chain, `nullify`", "nullify", rows, NULLIFY),
        chain("cascade", "chains of ten, `cascade`", "cascade", 10, CASCADE)]
    lines, goals, waits = [], [], []
    for schema in schemas:
        found = shop.deletes(("shell", "job"), schema, rows, 50)
        job, shell = found["job"], found["shell"]
        lines.append([
            schema.what, *(number(median(side, figure) / 1000) for figure in ("wall_ms", "cpu_ms") for side in (job, shell)),
            f"{ratio(job, shell, 'cpu_ms'):.2f}"])
        goals.append(Goal(f"{schema.what}: CPU ratio", 3, ratio(job, shell, "cpu_ms")))
        found, table_lines = live.compare(shop, schema, rows, 50)
        waits += [[f"{schema.what}: " + line[0].replace("`DELETE`", "SQL"), *line[1:]] for line in table_lines[1:]]
        goals.append(Goal(f"{schema.what}: a writer's worst", 60, live.latencies(found["job"], "writes")[2], " ms"))
        shop.forget(schema, rows)
    heads = ["", "job, wall s", "shell, wall s", "job, CPU s", "shell, CPU s", "CPU ratio"]
    return Section(
        f"50 % of {count(rows)} rows, date index:\n\n{table(heads, lines)}\n\nBeside a writer and a reader:\n\n"
        + table(live.HEADS, waits), goals)
