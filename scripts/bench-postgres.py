#!/usr/bin/env python3
"""Measures the release build of the job on PostgreSQL beside one DELETE in psql, on copies of the same table.

Called by scripts/bench --postgres. It starts a cluster of its own in a temporary folder, and stops it.
"""
import argparse, glob, os, pathlib, pwd, shutil, subprocess, sys, tempfile, textwrap, threading, time

sys.dont_write_bytecode = True
from benchmark import page, servers
from benchmark.result import Result, machine_facts

DOCS = pathlib.Path("docs")
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
        self.call("pg_ctl", "-D", self.data, "-l", self.data + "/log", "-w", "start")

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
    """Returns the names of the partitions that are wholly expired."""
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
    return [f"ticks_{n:02}" for n in range(6)]


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
        return self.times


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


class Bench:
    """What is measured, on copies of the two databases, with one build of the job."""

    def __init__(self, cluster, retention, rows):
        self.cluster, self.retention = cluster, retention
        make_plain(cluster, rows)
        self.expired = make_partitioned(cluster, rows)

    def copy(self, source):
        self.cluster.psql("DROP DATABASE IF EXISTS work")
        self.cluster.psql(f"CREATE DATABASE work TEMPLATE {source} STRATEGY file_copy")
        self.cluster.psql("CHECKPOINT")
        # The first scan of a copy sets hint bits and reads files: all sides find them done.
        self.cluster.psql("SELECT count(*), min(price) FROM ticks", "work")

    def psql(self, source, statements):
        """The wall time of a psql in milliseconds."""
        self.copy(source)
        began = time.monotonic()
        self.cluster.psql(statements, "work")
        return (time.monotonic() - began) * 1000

    def delete(self, source):
        return self.psql(source, f"DELETE FROM ticks WHERE at < '{CUTOFF}'")

    def drop(self):
        """What the job does with partitions, by hand."""
        counts = " UNION ALL ".join(f"SELECT count(*) AS found FROM {name}" for name in self.expired)
        detaches = "".join(f"ALTER TABLE ticks DETACH PARTITION {name} CONCURRENTLY;\n" for name in self.expired)
        return self.psql("parts", (
            f"SET synchronous_commit = off; SELECT sum(found) FROM ({counts}) AS each;\n{detaches}"
            f"DROP TABLE {', '.join(self.expired)};"))

    def job(self, source, with_others=False):
        """Runs the job. Returns its wall time, and beside others a writer's latencies and the longest lock, in
        milliseconds."""
        self.copy(source)
        with tempfile.TemporaryDirectory() as folder:
            with open(folder + "/retention.yaml", "w") as file:
                file.write(f"version: 1\nstore: {self.cluster.url('work')}\nlog: {{ level: error }}\nrules:\n"
                           "  - { name: ticks, entity: ticks, date_attribute: at, max_age: 1s, accept: [future_dates] }\n")
            # The watcher is in another database, so that the job does not see it as company.
            others = [Writer(self.cluster, "work"), Watcher(self.cluster)] if with_others else []
            for other in others:
                other.start()
            began = time.monotonic()
            command = [self.retention, "run", "-c", folder + "/retention.yaml", "--as-of", "2026-06-01T00:00:01Z"]
            result = subprocess.run([*command, "--format", "json"], capture_output=True, text=True)
            wall = (time.monotonic() - began) * 1000
            told = [other.end() for other in others]
            if result.returncode != 0:
                sys.exit(f"retention ended with {result.returncode}: {result.stderr}{result.stdout}")
        left = self.cluster.psql(f"SELECT count(*) FROM ticks WHERE at < '{CUTOFF}'", "work")
        if left != "0":
            sys.exit(f"{left} expired rows are left")
        return [wall, *told]

    def measure(self, result, runs):
        for source in servers.TABLES:
            walls = {"job": [], "psql": []}
            if source == "parts":
                walls |= {"psql_drop": [], "psql_plain": []}
            for _ in range(runs):
                walls["job"].append(self.job(source)[0])
                walls["psql"].append(self.delete(source))
                if source == "parts":
                    walls["psql_drop"].append(self.drop())
                    walls["psql_plain"].append(self.delete("plain"))
            for side, values in walls.items():
                result.add({"wall_ms": rounded(values)}, part="server_delete", table=source, side=side)
        for source in servers.TABLES:
            _, latencies, locks = zip(*(self.job(source, with_others=True) for _ in range(runs)))
            # A run over partitions is too short for a quantile of its own.
            samples = {"writer_ms": [round(value, 2) for run in latencies for value in run]}
            # The lock of a partition that is detached already keeps nobody waiting.
            if source == "plain":
                samples["lock_ms"] = rounded(locks)
            result.add(samples, part="server_live", table=source)


def rounded(values):
    return [round(value, 1) for value in values]


def main():
    parser = argparse.ArgumentParser(prog="scripts/bench --postgres")
    parser.add_argument("--postgres", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--programs", required=True, help=argparse.SUPPRESS)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--rows", type=int, default=3_000_000)
    arguments = parser.parse_args()
    if arguments.write and (arguments.quick or arguments.rows != 3_000_000 or arguments.runs < 5):
        parser.error("--write needs tables of full size, and five runs at least")
    if arguments.quick:
        arguments.rows, arguments.runs = 60_000, 1
    retention = arguments.programs + "/retention"
    cluster = Cluster()
    try:
        version = cluster.psql("SHOW server_version").split()[0]
        result = Result(machine_facts(retention, postgresql=version, runs=arguments.runs, rows=arguments.rows))
        Bench(cluster, retention, arguments.rows).measure(result, arguments.runs)
    finally:
        cluster.stop()
    print(servers.text(result, is_judged=not arguments.quick))
    if arguments.quick:
        return print("\nThe tables were too small for these figures to mean anything.")
    if arguments.write:
        result.write(DOCS / "benchmarks-postgres.json")
        page.write_all(Result.read(DOCS / "benchmarks.json"), DOCS)
    missed = [goal.what for goal in servers.judge(result) if goal.is_missed]
    if missed:
        sys.exit(f"\nbench: goals missed: {'; '.join(missed)}")


main()
