"""Measures `retention` beside the sqlite3 shell, and the library's batch requests beside other ways to the same rows, in
turn, on copies of the same stores, and prints the ratios.

Started by scripts/bench, which builds the programs first. Only the standard library is used.
"""

import argparse
import contextlib
import os
import pathlib
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

# All points of a store are before this instant, and it is the run's "as of": the figures do not depend on the day.
UNTIL = "2025-01-01T00:00:00Z"
UNTIL_SECONDS = 1735689600
BEGIN, END = "<!-- bench:begin -->", "<!-- bench:end -->"

POLICY = """\
version: 1
store: prices.sqlite
rules:
  - name: bench
    entity: YahooGoldPricePoint
    date_attribute: updateTime
    date_format: unix_seconds
    max_age: {age}min
"""


# The shell gives no room back, and such a file would let the job do it.
CORE_DATA_POLICY = """\
version: 1
store: prices.sqlite
rules:
  - name: bench
    entity: YahooGoldPricePoint
    date_attribute: updateTime
    max_age: {age}min
    reclaim: none
"""

# Core Data's dates begin in 2001.
APPLE_EPOCH_SECONDS = 978307200


class Sample:
    """What one process cost, and what it printed."""

    def __init__(self, wall, usage, printed):
        self.printed = printed.strip()
        self.wall = wall * 1000
        self.cpu = (usage.ru_utime + usage.ru_stime) * 1000
        # Linux counts what this script itself had at the time of the fork, some 15 MB: an upper bound.
        self.memory = usage.ru_maxrss / 1024


class Figure:
    """One row of the result: what was measured, the two sides, and the goal for the quotient or the value."""

    def __init__(self, what, unit, values, baseline=None, goal=None, is_met=None):
        self.what, self.unit, self.values, self.baseline = what, unit, values, baseline
        self.goal, self.is_met = goal, is_met

    @staticmethod
    def spread(values):
        digits = 2 if statistics.median(values) < 10 else 1 if statistics.median(values) < 100 else 0
        if len(values) == 1:
            return f"{values[0]:.{digits}f}"
        return f"{statistics.median(values):.{digits}f} ({min(values):.{digits}f}–{max(values):.{digits}f})"

    @property
    def ratio(self):
        # Pairs were measured one after the other, so that what disturbs the machine disturbs both.
        return statistics.median(a / b for a, b in zip(self.values, self.baseline))

    def cells(self):
        result = "" if self.is_met is None else ("met" if self.is_met(self) else "**missed**")
        return [
            self.what, self.unit, self.spread(self.values),
            self.spread(self.baseline) if self.baseline else "",
            f"{self.ratio:.2f}" if self.baseline else "",
            self.goal or "", result,
        ]


