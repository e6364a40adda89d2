"""The job on PostgreSQL, TimescaleDB and Citus beside psql doing the same, on servers of its own."""

import contextlib
from dataclasses import dataclass
from datetime import date, timedelta
from statistics import median as middle

from ..cluster import Asker, Cluster, has
from ..measuring import end, measure as run
from ..report import Goal, median, medians, number, quantile, ratio, ratios, table
from ..stores import count, write_policy

# A feed that still runs: its last row is of last night.
LIVE, EXPIRED = (str(date.today() - timedelta(days=days)) for days in (364, 328))
# The first of 364 days. TimescaleDB's chunks of 28 and of 91 days begin here.
FIRST = "2025-10-23"
FOUR_WEEKS = [str(date.fromisoformat(FIRST) + timedelta(days=28 * n)) for n in range(14)] + ["2100-01-01"]
# Six are before the cutoff.
MONTHS = [f"{2025 + (11 + n) // 12}-{(11 + n) % 12 + 1:02}-01" for n in range(14)]
EXPIRED_MONTHS = [f"ticks_{n:02}" for n in range(6)]

CITUS_SETTINGS = (
    "max_prepared_transactions = 200\ncitus.node_conninfo = 'sslmode=prefer'\ncitus.enable_statistics_collection = off")
TIMESCALE_SETTINGS = "timescaledb.telemetry_level = off\nmax_locks_per_transaction = 512"
HYPERTABLE = "SELECT create_hypertable('ticks', by_range('at', interval '{}'), create_default_indexes => false);"
# As Citus advises: two to four shards for each core of the workers.
EIGHT_SHARDS = "SELECT create_distributed_table('ticks', 'symbol', shard_count => 8);"
DISTRIBUTE = "SELECT create_distributed_table('ticks', 'symbol');"
BY_DATE = "PARTITION BY RANGE (at)"
INDEX = "CREATE INDEX ticks_at ON ticks (at);"

COUNT = "SELECT count(*) FROM ticks WHERE at < {cutoff};"
COUNT_ALL = "SELECT count(*) FROM ticks;"
DROP_CHUNKS = "SELECT count(*) FROM drop_chunks('ticks', older_than => {cutoff});"
DELETE = {"`DELETE`": "DELETE FROM ticks WHERE at < {cutoff};"}
COUNT_AND_DROP = {"count + `drop_chunks`": COUNT + DROP_CHUNKS}
DROP_AND_DELETE = {"`drop_chunks` + `DELETE`": DROP_CHUNKS + DELETE["`DELETE`"]}
# What the job does with partitions, by hand.
COUNT_AND_DROP_PARTITIONS = {"count and drop": "".join([
    "SET synchronous_commit = off; SELECT sum(found) FROM (",
    " UNION ALL ".join(f"SELECT count(*) AS found FROM {name}" for name in EXPIRED_MONTHS), ") AS each;",
    f"DROP TABLE {', '.join(EXPIRED_MONTHS)};"])}

WRITE = "INSERT INTO ticks VALUES ((random() * 1e15)::bigint + 1e9, 'XAUEUR', 1, '2026-12-15 00:00:00+00') RETURNING 1;\n"
# How long the job's transaction has held its locks: since it got a number, that is wrote.
LOCK = (
    "SELECT coalesce(max(extract(epoch FROM clock_timestamp() - xact_start)) * 1000, 0) FROM pg_stat_activity "
    "WHERE application_name LIKE 'retention %' AND backend_xid IS NOT NULL;\n")


def partitions(firsts):
    """Partitions from each date to the next."""
    return "".join(
        f"CREATE TABLE ticks_{n:02} PARTITION OF ticks FOR VALUES FROM ('{first} 00:00Z') TO ('{last} 00:00Z');"
        for n, (first, last) in enumerate(zip(firsts, firsts[1:])))


@dataclass
class Shape:
    """A kind of table, the date before which rows go, and what does the same in psql."""

    what: str
    # After the columns, what makes the table of them, and the index.
    made: str
    cutoff: str
    # Statements by their names; the job may take so many times as long as the last ones.
    peers: dict
    limit: float
    # What ends the columns.
    rest: str = ""
    share: float = 1
    first: str = FIRST
    days: int = 364
    # The type of the dates, and whether a dry run is measured too.
    type: str = "timestamptz"
    counts: bool = False
    # The sides that a writer is measured beside, and the most milliseconds of the job's longest lock, if that is measured.
    live: tuple = ()
    lock: int = 0

    def value(self, date):
        """A timestamptz in SQL as the column has it."""
        return date if self.type == "timestamptz" else f"(extract(epoch FROM {date}) * 1000)::bigint"

    def statement(self, text):
        return text.format(cutoff=self.value(f"timestamptz '{self.cutoff} 00:00Z'"))

    def make(self, cluster, rows):
        """The table anew, so that each side finds the same."""
        date = f"timestamptz '{self.first}' + n * (interval '{self.days} days' / {rows})"
        cluster.psql(f"""
            SET client_min_messages = error; SET timezone = 'UTC'; DROP TABLE IF EXISTS ticks;
            CREATE TABLE ticks (id bigint, symbol text, price float8, at {self.type} NOT NULL) {self.rest}; {self.made}
            INSERT INTO ticks SELECT n, 'S' || n % 1000, 1900 + n % 100, {self.value(date)}
            FROM generate_series(0, {rows} - 1) n;
            VACUUM ANALYZE ticks; CHECKPOINT; SELECT count(*), min(price) FROM ticks;""")


