"""The command line: what is measured, what is printed, which files are written."""

import argparse
import contextlib
import pathlib
import shutil
import signal
import sys
import tempfile
import time

from . import goals, page
from .check import check
from .parts.deletes import measure_deletes
from .parts.dropping import measure_dropping, measure_partitions
from .parts.library import measure_cascade, measure_library
from .parts.live import measure_live, measure_random_in_company
from .parts.profile import measure_profiles
from .parts.starts import measure_dry_runs, measure_starts
from .parts.strategies import measure_strategies
from .result import Result, machine_facts
from .workshop import Workshop

# In this order, so that what needs a quiet machine most comes first.
PARTS = {
    "starts": (measure_starts, measure_dry_runs),
    "deletes": (measure_deletes,),
    "live": (measure_live, measure_random_in_company),
    "strategies": (measure_strategies,),
    "library": (measure_cascade, measure_library),
    "dropping": (measure_dropping, measure_partitions),
    "profile": (measure_profiles,),
}
DOCS = pathlib.Path("docs")


def sizes(options):
    """Rows of the stores and counts of runs."""
    options.rows = options.rows or (20_000 if options.quick else 1_000_000)
    options.large_rows, options.live_rows = 5 * options.rows, 3 * options.rows
    options.runs = options.runs or (1 if options.quick else 5)
    options.live_runs = options.library_runs = min(3, options.runs)
    options.strategy_runs = min(2, options.runs)


def arguments():
    parser = argparse.ArgumentParser(prog="scripts/bench")
    parser.add_argument("--programs", type=pathlib.Path, help=argparse.SUPPRESS)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--large", action="store_true")
    parser.add_argument("--only", choices=PARTS, action="append")
    parser.add_argument("--page", type=pathlib.Path)
    parser.add_argument("--result", type=pathlib.Path)
    parser.add_argument("--rows", type=int)
    parser.add_argument("--runs", type=int)
    parser.add_argument("--folder", type=pathlib.Path, default=pathlib.Path("bench-out"))
    options = parser.parse_args()
    if options.write and (options.only or options.quick or options.rows):
        parser.error("--write needs all figures, of stores of full size")
    if options.rows and options.rows % 1000:
        parser.error("--rows is a multiple of 1000, so that every fraction is a whole number")
    sizes(options)
    return options


def measure_all(options):
    """Measures the parts; the stores are gone afterwards."""
    programs = options.programs.resolve()
    retention = programs / "retention"
    result = Result(machine_facts(
        retention, runs=options.runs, rows=options.rows, large_rows=options.large_rows))
    options.folder.mkdir(parents=True, exist_ok=True)
    folder = pathlib.Path(tempfile.mkdtemp(prefix="stores-", dir=options.folder.resolve()))
    began = time.monotonic()
    try:
        workshop = Workshop(retention, programs, folder, options, result)
        for name, measures in PARTS.items():
            if options.only is None or name in options.only:
                for measure_part in measures:
                    measure_part(workshop)
                if options.result:  # What was measured so far stays if the bench is stopped.
                    result.write(options.result)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        with contextlib.suppress(OSError):  # It stays if something else is in it.
            options.folder.rmdir()
    result.facts["minutes"] = round((time.monotonic() - began) / 60, 1)
    return result


def main():
    options = arguments()
    if options.page:
        page.write_all(Result.read(options.page), DOCS)
        return 0
    # So that the stores are removed.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    result = measure_all(options)
    if options.result:
        result.write(options.result)
    print(page.text(result, is_judged=not options.quick))
    if options.quick:
        if not options.only:
            check(result, DOCS)
        print("\nThe stores were too small for these figures to mean anything.")
        return 0
    if options.write:
        result.write(DOCS / "benchmarks.json")
        # Drawn from the file, as a later --page would.
        page.write_all(Result.read(DOCS / "benchmarks.json"), DOCS)
    missed = [goal.what for goal in goals.judge(result) if goal.is_missed]
    if missed:
        print(f"\nbench: goals missed: {'; '.join(missed)}", file=sys.stderr)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
