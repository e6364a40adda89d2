"""The job on PostgreSQL beside one DELETE in psql, on copies of the same table, in a cluster of its own."""

from statistics import median

from ..cluster import LOCK, WRITE, Cluster, delete, timed
from ..report import Goal, Section, number, quantile, table
from ..stores import count

CUTOFF = "2026-06-01T00:00:00Z"
# The databases; half of their rows are expired.
TABLES = {"plain": "one table, date index", "parts": "partitions by month"}
# The months of the partitions; six are before the cutoff.
FIRSTS = [f"{2025 + (11 + n) // 12}-{(11 + n) % 12 + 1:02}-01 00:00:00+00" for n in range(14)]
MONTHS = "\n".join(
    f"CREATE TABLE ticks_{n:02} PARTITION OF ticks FOR VALUES FROM ('{FIRSTS[n]}') TO ('{FIRSTS[n + 1]}');"
    for n in range(13))


def make(cluster, rows):
    """Both databases."""
    columns = "(id bigint {key}, symbol text, price float8, at timestamptz NOT NULL)"
    shapes = {
        "plain": ("CREATE TABLE ticks " + columns.format(key="PRIMARY KEY"),
                  f"timestamptz '{CUTOFF}' + (n - {rows // 2}) * interval '5 seconds'"),
        "parts": (f"CREATE TABLE ticks {columns.format(key='')} PARTITION BY RANGE (at); {MONTHS}",
                  f"timestamptz '{FIRSTS[0]}' + n * (interval '364 days' / {rows})")}
    for database, (made, date) in shapes.items():
        cluster.psql(f"CREATE DATABASE {database}")
        cluster.psql(f"""
            SET timezone = 'UTC'; {made};
            INSERT INTO ticks SELECT n, 'XAUUSD', 1900 + n % 100, {date} FROM generate_series(0, {rows} - 1) n;
            CREATE INDEX ticks_at ON ticks (at); VACUUM ANALYZE ticks; CHECKPOINT;""", database)


def copy(cluster, source):
    cluster.psql("DROP DATABASE IF EXISTS work")
    cluster.psql(f"CREATE DATABASE work TEMPLATE {source} STRATEGY file_copy")
    cluster.psql("CHECKPOINT")
    # The first scan of a copy sets hint bits and reads files: all sides find them done.
    cluster.psql("SELECT count(*), min(price) FROM ticks", "work")


def psql(cluster, source, statements):
    copy(cluster, source)
    return timed(cluster, statements, "work")


def drop(cluster):
    """What the job does with partitions, by hand."""
    gone = [f"ticks_{n:02}" for n in range(6)]
    counts = " UNION ALL ".join(f"SELECT count(*) AS found FROM {name}" for name in gone)
    detaches = "".join(f"ALTER TABLE ticks DETACH PARTITION {name} CONCURRENTLY;\n" for name in gone)
    return psql(cluster, "parts", (
        f"SET synchronous_commit = off; SELECT sum(found) FROM ({counts}) AS each;\n{detaches}"
        f"DROP TABLE {', '.join(gone)};"))


def job(shop, cluster, source, others=()):
    copy(cluster, source)
    return delete(shop, cluster, "work", CUTOFF, others)


def measure(shop):
    rows = shop.rows * 3 // 10
    cluster = Cluster()
    try:
        shop.note(f"PostgreSQL: two tables of {rows:,} rows")
        make(cluster, rows)
        statement = f"DELETE FROM ticks WHERE at < '{CUTOFF}'"
        sides = {
            "plain": {"`DELETE`": lambda: psql(cluster, "plain", statement)},
            "parts": {"`DELETE`": lambda: psql(cluster, "parts", statement), "count, detach and drop": lambda: drop(cluster)}}
        lines, waits, goals = [], [], []
        for source, what in TABLES.items():
            found = shop.in_turn({"job": lambda: job(shop, cluster, source)[0], **sides[source]})
            for side in sides[source]:
                ratio = median(a / b for a, b in zip(found["job"], found[side]))
                lines.append([what, side, number(median(found["job"])), number(median(found[side])), f"{ratio:.2f}"])
            # The last is what the job is to be measured by.
            goals.append(Goal(f"{what}: wall, beside {side}", {"plain": 1.3, "parts": 1.5}[source], ratio))
            runs = [job(shop, cluster, source, [("work", WRITE), ("postgres", LOCK)])[1] for _ in range(shop.runs)]
            # A run over partitions is too short for a quantile of its own.
            writes = [value for writer, _ in runs for value in writer.milliseconds]
            lock = max(max(watcher.told) for _, watcher in runs)
            # The lock of a partition that is detached already keeps nobody waiting.
            waits.append([
                what, *(number(quantile(writes, share)) for share in (0.5, 0.99, 1)), number(lock) if source == "plain" else ""])
            goals.append(Goal(f"{what}: a writer's p99", 20, quantile(writes, 0.99), " ms"))
            if source == "plain":
                goals.append(Goal(f"{what}: the longest lock", 100, lock, " ms"))
    finally:
        cluster.stop()
    return Section(
        f"PostgreSQL, {count(rows)} rows, 50 % expired:\n\n"
        + table(["", "beside", "job, wall ms", "`psql`, wall ms", "ratio"], lines)
        + "\n\nBeside a writer that adds a row every few milliseconds:\n\n"
        + table(["", "writer p50, ms", "p99", "worst", "longest lock, ms"], waits), goals)