PLAIN = [
    Shape("one table, date index", "ALTER TABLE ticks ADD PRIMARY KEY (id);" + INDEX, "2026-06-01", DELETE, 1.3,
          first=MONTHS[0], live=("job",), lock=100),
    Shape("partitions by month", partitions(MONTHS) + INDEX, "2026-06-01", DELETE | COUNT_AND_DROP_PARTITIONS, 1.5,
          first=MONTHS[0], rest=BY_DATE, live=("job",)),
    Shape("the same, dates as bigint milliseconds, a tenth expires", INDEX, "2026-01-06", DELETE, 1.4, share=5 / 3,
          first=MONTHS[0], type="bigint", counts=True),
    Shape("BRIN index, a tenth expires", "CREATE INDEX ticks_at ON ticks USING brin (at);", EXPIRED, DELETE, 2,
          share=5 / 3, first=LIVE),
    Shape("one table, no index on the date", "", "2026-04-23", DELETE, 2),
    Shape("the same, a third of the rows", "", "2026-04-23", DELETE, 2, share=1 / 3),
]
HYPERTABLES = [
    Shape("hypertable, cutoff at a chunk's end", HYPERTABLE.format("28 days") + INDEX, "2026-04-09", COUNT_AND_DROP, 1.5,
          share=10 / 3),
    Shape("hypertable, cutoff inside a chunk", HYPERTABLE.format("91 days") + INDEX, "2026-06-07", DROP_AND_DELETE, 1.5,
          share=10 / 3),
    Shape("2,160 chunks of an hour", HYPERTABLE.format("1 hour") + INDEX, "2026-01-21", COUNT_AND_DROP, 1.5,
          share=0.01, days=91, live=("job", *COUNT_AND_DROP), lock=1000),
    Shape("hypertable, no index on the date", HYPERTABLE.format("28 days"), "2026-04-20", DELETE, 2),
]
DISTRIBUTED = [
    Shape("distributed", DISTRIBUTE + INDEX, "2026-04-23", DELETE, 1.5, live=("job", "`DELETE`")),
    Shape("distributed, partitions of 28 days", EIGHT_SHARDS + partitions(FOUR_WEEKS) + INDEX, "2026-04-09", DELETE, 1.5,
          rest=BY_DATE, live=("job",)),
]


