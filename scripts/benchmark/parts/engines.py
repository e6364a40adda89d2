"""The job on TimescaleDB and on Citus beside psql doing the same, on servers of its own, where these are installed."""

from dataclasses import dataclass
from statistics import median

from ..cluster import LOCK, WRITE, Cluster, beside, delete, has, timed
from ..report import Goal, Section, number, quantile, table
from ..stores import count

# The first of 364 days. TimescaleDB's chunks of 28 and of 91 days begin here.
FIRST = "2025-10-23"
CITUS_SETTINGS = (
    "shared_preload_libraries = 'citus'\nmax_prepared_transactions = 200\ncitus.node_conninfo = 'sslmode=prefer'\n"
    "citus.enable_statistics_collection = off")
TIMESCALE_SETTINGS = (
    "shared_preload_libraries = 'timescaledb'\ntimescaledb.telemetry_level = off\nmax_locks_per_transaction = 512")
HYPERTABLE = "SELECT create_hypertable('ticks', by_range('at', interval '{}'), create_default_indexes => false);"
# As Citus advises: two to four shards for each core of the workers.
EIGHT_SHARDS = "SELECT create_distributed_table('ticks', 'symbol', shard_count => 8);"
DISTRIBUTE = "SELECT create_distributed_table('ticks', 'symbol');"
PARTITIONS = "".join(
    f"CREATE TABLE ticks_{n:02} PARTITION OF ticks FOR VALUES FROM (timestamptz '{FIRST} 00:00Z' + interval '{28 * n} days') "
    f"TO (timestamptz '{FIRST} 00:00Z' + interval '{28 * n + 28} days');" for n in range(13)) + (
    "CREATE TABLE ticks_rest PARTITION OF ticks FOR VALUES FROM (timestamptz '{} 00:00Z' + interval '364 days') "
    "TO ('2100-01-01');").format(FIRST)
INDEX = "CREATE INDEX ticks_at ON ticks (at);"
DELETE = "DELETE FROM ticks WHERE at < '{}';"
DROP = "SELECT count(*) FROM drop_chunks('ticks', older_than => timestamptz '{}');"
COUNT = "SELECT count(*) FROM ticks WHERE at < '{}';"


@dataclass
class Shape:
    """A kind of table, the date before which rows go, and what does the same in psql."""

    what: str
    # After the columns, what makes the table of them, and the index.
    made: str
    cutoff: str
    statements: str
    beside: str
    limit: float
    rest: str = ""
    share: float = 1
    days: int = 364

    def make(self, cluster, rows):
        """The table anew, so that each side finds the same."""
        cluster.psql(f"""
            SET client_min_messages = error; SET timezone = 'UTC'; DROP TABLE IF EXISTS ticks;
            CREATE TABLE ticks (id bigint, symbol text, price float8, at timestamptz NOT NULL) {self.rest}; {self.made}
            INSERT INTO ticks SELECT n, 'S' || n % 1000, 1900 + n % 100, timestamptz '{FIRST}' + n * (interval '{self.days} days' / {rows})
            FROM generate_series(0, {rows} - 1) n;
            VACUUM ANALYZE ticks; CHECKPOINT; SELECT count(*), min(price) FROM ticks;""")

    def measure(self, shop, cluster, rows):
        """The wall times of both sides in milliseconds."""
        rows = int(rows * self.share)

        def side(work):
            self.make(cluster, rows)
            return work()

        shop.note(f"{self.what}: {rows:,} rows")
        return shop.in_turn({
            "job": lambda: side(lambda: delete(shop, cluster, "postgres", self.cutoff)[0]),
            "psql": lambda: side(lambda: timed(cluster, self.statements.format(*[self.cutoff] * 2)))})


HYPERTABLES = [
    Shape("hypertable, cutoff at a chunk's end", HYPERTABLE.format("28 days") + INDEX, "2026-04-09T00:00:00Z",
          COUNT + DROP, "count + `drop_chunks`", 1.5, share=10 / 3),
    Shape("hypertable, cutoff inside a chunk", HYPERTABLE.format("91 days") + INDEX, "2026-06-07T00:00:00Z",
          DROP + DELETE, "`drop_chunks` + `DELETE`", 1.5, share=10 / 3),
    Shape("2,160 chunks of an hour", HYPERTABLE.format("1 hour") + INDEX, "2026-01-21T00:00:00Z",
          COUNT + DROP, "count + `drop_chunks`", 1.5, share=0.01, days=91),
    Shape("hypertable, no index on the date", HYPERTABLE.format("28 days"), "2026-04-20T00:00:00Z",
          DELETE, "`DELETE`", 2),
]
PLAIN = [
    Shape("one table, no index on the date", "", "2026-04-23T00:00:00Z", DELETE, "`DELETE`", 2),
    Shape("the same, a third of the rows", "", "2026-04-23T00:00:00Z", DELETE, "`DELETE`", 2, share=1 / 3),
]
DISTRIBUTED = [
    Shape("distributed", DISTRIBUTE + INDEX, "2026-04-23T00:00:00Z", DELETE, "`DELETE`", 1.5),
    Shape("distributed, partitions of 28 days", EIGHT_SHARDS + PARTITIONS + INDEX, "2026-04-09T00:00:00Z",
          DELETE, "`DELETE`", 0.3, rest="PARTITION BY RANGE (at)"),
]