def measure(command, folder, expected=0, output=None):
    """Runs a command to its end; a wrong exit status or a wrong standard output ends the bench."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        command = [str(word) for word in command]
        begin = time.perf_counter()
        process = subprocess.Popen(command, cwd=folder, stdin=subprocess.DEVNULL, stdout=out, stderr=err)
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - begin
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        err.seek(0)
        printed, errors = out.read().decode(), err.read().decode()
        if process.returncode != expected or (output is not None and printed.strip() != output):
            sys.exit(f"bench: {' '.join(command)}: exit status {process.returncode}\n{printed}{errors}")
        return Sample(wall, usage, printed)


class Bench:
    def __init__(self, programs, folder, runs, rows, large_rows):
        self.retention, self.goldprices = programs / "retention", programs / "goldprices"
        self.storebench = programs / "storebench"
        self.folder, self.runs, self.rows, self.large_rows = folder, runs, rows, large_rows
        self.figures, self.library_figures = [], []

    def note(self, text):
        print(text, file=sys.stderr, flush=True)

    def store(self, rows, order="time"):
        """A store of that size; made once."""
        path = self.folder / f"{order}-{rows}.sqlite"
        if not path.exists():
            self.note(f"making {rows:,} points in {order} order")
            measure([self.goldprices, path, "--rows", rows, "--until", UNTIL, "--order", order], self.folder)
        return path

    def work_folder(self, store, age, policy=POLICY):
        """A fresh folder with a copy of the store and a policy that keeps `age` minutes."""
        folder = self.folder / "work"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        shutil.copyfile(store, folder / "prices.sqlite")
        (folder / "retention.yaml").write_text(policy.format(age=age))
        # A policy that others may write is refused when run as root.
        (folder / "retention.yaml").chmod(0o644)
        os.sync()
        return folder

    def sqlite(self, folder, sql):
        return ["sqlite3", "-batch", folder / "prices.sqlite", sql]

    def run(self, *options):
        return [self.retention, "run", "--as-of", UNTIL, "--quiet", *options]

    def check(self, folder, left):
        """Both sides must have left the same rows."""
        rows = self.sqlite(folder, "SELECT count(*) FROM YahooGoldPricePoint")
        measure(rows, folder, output=str(left))

    def delete(self, rows, order, percent):
        """One side after the other deletes the oldest `percent` of a store."""
        store, kept = self.store(rows, order), rows - rows * percent // 100
        cutoff = UNTIL_SECONDS - kept * 60
        statement = (
            "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; "
            f"DELETE FROM YahooGoldPricePoint WHERE updateTime < {cutoff}")
        ours, theirs = [], []
        self.note(f"deleting {percent} % of {rows:,} points in {order} order, {self.runs} times")
        for _ in range(self.runs):
            folder = self.work_folder(store, kept)
            theirs.append(measure(self.sqlite(folder, statement), folder))
            self.check(folder, kept)
            folder = self.work_folder(store, kept)
            ours.append(measure(self.run(), folder))
            self.check(folder, kept)
        return ours, theirs

    def measure_all(self):
        add, peaks = self.figures.append, {}
        for rows, order, percent in [
            (self.rows, "time", 50), (self.rows, "time", 10), (self.rows, "time", 90), (self.rows, "random", 50),
            (self.large_rows, "time", 50),
        ]:
            ours, theirs = self.delete(rows, order, percent)
            what = f"delete {percent} % of {rows:,}, {order} order"
            has_goal = (order, percent, rows) == ("time", 50, self.rows)
            add(Figure(
                what, "CPU ms", [s.cpu for s in ours], [s.cpu for s in theirs],
                "ratio ≤ 1.25" if has_goal else None, (lambda f: f.ratio <= 1.25) if has_goal else None))
            add(Figure(what, "wall ms", [s.wall for s in ours], [s.wall for s in theirs]))
            if order == "time" and percent == 50:
                peaks[rows] = [s.memory for s in ours]
                add(Figure(
                    what, "peak MB", peaks[rows], goal="≤ 32 MB", is_met=lambda f: statistics.median(f.values) <= 32))
        small, large = statistics.median(peaks[self.rows]), statistics.median(peaks[self.large_rows])
        add(Figure(
            "peak memory, large store over small", "ratio", [large / small], goal="≤ 1.10",
            is_met=lambda f: f.values[0] <= 1.10))

        rows = self.large_rows
        folder = self.work_folder(self.store(rows), rows + 1)
        self.note(f"nothing expired in {rows:,} points")
        nothing = [measure(self.run(), folder) for _ in range(2 * self.runs + 1)]
        self.check(folder, rows)
        add(Figure(
            f"run over {rows:,}, nothing expired", "wall ms", [s.wall for s in nothing],
            goal="≤ 40 ms", is_met=lambda f: statistics.median(f.values) <= 40))

        kept = rows // 2
        folder = self.work_folder(self.store(rows), kept)
        count = f"SELECT count(*) FROM YahooGoldPricePoint WHERE updateTime < {UNTIL_SECONDS - kept * 60}"
        self.note(f"dry run over {rows:,} points")
        ours, theirs = [], []
        for _ in range(self.runs):
            theirs.append(measure(self.sqlite(folder, count), folder, output=str(rows - kept)))
            ours.append(measure(self.run("--dry-run"), folder))
        self.check(folder, rows)
        add(Figure(
            f"dry run over {rows:,}, half expired; beside the same count", "wall ms",
            [s.wall for s in ours], [s.wall for s in theirs], "≤ 1.3 × + 60 ms",
            lambda f: statistics.median(f.values) <= 1.3 * statistics.median(f.baseline) + 60))

    def core_data_store(self, shape):
        """A Core Data store of prices; made once."""
        path = self.folder / f"core-data-{shape}.sqlite"
        if not path.exists():
            self.note(f"making a Core Data store of {self.rows:,} points, relationship {shape}")
            measure([
                self.goldprices, path, "--core-data", "--relationship", shape, "--rows", self.rows, "--until", UNTIL,
            ], self.folder)
        return path

    def with_foreign_key(self, store):
        """The same rows with the model's cascade declared as a foreign key, for the shell."""
        path = self.folder / "foreign-key.sqlite"
        shutil.copyfile(store, path)
        measure(["sqlite3", "-batch", path, """
            CREATE TABLE detail (Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER,
                ZPOINT INTEGER REFERENCES ZYAHOOGOLDPRICEPOINT (Z_PK) ON DELETE CASCADE, ZSOURCE VARCHAR);
            INSERT INTO detail SELECT * FROM ZPRICEDETAIL; DROP TABLE ZPRICEDETAIL;
            ALTER TABLE detail RENAME TO ZPRICEDETAIL;
            CREATE INDEX ZPRICEDETAIL_ZPOINT_INDEX ON ZPRICEDETAIL (ZPOINT); VACUUM"""], self.folder)
        return path

    def measure_core_data(self):
        """Half of a Core Data store, without relationships and with a one-to-one cascade."""
        kept = self.rows // 2
        cutoff = UNTIL_SECONDS - APPLE_EPOCH_SECONDS - kept * 60
        statement = (
            "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA foreign_keys = ON; "
            f"DELETE FROM ZYAHOOGOLDPRICEPOINT WHERE ZUPDATETIME < {cutoff}")
        count = "SELECT count(*) FROM ZYAHOOGOLDPRICEPOINT"
        for shape, what, goal in [
            ("none", "no relationship", 1.25), ("detail", "one-to-one cascade; ON DELETE CASCADE", 1.3),
        ]:
            store = self.core_data_store(shape)
            plain = store if shape == "none" else self.with_foreign_key(store)
            ours, theirs = [], []
            self.note(f"Core Data, {what}: deleting 50 % of {self.rows:,}, {self.runs} times")
            for _ in range(self.runs):
                for command, source, kept_samples in [
                    (lambda folder: self.sqlite(folder, statement), plain, theirs),
                    (lambda folder: self.run(), store, ours),
                ]:
                    folder = self.work_folder(source, kept, CORE_DATA_POLICY)
                    kept_samples.append(measure(command(folder), folder))
                    measure(self.sqlite(folder, count), folder, output=str(kept))
            title = f"Core Data, {what}: delete 50 % of {self.rows:,}"
            self.figures.append(Figure(
                title, "CPU ms", [s.cpu for s in ours], [s.cpu for s in theirs], f"ratio ≤ {goal}",
                lambda f, goal=goal: f.ratio <= goal))
            self.figures.append(Figure(title, "peak MB", [s.memory for s in ours]))

    def library_pair(self, source, ours, theirs, arguments, output, left):
        """One command of storebench after the other, each on a copy of the same store; they print the same number."""
        samples = [], []
        for _ in range(self.runs):
            for command, kept in zip((theirs, ours), samples):
                folder = self.work_folder(source, 1)
                kept.append(measure(
                    [self.storebench, command, folder / "prices.sqlite", *arguments], folder, output=str(output)))
                self.check(folder, left)
        return samples[1], samples[0]

    def measure_library(self):
        """The library's batch requests beside other ways to the same rows."""
        add, rows, half = self.library_figures.append, self.rows, self.rows // 2
        store = self.store(rows)
        self.note(f"library: deleting {half:,} of {rows:,}, {self.runs} times")
        ours, theirs = self.library_pair(
            store, "delete-batch", "delete-classic", [UNTIL_SECONDS - half * 60], half, rows - half)
        what = f"delete {half:,} of {rows:,}: batch delete; classic delete"
        add(Figure(
            what, "CPU ms", [s.cpu for s in ours], [s.cpu for s in theirs], "ratio ≤ 0.40", lambda f: f.ratio <= 0.4))
        add(Figure(what, "peak MB", [s.memory for s in ours], [s.memory for s in theirs]))

        self.note(f"library: inserting {rows:,}, {self.runs} times")
        ours, theirs = self.library_pair(self.store(0), "insert-batch", "insert-grdb", [rows], rows, rows)
        what = f"insert {rows:,}: batch insert; prepared statement through GRDB"
        add(Figure(
            what, "CPU ms", [s.cpu for s in ours], [s.cpu for s in theirs], "ratio ≤ 1.5", lambda f: f.ratio <= 1.5))
        add(Figure(what, "wall ms", [s.wall for s in ours], [s.wall for s in theirs]))
        add(Figure(what, "peak MB", [s.memory for s in ours], [s.memory for s in theirs]))

        ids, held = rows // 10, rows // 100
        self.note(f"library: merging {ids:,} deleted IDs")
        command = [self.storebench, "merge", store, "--ids", ids, "--held", held]
        merges = [float(measure(command, self.folder).printed) for _ in range(self.runs)]
        add(Figure(
            f"merge {ids:,} deleted IDs into a context that holds {held:,} of them", "wall ms", merges,
            goal="≤ 50 ms", is_met=lambda f: statistics.median(f.values) <= 50))


