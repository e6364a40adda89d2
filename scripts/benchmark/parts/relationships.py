"""Rows that refer to the row before them: the job beside the quickest SQL, alone and beside a writer."""

from ..report import COSTS, Goal, cost_heads, medians, ratio, ratios, table
from ..stores import ENTITY, SCHEMAS, Schema, count
from . import live

# The shell has foreign keys off, and only the rows that have to are changed.
NULLIFY = """BEGIN IMMEDIATE; UPDATE {table} SET previous = NULL WHERE id IN (
    SELECT later.id FROM {table} AS gone JOIN {table} AS later ON later.previous = gone.id
    WHERE gone.{date} < {cutoff} AND later.{date} >= {cutoff}); DELETE FROM {table} WHERE {date} < {cutoff}; COMMIT"""


def chain(name, what):
    """S1 in which each row refers to the one before it."""
    return Schema(
        name, what, SCHEMAS["S1"].options, sql=NULLIFY, rule="    relationships: nullify\n", changes=f"""
        ALTER TABLE {ENTITY} ADD COLUMN previous INTEGER REFERENCES {ENTITY} (id);
        UPDATE {ENTITY} SET previous = id - 1 WHERE id > 1;
        CREATE INDEX ix_previous ON {ENTITY} (previous); VACUUM""")


def measure(shop):
    rows = shop.rows // 10
    lines, goals, waits = [], [], []
    for schema in [chain("nullify", "one chain, `nullify`")]:
        shell, job = shop.deletes(("shell", "job"), schema, rows, schema.kept(rows, 50)).values()
        lines.append([schema.what, *medians((job, shell), *COSTS, divisor=1000), *ratios(job, shell, "cpu_ms")])
        goals.append(Goal(f"{schema.what}: CPU ratio", 3, ratio(job, shell, "cpu_ms")))
        found, table_lines = live.compare(shop, schema, rows, 50)
        waits += [[f"{schema.what}: " + line[0].replace("`DELETE`", "SQL"), *line[1:]] for line in table_lines[1:]]
        goals.append(Goal(f"{schema.what}: a writer's worst", 60, live.latencies(found["job"], "writes")[2], " ms"))
    heads = [*cost_heads("job", "shell", "s"), "CPU ratio"]
    return (
        f"50 % of {count(rows)} rows, date index:\n\n{table(heads, lines)}\n\nBeside a writer and a reader:\n\n"
        + table(live.HEADS, waits)), goals
