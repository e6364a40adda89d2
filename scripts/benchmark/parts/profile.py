"""Where the processor time goes: samples of the job and of the shell, by library."""

import os
import re
import shutil
import subprocess
import tempfile

from ..measuring import end
from ..workshop import SHELL, schema

SAMPLES_PER_SECOND = 4999
# A short process is run several times, so that there are samples enough.
RUNS = 3


def measure_profiles(workshop):
    if not shutil.which("perf") or record(["true"], workshop.folder, os.devnull).returncode != 0:
        workshop.note("perf is not here, or not allowed: no profile")
        return
    rows = workshop.options.rows
    for name, percent in [("S1", 0), ("S1", 1), ("S1", 50), ("S2", 50), ("R", 50)]:
        shape = schema(name)
        workshop.note(f"profile: {name}, {percent} % of {rows:,} rows expired")
        kept = shape.kept(rows, percent) if percent else rows + 60 * shape.symbols
        store = workshop.store(shape, rows)
        sides = {
            "shell": lambda folder: workshop.shell(folder, SHELL + shape.delete(kept)),
            "job": lambda folder: workshop.job(),
        }
        for side, command in sides.items():
            shares = {}
            for _ in range(min(RUNS, workshop.options.runs)):
                folder = workshop.work_folder(store, shape.policy(kept))
                for library, milliseconds in profile(command(folder), folder).items():
                    shares.setdefault(library, []).append(milliseconds)
            runs = min(RUNS, workshop.options.runs)
            workshop.result.add(
                {library: [round(sum(times) / runs, 3)] for library, times in sorted(shares.items())},
                part="profile", schema=name, rows=rows, percent=percent, side=side)


def profile(command, folder):
    """Milliseconds by library of one run, where the kernel and the loader are libraries too."""
    with tempfile.NamedTemporaryFile() as data:
        recorded = record(command, folder, data.name)
        if recorded.returncode != 0:
            end(f"perf record: {recorded.stderr}")
        report = perf([
            "report", "-i", data.name, "--stdio", "--no-header", "-q", "--sort", "dso", "-F", "sample,dso"],
            folder).stdout
    times = {}
    for line in report.splitlines():
        found = re.match(r"\s*(\d+)\s+(\S+)\s*$", line)
        if found:
            library = short(found[2])
            times[library] = times.get(library, 0) + int(found[1]) * 1000 / SAMPLES_PER_SECOND
    return times


def record(command, folder, data):
    return perf([
        "record", "-q", "-e", "cpu-clock", "-F", str(SAMPLES_PER_SECOND), "-o", data, "--", *map(str, command)], folder)


def perf(words, folder):
    return subprocess.run(
        ["perf", *words], cwd=folder, env={**os.environ, "LC_ALL": "C"}, capture_output=True, text=True)


def short(library):
    """A name without version and folder."""
    if "kernel" in library or library.startswith("[") or library.endswith(".ko"):
        return "kernel"
    name = os.path.basename(library)
    if name.startswith("ld-linux"):
        return "loader"
    return re.sub(r"\.so[.\d]*$", "", name)