def facts(runs):
    """What the figures were measured on; nothing that names the machine."""
    model = "unknown CPU"
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            model = " ".join(line.split(":", 1)[1].split())
            break
    sqlite = subprocess.run(["sqlite3", "--version"], capture_output=True, text=True, check=True).stdout.split()[0]
    swift = subprocess.run(["swift", "--version"], capture_output=True, text=True, check=True).stdout
    swift = swift.split("Swift version ", 1)[-1].split()[0]
    kernel = ".".join(platform.release().split("-")[0].split(".")[:2])
    return (
        f"{time.strftime('%Y-%m-%d', time.gmtime())} · {model}, {os.cpu_count()} cores · Linux {kernel} · "
        f"SQLite {sqlite} · Swift {swift}, release build · median (lowest–highest) of {runs} runs")


def table(figures, ours, theirs):
    rows = [["what", "", ours, theirs, "ratio", "goal", ""], *(f.cells() for f in figures)]
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = ["| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths)) + " |" for row in rows]
    lines.insert(1, "|" + "|".join("-" * (width + 2) for width in widths) + "|")
    return "\n".join(lines)


def write(text):
    """Puts the text between the markers of docs/benchmarks.md."""
    page = pathlib.Path("docs/benchmarks.md")
    before, rest = page.read_text().split(BEGIN, 1)
    after = rest.split(END, 1)[1]
    page.write_text(f"{before}{BEGIN}\n{text}\n{END}{after}")


def main():
    parser = argparse.ArgumentParser(prog="scripts/bench")
    parser.add_argument("--programs", type=pathlib.Path, required=True, help=argparse.SUPPRESS)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--library", action="store_true")
    parser.add_argument("--runs", type=int)
    parser.add_argument("--folder", type=pathlib.Path, default=pathlib.Path("bench-out"))
    options = parser.parse_args()
    if options.write and options.library:
        parser.error("--write needs all figures, and --library leaves some out")
    runs = options.runs or (2 if options.quick else 5)
    rows, large_rows = (20_000, 100_000) if options.quick else (1_000_000, 5_000_000)

    options.folder.mkdir(parents=True, exist_ok=True)
    folder = pathlib.Path(tempfile.mkdtemp(prefix="stores-", dir=options.folder.resolve()))
    try:
        bench = Bench(options.programs.resolve(), folder, runs, rows, large_rows)
        if not options.library:
            bench.measure_all()
            bench.measure_core_data()
        bench.measure_library()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        with contextlib.suppress(OSError):  # It stays if something else is in it.
            options.folder.rmdir()
    tables = [] if options.library else [table(bench.figures, "`retention`", "`sqlite3`")]
    tables.append("The library:\n\n" + table(bench.library_figures, "batch", "beside it"))
    text = "\n\n".join([facts(runs), *tables])
    print(text)
    if options.quick:
        print("\nThe stores were too small for these figures to mean anything.")
        return 0
    if options.write:
        write(text)
    figures = bench.figures + bench.library_figures
    missed = [f"{f.what} ({f.unit})" for f in figures if f.is_met and not f.is_met(f)]
    if missed:
        print(f"\nbench: goals missed: {'; '.join(missed)}", file=sys.stderr)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
