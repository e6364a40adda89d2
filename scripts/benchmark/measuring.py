"""One process, measured from its start to its end."""

import os
import pathlib
import resource
import select
import subprocess
import sys
import tempfile
import time

MEGABYTE = 1e6


class Sample:
    """What one process cost, and what it printed. Memory is in MiB, sizes of files are in millions of bytes."""

    FIGURES = ("wall_ms", "cpu_ms", "memory_mb", "wal_mb", "disk_mb", "written_mb", "dirtied_mb", "file_mb")

    def __init__(self):
        self.printed, self.errors, self.status = "", "", 0
        self.wall_ms = self.cpu_ms = self.memory_mb = self.wal_mb = self.disk_mb = 0.0
        self.written_mb = self.dirtied_mb = self.file_mb = 0.0
        # By the monotonic clock, in nanoseconds.
        self.began = self.ended = 0

    def figures(self):
        return {name: round(getattr(self, name), 3) for name in self.FIGURES}


class Watch:
    """Looks at a running process and its folder every few milliseconds, for what is gone when it ends."""

    SECONDS_BETWEEN = 0.003

    def __init__(self, pid, folder):
        self.pid, self.folder = pid, folder
        self.wal = self.memory = 0
        self.before = self.most = self.size()

    def size(self):
        """Bytes of all files of the folder."""
        total = 0
        with os.scandir(self.folder) as entries:
            for entry in entries:
                try:
                    size = entry.stat().st_size
                except FileNotFoundError:
                    continue
                total += size
                if entry.name.endswith("prices.sqlite-wal"):
                    self.wal = max(self.wal, size)
        return total

    def look(self):
        self.most = max(self.most, self.size())
        try:
            with open(f"/proc/{self.pid}/status") as status:
                for line in status:
                    if line.startswith("VmHWM"):
                        self.memory = max(self.memory, int(line.split()[1]) / 1024)
        except OSError:
            pass


def written(pid):
    """Bytes handed to write(), and bytes of pages made dirty, by a process that has ended and is not reaped yet."""
    try:
        lines = pathlib.Path(f"/proc/{pid}/io").read_text().splitlines()
    except OSError:
        return 0, 0
    values = dict(line.split(": ") for line in lines)
    return int(values["wchar"]), int(values["write_bytes"])


def end(what):
    sys.exit(f"bench: {what}")


def measure(command, folder, output=None, watched=False, statuses=(0,)):
    """Runs a command to its end in a folder.

    A wrong exit status or a wrong standard output ends the bench. `watched` costs a little of a processor that the
    process does not use, and finds the peaks of the WAL and of the folder.
    """
    command = [str(word) for word in command]
    sample = Sample()
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        sample.began = time.monotonic_ns()
        process = subprocess.Popen(command, cwd=folder, stdin=subprocess.DEVNULL, stdout=out, stderr=err)
        watch = Watch(process.pid, folder) if watched else None
        descriptor = os.pidfd_open(process.pid)
        try:
            ended = select.poll()
            ended.register(descriptor, select.POLLIN)
            pause = watch.SECONDS_BETWEEN * 1000 if watch else None
            while not ended.poll(pause):
                watch.look()
            sample.ended = time.monotonic_ns()
        finally:
            os.close(descriptor)
        sample.written_mb, sample.dirtied_mb = (count / MEGABYTE for count in written(process.pid))
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = sample.status = os.waitstatus_to_exitcode(status)
        out.seek(0)
        err.seek(0)
        sample.printed, sample.errors = out.read().decode().strip(), err.read().decode()
    sample.wall_ms = (sample.ended - sample.began) / 1e6
    sample.cpu_ms = (usage.ru_utime + usage.ru_stime) * 1000
    # The kernel counts what this script had when it started the process, too: where that may be the larger one, the
    # watch knows better.
    own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    sample.memory_mb = usage.ru_maxrss / 1024 if usage.ru_maxrss > own or not watch else watch.memory
    if watch:
        sample.wal_mb, sample.disk_mb = watch.wal / MEGABYTE, (watch.most - watch.before) / MEGABYTE
    if sample.status not in statuses or (output is not None and sample.printed != output):
        end(f"{' '.join(command)}: exit status {sample.status}\n{sample.printed}\n{sample.errors}")
    return sample
