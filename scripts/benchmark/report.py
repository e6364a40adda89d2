"""Tables, goals, and the sections of docs/benchmarks.md."""

import os
import pathlib
import platform
import statistics
import subprocess
import time
from dataclasses import dataclass

COSTS = "wall_ms", "cpu_ms"


@dataclass
class Goal:
    """What a figure should be at most. Goals are printed, and are not on the page."""

    what: str
    limit: float
    value: float
    unit: str = ""

    @property
    def is_missed(self):
        return self.value > self.limit


def median(samples, figure):
    return statistics.median(getattr(sample, figure) for sample in samples)


def ratio(samples, others, figure):
    """The median of the quotients of what was measured one after the other."""
    return statistics.median(getattr(a, figure) / getattr(b, figure) for a, b in zip(samples, others))


def medians(sides, *figures, divisor=1):
    """The medians of each figure, those of all sides beside each other."""
    return [number(median(side, figure) / divisor) for figure in figures for side in sides]


def ratios(samples, others, *figures):
    return [f"{ratio(samples, others, figure):.2f}" for figure in figures]


def cost_heads(first, second, unit="ms"):
    """Those of a table with the costs of two sides."""
    return ["", *(f"{side}, {figure} {unit}" for figure in ("wall", "CPU") for side in (first, second))]


def quantile(values, share):
    """By the nearest rank."""
    return sorted(values)[max(0, round(share * len(values)) - 1)]


def number(value):
    """Three significant digits, or all of those before the point."""
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"


def table(heads, rows):
    rows = [heads, *rows]
    widths = [max(len(row[i]) for row in rows) for i in range(len(heads))]
    lines = ["| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths)) + " |" for row in rows]
    lines.insert(1, "|" + "|".join("-" * (width + 2) for width in widths) + "|")
    return "\n".join(lines)


def machine(retention):
    """What the figures were measured on; nothing that names the machine."""
    lines = pathlib.Path("/proc/cpuinfo").read_text().splitlines()
    model = next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), "unknown processor")
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9
    return (
        f"{time.strftime('%Y-%m-%d', time.gmtime())} · {model}, {os.cpu_count()} cores, {memory:.0f} GB · Linux "
        f"{'.'.join(platform.release().split('-')[0].split('.')[:2])} · SQLite {output(['sqlite3', '--version'])} · "
        f"retention {output([retention, '--version'])}")


def output(command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()[0]


def put(page, name, text):
    """Puts the text between the markers of a part."""
    begin, finish = f"<!-- bench:{name} -->", f"<!-- bench:end {name} -->"
    before, rest = page.read_text().split(begin)
    page.write_text(f"{before}{begin}\n{text}\n{finish}{rest.split(finish)[1]}")