class Measurements:
    """Lines of the tables, and goals."""

    def __init__(self, shop):
        self.shop, self.lines, self.waits, self.goals = shop, [], [], []

    def rows(self, shape):
        """How many rows its table has: some for each day, however small the stores are."""
        return max(int(self.shop.rows * 3 // 10 * shape.share), 200)

    def command(self, shape, cluster, side):
        """What a side runs in the folder of the workshop."""
        folder = self.shop.folder
        if side not in ("job", "dry run"):
            (folder / "statements.sql").write_text(
                COUNT_ALL if side == "count(*)" else shape.statement(shape.peers[side]))
            return cluster.session("-f", "statements.sql")
        write_policy(folder, (
            f"version: 1\nstore: postgresql://retention@/postgres?host={cluster.folder}\nrules:\n"
            "  - { name: ticks, entity: ticks, date_attribute: at, max_age: 1s, accept: [future_dates]"
            + (", date_format: unix_milliseconds" if shape.type == "bigint" else "") + " }\n"))
        # A nightly job has a ledger; but that of the side before is about another table, and knows what was deleted from it.
        (folder / "retention.ledger.sqlite").unlink(missing_ok=True)
        if side == "dry run":
            return [*self.shop.job(as_of=f"{shape.cutoff}T00:00:01Z"), "--dry-run"]
        self.shop.run_before(folder, forget=False)
        return self.shop.job(as_of=f"{shape.cutoff}T00:00:01Z")

    def delete(self, shape, cluster, side, others=()):
        """One side deletes from a fresh table, with others at work meanwhile: its sample, and the others."""
        shape.make(cluster, self.rows(shape))
        command = self.command(shape, cluster, side)
        with contextlib.ExitStack() as stack:
            others = [stack.enter_context(Asker(cluster, statement)) for statement in others]
            sample = run(command, self.shop.folder)
        left = cluster.psql(shape.statement(COUNT))
        return (sample, others) if left == "0" else end(f"{shape.what}: {side} leaves {left} rows")

    def compare(self, shape, cluster):
        """The job beside psql."""
        self.shop.note(f"{shape.what}: {self.rows(shape):,} rows")
        found = self.shop.in_turn(("job", *shape.peers), lambda side: self.delete(shape, cluster, side)[0])
        job = found.pop("job")
        for side, samples in found.items():
            self.lines.append([
                shape.what, count(self.rows(shape)), side, *medians((job, samples), "wall_ms"),
                *ratios(job, samples, "wall_ms")])
        self.goals.append(Goal(f"{shape.what}: wall, beside {side}", shape.limit, ratio(job, samples, "wall_ms")))

    def dry(self, shape, cluster):
        """A dry run beside the server's own count of all rows."""
        self.shop.note(f"{shape.what}, dry run")
        shape.make(cluster, self.rows(shape))
        found = self.shop.in_turn(
            ("dry run", "count(*)"), lambda side: run(self.command(shape, cluster, side), self.shop.folder))
        job, samples = found["dry run"], found["count(*)"]
        self.lines.append([
            f"{shape.what}: dry run", count(self.rows(shape)), "count(*)", *medians((job, samples), "wall_ms"),
            *ratios(job, samples, "wall_ms")])
        self.goals.append(Goal(f"{shape.what}: dry run, beside count(*)", 1.5, ratio(job, samples, "wall_ms")))

    def live(self, shape, cluster):
        """What a writer waits for beside the job, and beside psql; and the job's longest lock."""
        self.shop.note(f"{shape.what}, beside a writer: {', '.join(shape.live)}")
        worst = {}
        for side in shape.live:
            others = [WRITE, LOCK] if shape.lock else [WRITE]
            runs = [self.delete(shape, cluster, side, others)[1] for _ in range(self.shop.runs)]
            waits = [writer.milliseconds for writer, *_ in runs]
            # A run may be too short for a quantile of its own.
            p50, p99 = (quantile(sum(waits, []), share) for share in (0.5, 0.99))
            worst[side] = middle(map(max, waits))
            self.waits.append([shape.what, side, *map(number, (p50, p99, worst[side])), ""])
            if shape.lock:
                lock = max(max(watcher.told) for _, watcher in runs)
                self.waits[-1][-1] = number(lock)
                self.goals.append(Goal(f"{shape.what}: the longest lock", shape.lock, lock, " ms"))
        if len(worst) == 1:
            self.goals.append(Goal(f"{shape.what}: a writer's p99", 20, p99, " ms"))
        else:
            self.goals.append(Goal(
                f"{shape.what}: a writer's worst wait, beside that of {shape.live[1]}", 1,
                worst["job"] / worst[shape.live[1]]))


def start(stack, extension, settings):
    """A server; with Citus it is the coordinator of two workers, which are servers too."""
    servers = []
    for _ in range(3 if extension == "citus" else 1):
        servers.append(Cluster(extension, settings))
        stack.callback(servers[-1].stop)
    if servers[1:]:
        servers[0].psql(f"SELECT citus_set_coordinator_host('{servers[0].folder}', 5432);" + "".join(
            f"SELECT citus_add_node('{worker.folder}', 5432);" for worker in servers[1:]))
    return servers[0]


def measure(shop):
    found, skipped, versions = Measurements(shop), "", []
    for extension, settings, shapes in [
            ("", "", PLAIN), ("timescaledb", TIMESCALE_SETTINGS, HYPERTABLES), ("citus", CITUS_SETTINGS, DISTRIBUTED)]:
        if extension and not has(extension):
            skipped += f"\n\nSkipped, since it is not installed: {extension}."
            continue
        with contextlib.ExitStack() as stack:
            cluster = start(stack, extension, settings)
            version = f"SELECT extversion FROM pg_extension WHERE extname = '{extension}'" if extension else "SHOW server_version"
            versions.append(f"{extension or 'PostgreSQL'} {cluster.psql(version).split()[0]}")
            for shape in shapes:
                found.compare(shape, cluster)
                if shape.counts:
                    found.dry(shape, cluster)
                if shape.live:
                    found.live(shape, cluster)
    heads = ["", "rows", "beside", "job, wall ms", "`psql`, wall ms", "ratio"]
    waits = ["beside a writer", "", "writer p50, ms", "p99", "worst", "longest lock, ms"]
    return f"On {', '.join(versions)}.\n\n{table(heads, found.lines)}{skipped}\n\n{table(waits, found.waits)}", found.goals
