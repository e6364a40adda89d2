"""A writer and a reader at work while the rows go."""

import json
import pathlib
import subprocess
import sys
import time
from statistics import median as middle

from ..measuring import end, measure as run
from ..report import Goal, median, number, quantile, ratio, table
from ..stores import ENTITY, SCHEMAS, UNTIL_SECONDS, count

PROGRAM = pathlib.Path(__file__).parent.parent / "companion.py"
# The points are a minute apart; the newest ones are counted.
WRITE = (
    f"INSERT INTO {ENTITY} (symbol, updateTime, price, open, high, low, volume) "
    f"VALUES ('XAUUSD', {UNTIL_SECONDS} + 60 * :turn, 2400, 2400, 2401, 2399, 1)")
READ = f"SELECT count(*) FROM {ENTITY} WHERE updateTime >= {UNTIL_SECONDS - 3600}"
SIDES = {
    "nobody": "nobody deletes", "shell": "`DELETE` in the shell", "job": "`retention run`",
    "archive": "the same, with an archive"}
HEADS = ["", "wall, s", "WAL peak MB", "writer p50, ms", "p99", "worst", "reader p50, ms", "p99", "worst"]


class Companion:
    """A process that runs a statement at a beat until it is told to stop."""

    def __init__(self, path, milliseconds, statement):
        self.process = subprocess.Popen(
            [sys.executable, PROGRAM, path, str(milliseconds), statement], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            text=True)
        if self.process.stdout.readline().strip() != "ready":
            end("the companion did not start")

    def stop(self, began, ended):
        """Ends it. Returns the latencies of the turns planned between two times, or of the next one."""
        out, _ = self.process.communicate(input="")
        if self.process.returncode != 0:
            end(f"the companion ended with {self.process.returncode}")
        later = [(planned, late) for planned, late in json.loads(out) if planned >= began * 1e9]
        return [late / 1e6 for planned, late in later if planned <= max(ended * 1e9, later[0][0])]


def beside(shop, schema, rows, percent, side):
    """One run of a side, beside a row written every 5 ms and a count every 50 ms."""
    kept = schema.kept(rows, percent)
    folder = shop.work_folder(schema, rows, kept, side)
    companions = [Companion(folder / "prices.sqlite", *work) for work in ((5, WRITE), (50, READ))]
    time.sleep(0.3)
    sample = run(["sleep", "2"] if side == "nobody" else shop.command(side, schema, kept), folder)
    # A write that was planned before the end may still be waiting.
    time.sleep(0.1)
    sample.writes, sample.reads = (companion.stop(sample.began, sample.ended) for companion in companions)
    if side != "nobody":
        run(shop.shell(schema.count(kept)), folder, output="0")
    return sample


def latencies(samples, actor):
    """Quantiles of the writes or reads, each the median of the runs."""
    return [middle(quantile(getattr(sample, actor), share) for sample in samples) for share in (0.5, 0.99, 1)]


def compare(shop, schema, rows, percent):
    """Every side in turn: the samples, and the lines of a table."""
    shop.note(f"{schema.name}: {percent} % of {rows:,} rows expired, beside a writer and a reader")
    found = shop.in_turn(SIDES, lambda side: beside(shop, schema, rows, percent, side))
    return found, [line(side, samples) for side, samples in found.items()]


def line(side, samples):
    costs = [number(median(samples, "wall_ms") / 1000), number(median(samples, "wal_mb"))]
    return [
        SIDES[side], *(["", ""] if side == "nobody" else costs),
        *(number(value) for actor in ("writes", "reads") for value in latencies(samples, actor))]


def measure(shop):
    schema, rows = SCHEMAS["S2"], shop.rows * 3 // 10
    found, lines = compare(shop, schema, rows, 50)
    goals = [Goal("beside a writer: wall ratio", 2.2, ratio(found["job"], found["shell"], "wall_ms"))]
    for side, words in (("job", "beside a writer"), ("archive", "beside a writer, with an archive")):
        _, p99, worst = latencies(found[side], "writes")
        goals += [
            Goal(f"{words}: the writer's p99", 12, p99, " ms"), Goal(f"{words}: the writer's worst", 20, worst, " ms")]
    return f"{count(rows)} rows, {schema.what}, 50 % expired:\n\n{table(HEADS, lines)}", goals
