"""A PostgreSQL server of the bench's own, and what is measured on it."""

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

from .measuring import end
from .stores import FORGET


def version():
    """The newest PostgreSQL that is installed."""
    found = [int(path.split("/")[4]) for path in glob.glob("/usr/lib/postgresql/*/bin/initdb")]
    return max(found) if found else end("PostgreSQL is not installed")


def has(extension):
    return pathlib.Path(f"/usr/share/postgresql/{version()}/extension/{extension}.control").exists()


class Cluster:
    """A PostgreSQL cluster in a folder, on a socket there, until it is stopped."""

    def __init__(self, settings=""):
        self.bin = f"/usr/lib/postgresql/{version()}/bin"
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
                f"max_wal_size = '4GB'\nautovacuum = off\n{settings}\n")
        self.call("pg_ctl", "-D", self.folder / "data", "-l", self.folder / "data" / "log", "-w", "start")

    def call(self, program, *arguments):
        subprocess.run(
            [*self.prefix, f"{self.bin}/{program}", *arguments], check=True, stdout=subprocess.DEVNULL, cwd="/tmp")

    def session(self, database):
        return [f"{self.bin}/psql", "-XqAt", "-v", "ON_ERROR_STOP=1", "-h", self.folder, "-U", "retention", "-d", database]

    def psql(self, statements, database="postgres"):
        return subprocess.run(
            self.session(database), input=statements, text=True, check=True, capture_output=True).stdout.strip()

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


def timed(cluster, statements, database="postgres"):
    """The wall time of statements in milliseconds."""
    began = time.monotonic()
    cluster.psql(statements, database)
    return (time.monotonic() - began) * 1000


def beside(cluster, others, work):
    """What some work returns, with others at work meanwhile: each a database and its statements."""
    others = [Asker(cluster, *other) for other in others]
    for other in others:
        other.start()
    try:
        return work(), others
    finally:
        for other in others:
            other.end()


def delete(shop, cluster, database, cutoff, others=()):
    """The wall time of a run that deletes the rows before a date, in milliseconds, with others at work meanwhile."""
    policy = shop.folder / "retention.yaml"
    policy.write_text(
        f"version: 1\nstore: postgresql://retention@/{database}?host={cluster.folder}\nlog: {{ level: error }}\nrules:\n"
        "  - { name: ticks, entity: ticks, date_attribute: at, max_age: 1s, accept: [future_dates] }\n")
    policy.chmod(0o644)
    command = [shop.retention, "run", "-c", policy, "--format", "json", "--as-of"]
    # A nightly job has a ledger; but this one would know how much the run before has deleted.
    for prelude in [*command, "2024-01-01T00:00:00Z"], ["sqlite3", "-batch", "retention.ledger.sqlite", FORGET]:
        subprocess.run(prelude, cwd=shop.folder, check=True, capture_output=True)
    command.append(cutoff.replace(":00Z", ":01Z"))

    def run():
        began = time.monotonic()
        result = subprocess.run(command, capture_output=True, text=True)
        return (time.monotonic() - began) * 1000, result

    (wall, result), others = beside(cluster, others, run)
    rest = cluster.psql(f"SELECT count(*) FROM ticks WHERE at < '{cutoff}'", database)
    if result.returncode != 0 or rest != "0":
        end(f"retention ended with {result.returncode}, {rest} rows are left: {result.stderr}{result.stdout}")
    return wall, others