class Measurements:
    """Lines of the tables, and goals."""

    def __init__(self, shop, rows):
        self.shop, self.rows, self.lines, self.waits, self.goals = shop, rows, [], [], []

    def add(self, shape, cluster):
        found = shape.measure(self.shop, cluster, self.rows)
        ratio = median(a / b for a, b in zip(found["job"], found["psql"]))
        self.lines.append(
            [shape.what, count(int(self.rows * shape.share)), shape.beside, number(median(found["job"])),
             number(median(found["psql"])), f"{ratio:.2f}"])
        self.goals.append(Goal(f"{shape.what}: wall, beside {shape.beside}", shape.limit, ratio))

    def transactions(self, shape, cluster):
        """The longest transaction of a run: a signal is looked for between two."""
        shape.make(cluster, int(self.rows * shape.share))
        _, (watcher,) = delete(self.shop, cluster, "postgres", shape.cutoff, [("postgres", LOCK)])
        self.goals.append(Goal(f"{shape.what}: the longest transaction", 1000, max(watcher.told), " ms"))
        return f"\n\nThe longest transaction of the run over {shape.what}: {number(max(watcher.told))} ms."

    def writer(self, shape, cluster):
        """What a writer waits for beside the job, and beside psql."""
        statement, worst = shape.statements.format(shape.cutoff), {}
        sides = {
            "job": lambda: delete(self.shop, cluster, "postgres", shape.cutoff, [("postgres", WRITE)])[1],
            shape.beside: lambda: beside(cluster, [("postgres", WRITE)], lambda: timed(cluster, statement))[1]}
        for side, work in sides.items():
            waits = []
            for _ in range(self.shop.runs):
                shape.make(cluster, self.rows)
                waits.append(work()[0].milliseconds)
            worst[side] = median(max(each) for each in waits)
            every = [value for each in waits for value in each]
            self.waits.append([shape.what, side, *(number(quantile(every, part)) for part in (0.5, 0.99)), number(worst[side])])
        self.goals.append(Goal(
            f"{shape.what}: a writer's worst wait, beside that of {shape.beside}", 1, worst["job"] / worst[shape.beside]))


def citus():
    """A coordinator with two workers, which are the others."""
    servers = [Cluster(CITUS_SETTINGS) for _ in range(3)]
    for server in servers:
        server.psql("SET client_min_messages = error; CREATE EXTENSION citus")
    servers[0].psql(f"SELECT citus_set_coordinator_host('{servers[0].folder}', 5432);" + "".join(
        f"SELECT citus_add_node('{worker.folder}', 5432);" for worker in servers[1:]))
    return servers


def timescale():
    server = Cluster(TIMESCALE_SETTINGS)
    server.psql("SET client_min_messages = error; CREATE EXTENSION timescaledb")
    return [server]


def measure(shop):
    found, texts = Measurements(shop, shop.rows * 3 // 10), []
    for extension, make, shapes in [
            ("", lambda: [Cluster()], PLAIN), ("timescaledb", timescale, HYPERTABLES), ("citus", citus, DISTRIBUTED)]:
        if extension and not has(extension):
            texts.append(f"\n\nSkipped, since it is not installed: {extension}.")
            shop.note(f"{extension} is not installed: its tables are skipped")
            continue
        servers = make()
        try:
            for shape in shapes:
                found.add(shape, servers[0])
            if extension == "timescaledb":
                texts.append(found.transactions(shapes[2], servers[0]))
            if extension == "citus":
                for shape in shapes:
                    found.writer(shape, servers[0])
        finally:
            for server in servers:
                server.stop()
    heads = ["", "rows", "beside", "job, wall ms", "`psql`, wall ms", "ratio"]
    waits = table(["beside a writer", "", "writer p50, ms", "p99", "worst"], found.waits) if found.waits else ""
    return Section(f"{table(heads, found.lines)}{''.join(texts)}\n\n{waits}".strip(), found.goals)
