"""One process, measured from its start to its end."""

import contextlib
import os
import pathlib
import re
import resource
import select
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass

MILLISECONDS_BETWEEN_LOOKS = 3


@dataclass
class Sample:
    """What one process cost, and what it printed. Memory is in MiB, the WAL in millions of bytes."""

    wall_ms: float
    cpu_ms: float
    memory_mb: float
    wal_mb: float
    printed: str
    # By the monotonic clock, in seconds.
    began: float
    ended: float
    # The latencies of a writer and of a reader meanwhile, in milliseconds.
    writes: list = ()
    reads: list = ()


def end(what):
    sys.exit(f"bench: {what}")


def measure(command, folder, output=None):
    """Runs a command in a folder. A failure, or standard output other than `output`, ends the bench.

    The peak of the WAL is found by looking at it every few milliseconds.
    """
    command = [str(word) for word in command]
    wal = memory = 0
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        began = time.monotonic()
        process = subprocess.Popen(command, cwd=folder, stdin=subprocess.DEVNULL, stdout=out, stderr=err)
        descriptor = os.pidfd_open(process.pid)
        ending = select.poll()
        ending.register(descriptor, select.POLLIN)
        while not ending.poll(MILLISECONDS_BETWEEN_LOOKS):
            memory = max(memory, peak_memory(process.pid))
            with contextlib.suppress(FileNotFoundError):
                wal = max(wal, (folder / "prices.sqlite-wal").stat().st_size)
        ended = time.monotonic()
        os.close(descriptor)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        err.seek(0)
        printed = out.read().decode().strip()
        if process.returncode != 0 or (output is not None and printed != output):
            end(f"{' '.join(command)}: exit status {process.returncode}\n{printed}\n{err.read().decode()}")
    # The kernel also counts what this script had when it started the process. If that may be more, the looks know better.
    if usage.ru_maxrss > resource.getrusage(resource.RUSAGE_SELF).ru_maxrss:
        memory = usage.ru_maxrss / 1024
    return Sample(
        (ended - began) * 1000, (usage.ru_utime + usage.ru_stime) * 1000, memory, wal / 1e6, printed, began, ended)


def peak_memory(pid):
    """In MiB."""
    found = re.search(r"VmHWM:\s+(\d+)", pathlib.Path(f"/proc/{pid}/status").read_text())
    return int(found[1]) / 1024 if found else 0
