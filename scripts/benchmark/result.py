"""The result file: everything that was measured, and on what. The pages are drawn from it and from nothing else."""

import json
import os
import pathlib
import platform
import statistics
import subprocess
import time

FORMAT = "retention.bench/1"


class Cell:
    """One side of one measurement: what it was, and its samples, a list for each figure."""

    def __init__(self, facts, samples):
        self.facts, self.samples = facts, samples

    def __getattr__(self, name):
        try:
            return self.facts[name]
        except KeyError:
            raise AttributeError(name) from None

    @property
    def is_available(self):
        return bool(self.samples)

    def values(self, figure):
        return self.samples[figure]

    def median(self, figure):
        return statistics.median(self.samples[figure])

    def ratio(self, other, figure):
        """The median of the quotients of what was measured one after the other."""
        return statistics.median(a / b for a, b in zip(self.samples[figure], other.samples[figure]))


class Result:
    """All cells of a bench, and the facts of the machine."""

    def __init__(self, facts=None, cells=()):
        self.facts, self.cells = facts or {}, list(cells)

    def add(self, samples, **facts):
        """Adds the samples of a side: `Sample`s, or a dictionary of lists; none: the side is not available."""
        if isinstance(samples, list):
            figures = [sample.figures() for sample in samples]
            samples = {name: [figure[name] for figure in figures] for name in figures[0]} if figures else {}
        self.cells.append(Cell(facts, samples))

    def find(self, **facts):
        """The cells of which all of that is true."""
        return [cell for cell in self.cells if all(cell.facts.get(name) == value for name, value in facts.items())]

    def one(self, **facts):
        """The cell of which that is true, or None."""
        found = [cell for cell in self.find(**facts) if cell.is_available]
        return found[0] if found else None

    def write(self, path):
        """A line for each cell, so that two results can be compared line by line."""
        lines = [json.dumps({**cell.facts, "samples": cell.samples}, ensure_ascii=False) for cell in self.cells]
        facts = ",\n".join(f" {json.dumps(k)}: {json.dumps(v, ensure_ascii=False)}" for k, v in self.facts.items())
        path.write_text("{\n" + facts + ',\n "cells": [\n  ' + ",\n  ".join(lines) + "\n ]\n}\n")

    @staticmethod
    def read(path):
        facts = json.loads(path.read_text())
        if facts.get("format") != FORMAT:
            raise SystemExit(f"bench: {path} is not a result of this bench ({FORMAT})")
        return Result(
            {k: v for k, v in facts.items() if k != "cells"},
            [Cell({k: v for k, v in cell.items() if k != "samples"}, cell["samples"]) for cell in facts["cells"]])


def machine_facts(retention, **options):
    """What the figures were measured on; nothing that names the machine."""
    model = "unknown processor"
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            model = " ".join(line.split(":", 1)[1].split())
            break
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9
    swift = output(["swift", "--version"]).split("Swift version ", 1)[-1].split()[0]
    return {
        "format": FORMAT, "date": time.strftime("%Y-%m-%d", time.gmtime()), "processor": model,
        "cores": os.cpu_count(), "memory_gb": round(memory, 1),
        "linux": ".".join(platform.release().split("-")[0].split(".")[:2]),
        "sqlite": output(["sqlite3", "--version"]).split()[0], "swift": swift,
        "retention": output([retention, "--version"]), **options,
    }


def output(command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
