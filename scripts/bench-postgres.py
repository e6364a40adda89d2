#!/usr/bin/env python3
"""Measures the release build of the job on PostgreSQL beside one DELETE in psql, on copies of the same table.

Called by scripts/bench --postgres. It starts a cluster of its own in a temporary folder, and stops it.
"""
import argparse, glob, os, pwd, shutil, statistics, subprocess, sys, tempfile, textwrap, threading, time

CUTOFF = "2026-06-01T00:00:00Z"


def programs():
    found = sorted(glob.glob("/usr/lib/postgresql/*/bin"), key=lambda path: int(path.split("/")[4]))
    if not found:
        sys.exit("PostgreSQL is not installed")
    return found[-1]


class Cluster:
    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="retention-bench-", dir="/tmp")
        self.bin = programs()
        self.prefix = []
        if os.geteuid() == 0:
            user = pwd.getpwnam("postgres")
            os.chown(self.folder, user.pw_uid, user.pw_gid)
            self.prefix = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"]
        os.chmod(self.folder, 0o755)
        self.data = self.folder + "/data"
        self.call("initdb", "-D", self.data, "-U", "retention", "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8")
        with open(self.folder + "/more.conf", "w") as file:
            file.write(f"listen_addresses = ''\nunix_socket_directories = '{self.folder}'\nshared_buffers = '256MB'\n"
                       "max_wal_size = '4GB'\nautovacuum = off\n")
        with open(self.data + "/postgresql.conf", "a") as file:
            file.write(f"include '{self.folder}/more.conf'\n")
        self.call("pg_ctl", "-D", self.data, "-l", self.folder + "/../" + os.path.basename(self.folder) + ".log", "-w", "start")

    def call(self, program, *arguments):
        subprocess.run([*self.prefix, f"{self.bin}/{program}", *arguments], check=True, stdout=subprocess.DEVNULL,
                       cwd="/tmp")

    def psql(self, statements, database="postgres"):
        result = subprocess.run(
            [f"{self.bin}/psql", "-XqAt", "-v", "ON_ERROR_STOP=1", "-h", self.folder, "-U", "retention", "-d", database],
            input=statements, text=True, check=True, capture_output=True)
        return result.stdout.strip()

    def url(self, database):
        return f"postgresql://retention@/{database}?host={self.folder}"

    def stop(self):
        try:
            self.call("pg_ctl", "-D", self.data, "-m", "immediate", "stop")
        finally:
            shutil.rmtree(self.folder, ignore_errors=True)


def make_plain(cluster, rows):
    cluster.psql("CREATE DATABASE plain")
    cluster.psql(textwrap.dedent(f"""
        CREATE TABLE ticks (id bigint PRIMARY KEY, symbol text, price float8, at timestamptz NOT NULL);
        INSERT INTO ticks SELECT n, 'XAUUSD', 1900 + n % 100,
            timestamptz '{CUTOFF}' + (n - {rows // 2}) * interval '5 seconds' FROM generate_series(0, {rows} - 1) n;
        CREATE INDEX ticks_at ON ticks (at);
        VACUUM ANALYZE ticks;
        CHECKPOINT;"""), "plain")


def make_partitioned(cluster, rows):
    cluster.psql("CREATE DATABASE parts")
    # Twelve months, half of them before the cutoff.
    start = "timestamptz '2025-12-01 00:00:00+00'"
    firsts = [f"{2025 + (11 + n) // 12}-{(11 + n) % 12 + 1:02}-01 00:00:00+00" for n in range(14)]
    months = "\n".join(
        f"CREATE TABLE ticks_{n:02} PARTITION OF ticks FOR VALUES FROM ('{firsts[n]}') TO ('{firsts[n + 1]}');"
        for n in range(13))
    cluster.psql(textwrap.dedent(f"""
        SET timezone = 'UTC';
        CREATE TABLE ticks (id bigint, symbol text, price float8, at timestamptz NOT NULL) PARTITION BY RANGE (at);
        {months}
        INSERT INTO ticks SELECT n, 'XAUUSD', 1900 + n % 100,
            {start} + n * (interval '364 days' / {rows}) FROM generate_series(0, {rows} - 1) n;
        CREATE INDEX ticks_at ON ticks (at);
        VACUUM ANALYZE ticks;
        CHECKPOINT;"""), "parts")


class Session(threading.Thread):
    """A psql that asks again and again, on a thread of its own, until it is told to end."""

    def __init__(self, cluster, database):
        super().__init__(daemon=True)
        self.process = subprocess.Popen(
            [f"{cluster.bin}/psql", "-XqAt", "-h", cluster.folder, "-U", "retention", "-d", database],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)
        self.is_over = False

    def ask(self, statements):
        """The one line that they print."""
        self.process.stdin.write(statements)
        self.process.stdin.flush()
        return self.process.stdout.readline()

    def end(self):
        self.is_over = True
        self.join()
        self.process.stdin.close()
        self.process.wait()


