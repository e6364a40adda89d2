"""PostgreSQL servers of the bench's own, and who works on them."""

import contextlib
import glob
import os
import pathlib
import shutil
import subprocess
import tempfile
import threading
import time

from .measuring import end


def version():
    """The newest PostgreSQL that is installed."""
    found = [int(path.split("/")[4]) for path in glob.glob("/usr/lib/postgresql/*/bin/initdb")]
    return max(found) if found else end("PostgreSQL is not installed")


def has(extension):
    return pathlib.Path(f"/usr/share/postgresql/{version()}/extension/{extension}.control").exists()


class Cluster:
    """A PostgreSQL cluster in a folder, on a socket there, until it is stopped."""

    def __init__(self, extension="", settings=""):
        self.bin = f"/usr/lib/postgresql/{version()}/bin"
        # A socket's path may not be long, and the server does not run as root.
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="retention-bench-", dir="/tmp"))
        self.prefix = []
        if os.geteuid() == 0:
            shutil.chown(self.folder, "postgres", "postgres")
            self.prefix = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"]
        self.folder.chmod(0o755)
        self.call("initdb", "-U", "retention", "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8")
        with open(self.folder / "data" / "postgresql.conf", "a") as file:
            file.write(
                f"listen_addresses = ''\nunix_socket_directories = '{self.folder}'\nshared_buffers = '256MB'\n"
                f"max_wal_size = '4GB'\nautovacuum = off\n{settings}\n")
            if extension:
                file.write(f"shared_preload_libraries = '{extension}'\n")
        self.call("pg_ctl", "-l", self.folder / "data" / "log", "-w", "start")
        if extension:
            self.psql(f"SET client_min_messages = error; CREATE EXTENSION {extension}")

    def call(self, program, *arguments):
        subprocess.run(
            [*self.prefix, f"{self.bin}/{program}", "-D", self.folder / "data", *arguments], check=True,
            stdout=subprocess.DEVNULL, cwd="/tmp")

    def session(self, *options):
        return [
            f"{self.bin}/psql", "-XqAt", "-v", "ON_ERROR_STOP=1", "-h", self.folder, "-U", "retention", "-d", "postgres",
            *options]

    def psql(self, statements):
        return subprocess.run(
            self.session(), input=statements, text=True, check=True, capture_output=True).stdout.strip()

    def stop(self):
        with contextlib.suppress(subprocess.CalledProcessError):
            self.call("pg_ctl", "-m", "immediate", "stop")
        shutil.rmtree(self.folder, ignore_errors=True)


class Asker(threading.Thread):
    """A psql that asks the same every few milliseconds, on a thread of its own: what it was told, and how long it took."""

    def __init__(self, cluster, statement):
        super().__init__(daemon=True)
        self.statement, self.told, self.milliseconds, self.is_over = statement, [], [], False
        self.process = subprocess.Popen(
            cluster.session(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)

    def run(self):
        while not self.is_over:
            began = time.monotonic()
            self.process.stdin.write(self.statement)
            self.process.stdin.flush()
            self.told.append(float(self.process.stdout.readline()))
            self.milliseconds.append((time.monotonic() - began) * 1000)
            time.sleep(0.002)

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.is_over = True
        self.join()
        self.process.communicate()
