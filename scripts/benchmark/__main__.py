"""The command line: what is measured, what is printed, what is written."""

import argparse
import contextlib
import pathlib
import shutil
import signal
import sys
import tempfile

from . import report
from .parts import archives, candles, deletes, library, live, many, relationships, servers, starts, thin
from .stores import Workshop

# in this order, so that what needs a quiet machine most comes first. Servers are measured only by name.
PARTS = {
    "starts": starts, "deletes": deletes, "archives": archives, "thin": thin, "candles": candles, "many": many, "live": live,
    "relationships": relationships, "library": library, "servers": servers}
PAGE = pathlib.Path("docs/benchmarks.md")


def arguments():
    parser = argparse.ArgumentParser(prog="scripts/bench")
    parser.add_argument("--programs", type=pathlib.Path, help=argparse.SUPPRESS)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--only", choices=PARTS, action="append")
    parser.add_argument("--rows", type=int)
    parser.add_argument("--runs", type=int)
    parser.add_argument("--folder", type=pathlib.Path, default=pathlib.Path("bench-out"))
    options = parser.parse_args()
    if options.write and (options.quick or options.rows):
        parser.error("--write needs stores of full size")
    if options.rows and options.rows % 10_000:
        parser.error("--rows is a multiple of 10000, so that every fraction is a whole number")
    options.rows = options.rows or (20_000 if options.quick else 10_000_000)
    options.runs = options.runs or (1 if options.quick else 3)
    return options


def measure(options, folder):
    """Measures and prints the parts. Returns their goals."""
    shop, goals = Workshop(options.programs.resolve(), folder, options.rows, options.runs), []
    # A copy shows that the page can be written.
    page = pathlib.Path(shutil.copy(PAGE, folder)) if options.quick else PAGE
    facts = report.machine(shop.retention)
    for name in options.only or [name for name in PARTS if name != "servers"]:
        text, limits = PARTS[name].measure(shop)
        print(f"== {name}\n\n{text}\n", flush=True)
        goals += limits
        if options.write or options.quick:
            report.put(page, name, f"{facts} · median of {options.runs} runs\n\n{text}")
    return goals


def main():
    options = arguments()
    # So that the stores are removed.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    options.folder.mkdir(parents=True, exist_ok=True)
    try:
        with tempfile.TemporaryDirectory(prefix="stores-", dir=options.folder.resolve()) as folder:
            goals = measure(options, pathlib.Path(folder))
    finally:
        with contextlib.suppress(OSError):  # It stays if something else is in it.
            options.folder.rmdir()
    if options.quick:
        print("The stores were too small for these figures to mean anything.")
        return 0
    print("== goals\n\n" + report.table(["goal", "at most", "", ""], [
        [goal.what, f"{goal.limit:g}{goal.unit}", f"{report.number(goal.value)}{goal.unit}",
         "missed" if goal.is_missed else "met"] for goal in goals]))
    return 1 if any(goal.is_missed for goal in goals) else 0


if __name__ == "__main__":
    sys.exit(main())
