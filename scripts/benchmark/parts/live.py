"""A writer and a reader at work while the rows go."""

import subprocess
import time
from dataclasses import dataclass
from statistics import median as middle

from ..measuring import Sample, end, measure as run
from ..report import Goal, Section, median, number, quantile, ratio, table
from ..stores import SCHEMAS, SHELL, UNTIL_SECONDS, count

SIDES = {
    "nobody": "nobody deletes", "shell": "`DELETE` in the shell", "job": "`retention run`",
    "archive": "the same, with an archive"}
HEADS = ["", "wall, s", "WAL peak MB", "writer p50, ms", "p99", "worst", "reader p50, ms", "p99", "worst"]


@dataclass
class Live(Sample):
    """A sample, and the latencies of the writer and of the reader meanwhile, in milliseconds."""

    writes: list
    reads: list


class Companion:
    """A process that works at a beat until it is told to stop."""

    def __init__(self, command, folder):
        self.process = subprocess.Popen(
            [str(word) for word in command], cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        if self.process.stdout.readline().strip() != "ready":
            end("the companion did not start")

    def stop(self, began, ended):
        """Ends it. Returns the latencies of the turns planned between two times, or of the next one."""
        out, _ = self.process.communicate(input="")
        if self.process.returncode != 0:
            end(f"the companion ended with {self.process.returncode}")
        turns = [tuple(int(word) / 1e6 for word in line.split()) for line in out.splitlines() if line]
        later = [turn for turn in turns if turn[0] >= began * 1000]
        return [latency for planned, latency in later if planned <= max(ended * 1000, later[0][0])]


def beside(shop, schema, rows, percent, side):
    """One run of a side, beside a row written every 5 ms and a count every 50 ms."""
    kept = schema.kept(rows, percent)
    folder = shop.work_folder(schema, rows, kept, archive=side == "archive")
    path = folder / "prices.sqlite"
    writer = Companion([shop.storebench, "live-writer", path, "--from", UNTIL_SECONDS], folder)
    reader = Companion([shop.storebench, "live-reader", path, "--from", UNTIL_SECONDS - 3600], folder)
    time.sleep(0.3)
    # The shell waits as long as the job does.
    shell = shop.shell("PRAGMA busy_timeout = 60000; " + SHELL + schema.statement(kept))
    sample = run({"nobody": ["sleep", "2"], "shell": shell}.get(side) or shop.job(), folder)
    # A write that was planned before the end may still be waiting.
    time.sleep(0.1)
    writes, reads = (companion.stop(sample.began, sample.ended) for companion in (writer, reader))
    if side != "nobody":
        run(shop.shell(schema.count(kept)), folder, output="0")
    return Live(**vars(sample), writes=writes, reads=reads)


def latencies(samples, actor):
    """Quantiles of the writes or reads, each the median of the runs."""
    return [middle(quantile(getattr(sample, actor), share) for sample in samples) for share in (0.5, 0.99, 1)]


def compare(shop, schema, rows, percent):
    """Every side in turn: the samples, and the lines of a table."""
    shop.note(f"{schema.name}: {percent} % of {rows:,} rows expired, beside a writer and a reader")
    found = shop.in_turn({side: lambda side=side: beside(shop, schema, rows, percent, side) for side in SIDES})
    return found, [
        [SIDES[side], *("" if side == "nobody" else number(value) for value in (
            median(samples, "wall_ms") / 1000, median(samples, "wal_mb"))),
         *(number(value) for actor in ("writes", "reads") for value in latencies(samples, actor))]
        for side, samples in found.items()]


def measure(shop):
    schema, rows = SCHEMAS["S2"], shop.rows * 3 // 10
    found, lines = compare(shop, schema, rows, 50)
    goals = [Goal("beside a writer: wall ratio", 2.2, ratio(found["job"], found["shell"], "wall_ms"))]
    for side, words in (("job", "beside a writer"), ("archive", "beside a writer, with an archive")):
        _, p99, worst = latencies(found[side], "writes")
        goals += [
            Goal(f"{words}: the writer's p99", 12, p99, " ms"), Goal(f"{words}: the writer's worst", 20, worst, " ms")]
    return Section(f"{count(rows)} rows, {schema.what}, 50 % expired:\n\n" + table(HEADS, lines), goals)