class Writer(Session):
    """Adds a row every few milliseconds, and remembers how long each took."""

    def __init__(self, cluster, database):
        super().__init__(cluster, database)
        self.times = []

    def run(self):
        number = 10**9
        while not self.is_over:
            number += 1
            began = time.monotonic()
            self.ask(f"INSERT INTO ticks VALUES ({number}, 'XAUEUR', 1, '2026-12-15 00:00:00+00'); SELECT 1;\n")
            self.times.append((time.monotonic() - began) * 1000)
            time.sleep(0.002)

    def end(self):
        super().end()
        return statistics.quantiles(self.times, n=100)[98] if len(self.times) > 100 else max(self.times)


class Watcher(Session):
    """Asks every few milliseconds how long the job's transaction has held its locks: since it got a number, that is wrote."""

    QUERY = ("SELECT coalesce(max(extract(epoch FROM clock_timestamp() - xact_start)) * 1000, 0) FROM pg_stat_activity "
             "WHERE application_name LIKE 'retention %' AND backend_xid IS NOT NULL;\n")

    def __init__(self, cluster):
        super().__init__(cluster, "postgres")
        self.longest = 0.0

    def run(self):
        while not self.is_over:
            self.longest = max(self.longest, float(self.ask(self.QUERY)))
            time.sleep(0.002)

    def end(self):
        super().end()
        return self.longest


def copy(cluster, source):
    cluster.psql(f"DROP DATABASE IF EXISTS work")
    cluster.psql(f"CREATE DATABASE work TEMPLATE {source} STRATEGY file_copy")
    cluster.psql("CHECKPOINT")
    # The first scan of a copy sets hint bits and reads files: both sides find them done.
    cluster.psql("SELECT count(*), min(price) FROM ticks", "work")


def delete(cluster, source):
    copy(cluster, source)
    began = time.monotonic()
    cluster.psql(f"DELETE FROM ticks WHERE at < '{CUTOFF}'", "work")
    return (time.monotonic() - began) * 1000


def job(cluster, source, retention, with_others=False):
    """Runs the job. Returns its wall time, a writer's p99 and the longest lock, in milliseconds."""
    copy(cluster, source)
    with tempfile.TemporaryDirectory() as folder:
        with open(folder + "/retention.yaml", "w") as file:
            file.write(f"version: 1\nstore: {cluster.url('work')}\nlog: {{ level: error }}\nrules:\n"
                       "  - { name: ticks, entity: ticks, date_attribute: at, max_age: 1s, accept: [future_dates] }\n")
        # The watcher is in another database, so that the job does not see it as company.
        others = [Writer(cluster, "work"), Watcher(cluster)] if with_others else []
        for other in others:
            other.start()
        began = time.monotonic()
        as_of = "2026-06-01T00:00:01Z"
        result = subprocess.run([retention, "run", "-c", folder + "/retention.yaml", "--as-of", as_of, "--format", "json"],
                                capture_output=True, text=True)
        wall = (time.monotonic() - began) * 1000
        told = [other.end() for other in others]
        if result.returncode != 0:
            sys.exit(f"retention ended with {result.returncode}: {result.stderr}{result.stdout}")
    left = cluster.psql(f"SELECT count(*) FROM ticks WHERE at < '{CUTOFF}'", "work")
    if left != "0":
        sys.exit(f"{left} expired rows are left")
    return [wall, *told]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--programs", required=True)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--rows", type=int, default=3_000_000)
    arguments, _ = parser.parse_known_args()
    rows = 60_000 if arguments.quick else arguments.rows
    runs = 1 if arguments.quick else arguments.runs
    retention = arguments.programs + "/retention"
    cluster = Cluster()
    missed = False
    try:
        make_plain(cluster, rows)
        make_partitioned(cluster, rows)

        def line(what, unit, value, beside, goal, is_met):
            nonlocal missed
            missed = missed or not is_met
            print(f"| {what} | {unit} | {value} | {beside} | {goal} | {'met' if is_met else '**missed**'} |")

        print(f"PostgreSQL {cluster.psql('SHOW server_version')}, {rows:,} rows, median of {runs} runs\n")
        print("| what | | `retention` | `psql` DELETE | goal | |\n|---|---|---|---|---|---|")
        deletes = {}
        for source, what, goal in [("plain", "date index", 1.3), ("parts", "partitions by month", 0.05)]:
            pairs = [(job(cluster, source, retention)[0], delete(cluster, source)) for _ in range(runs)]
            ours, deletes[source] = (statistics.median(column) for column in zip(*pairs))
            # Both goals are for the one DELETE on the plain table.
            ratio = ours / deletes["plain"]
            beside = f"{deletes[source]:.0f}"
            if source == "parts":
                beside += f"; on the plain table {deletes['plain']:.0f}"
            line(f"delete expired, {what}", "wall ms", f"{ours:.0f}", f"{beside} (ratio {ratio:.2f})",
                 f"ratio ≤ {goal}", ratio <= goal)
        for source, what in [("plain", "date index"), ("parts", "partitions by month")]:
            _, p99, longest = job(cluster, source, retention, with_others=True)
            line(f"a live writer meanwhile, {what}", "p99 ms", f"{p99:.1f}", "", "≤ 20 ms", p99 <= 20)
            if source == "plain":
                line(f"longest lock, {what}", "ms", f"{longest:.0f}", "", "≤ 100 ms", longest <= 100)
    finally:
        cluster.stop()
    if missed and not arguments.quick:
        sys.exit(1)


main()
