"""The job on PostgreSQL beside one DELETE in psql, on copies of the same table, in a cluster of its own."""

import contextlib
import glob
import os
import pathlib
import pwd
import shutil
import subprocess
import tempfile
import threading
import time
from statistics import median

from ..measuring import end
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


class Cluster:
    """A PostgreSQL cluster in a folder, on a socket there, until it is stopped."""

    def __init__(self):
        found = sorted(glob.glob("/usr/lib/postgresql/*/bin"), key=lambda path: int(path.split("/")[4]))
        if not found:
            end("PostgreSQL is not installed")
        self.bin = found[-1]
        # A socket's path may not be long, and the server does not run as root.
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="retention-bench-", dir="/tmp"))
        self.prefix = []
        if os.geteuid() == 0:
            user = pwd.getpwnam("postgres")
            os.chown(self.folder, user.pw_uid, user.pw_gid)
            self.prefix = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"]
        self.folder.chmod(0o755)
        self.call("initdb", "-D", self.folder / "data", "-U", "retention", "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8")
        with open(self.folder / "data" / "postgresql.conf", "a") as file:
            file.write(
                f"listen_addresses = ''\nunix_socket_directories = '{self.folder}'\nshared_buffers = '256MB'\n"
                "max_wal_size = '4GB'\nautovacuum = off\n")
        self.call("pg_ctl", "-D", self.folder / "data", "-l", self.folder / "data" / "log", "-w", "start")

    def call(self, program, *arguments):
        subprocess.run(
            [*self.prefix, f"{self.bin}/{program}", *arguments], check=True, stdout=subprocess.DEVNULL, cwd="/tmp")

    def session(self, database):
        return [f"{self.bin}/psql", "-XqAt", "-v", "ON_ERROR_STOP=1", "-h", self.folder, "-U", "retention", "-d", database]

    def psql(self, statements, database="postgres"):
        return subprocess.run(
            self.session(database), input=statements, text=True, check=True, capture_output=True).stdout.strip()

    def make(self, rows):
        """Both databases."""
        columns = "(id bigint {key}, symbol text, price float8, at timestamptz NOT NULL)"
        shapes = {
            "plain": ("CREATE TABLE ticks " + columns.format(key="PRIMARY KEY"),
                      f"timestamptz '{CUTOFF}' + (n - {rows // 2}) * interval '5 seconds'"),
            "parts": (f"CREATE TABLE ticks {columns.format(key='')} PARTITION BY RANGE (at); {MONTHS}",
                      f"timestamptz '{FIRSTS[0]}' + n * (interval '364 days' / {rows})")}
        for database, (made, date) in shapes.items():
            self.psql(f"CREATE DATABASE {database}")
            self.psql(f"""
                SET timezone = 'UTC'; {made};
                INSERT INTO ticks SELECT n, 'XAUUSD', 1900 + n % 100, {date} FROM generate_series(0, {rows} - 1) n;
                CREATE INDEX ticks_at ON ticks (at); VACUUM ANALYZE ticks; CHECKPOINT;""", database)

    def copy(self, source):
        self.psql("DROP DATABASE IF EXISTS work")
        self.psql(f"CREATE DATABASE work TEMPLATE {source} STRATEGY file_copy")
        self.psql("CHECKPOINT")
        # The first scan of a copy sets hint bits and reads files: all sides find them done.
        self.psql("SELECT count(*), min(price) FROM ticks", "work")

    def stop(self):
        with contextlib.suppress(subprocess.CalledProcessError):
            self.call("pg_ctl", "-D", self.folder / "data", "-m", "immediate", "stop")
        shutil.rmtree(self.folder, ignore_errors=True)


class Asker(threading.Thread):
    """A psql that asks the same every few milliseconds, on a thread of its own: what it was told, and how long it took."""

    def __init__(self, cluster, database, statements):
        super().__init__(daemon=True)
        self.statements, self.told, self.milliseconds, self.is_over = statements, [], [], False
        self.process = subprocess.Popen(
            cluster.session(database), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)

    def run(self):
        while not self.is_over:
            began = time.monotonic()
            self.process.stdin.write(self.statements)
            self.process.stdin.flush()
            self.told.append(float(self.process.stdout.readline()))
            self.milliseconds.append((time.monotonic() - began) * 1000)
            time.sleep(0.002)

    def end(self):
        self.is_over = True
        self.join()
        self.process.communicate()


WRITE = "INSERT INTO ticks VALUES ((random() * 1e15)::bigint + 1e9, 'XAUEUR', 1, '2026-12-15 00:00:00+00') RETURNING 1;\n"
# How long the job's transaction has held its locks: since it got a number, that is wrote.
LOCK = (
    "SELECT coalesce(max(extract(epoch FROM clock_timestamp() - xact_start)) * 1000, 0) FROM pg_stat_activity "
    "WHERE application_name LIKE 'retention %' AND backend_xid IS NOT NULL;\n")


def psql(cluster, source, statements):
    """The wall time in milliseconds."""
    cluster.copy(source)
    began = time.monotonic()
    cluster.psql(statements, "work")
    return (time.monotonic() - began) * 1000


def drop(cluster):
    """What the job does with partitions, by hand."""
    gone = [f"ticks_{n:02}" for n in range(6)]
    counts = " UNION ALL ".join(f"SELECT count(*) AS found FROM {name}" for name in gone)
    detaches = "".join(f"ALTER TABLE ticks DETACH PARTITION {name} CONCURRENTLY;\n" for name in gone)
    return psql(cluster, "parts", (
        f"SET synchronous_commit = off; SELECT sum(found) FROM ({counts}) AS each;\n{detaches}"
        f"DROP TABLE {', '.join(gone)};"))


def job(shop, cluster, source, others=()):
    """The wall time in milliseconds, with others at work meanwhile."""
    cluster.copy(source)
    policy = shop.folder / "retention.yaml"
    policy.write_text(
        f"version: 1\nstore: postgresql://retention@/work?host={cluster.folder}\nlog: {{ level: error }}\nrules:\n"
        "  - { name: ticks, entity: ticks, date_attribute: at, max_age: 1s, accept: [future_dates] }\n")
    policy.chmod(0o644)
    others = [Asker(cluster, *other) for other in others]
    for other in others:
        other.start()
    began = time.monotonic()
    command = [shop.retention, "run", "-c", policy, "--as-of", "2026-06-01T00:00:01Z", "--format", "json"]
    result = subprocess.run(command, capture_output=True, text=True)
    wall = (time.monotonic() - began) * 1000
    for other in others:
        other.end()
    rest = cluster.psql(f"SELECT count(*) FROM ticks WHERE at < '{CUTOFF}'", "work")
    if result.returncode != 0 or rest != "0":
        end(f"retention ended with {result.returncode}, {rest} rows are left: {result.stderr}{result.stdout}")
    return wall, others


def measure(shop):
    rows = shop.rows * 3 // 10
    cluster = Cluster()
    try:
        shop.note(f"PostgreSQL: two tables of {rows:,} rows")
        cluster.make(rows)
        delete = f"DELETE FROM ticks WHERE at < '{CUTOFF}'"
        sides = {
            "plain": {"`DELETE`": lambda: psql(cluster, "plain", delete)},
            "parts": {"`DELETE`": lambda: psql(cluster, "parts", delete), "count, detach and drop": lambda: drop(cluster)}}
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
