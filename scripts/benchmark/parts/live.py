"""A writer and a reader at work while the rows go."""

import subprocess
import time

from ..measuring import end, measure
from ..schemas import UNTIL_SECONDS
from ..workshop import SHELL, TECHNIQUES, schema

NO_PAUSE = "    batch: { pause: none }\n"
# Quantiles of the latencies that go into the result: every half per cent, and the last one finely.
QUANTILES = [q / 1000 for q in [*range(0, 990, 5), *range(990, 1001)]]


class Companion:
    """A process that works at a beat until it is told to stop."""

    def __init__(self, command, folder):
        self.process = subprocess.Popen(
            [str(word) for word in command], cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        if self.process.stdout.readline().strip() != "ready":
            end("the companion did not start")

    def stop(self):
        """Ends it and returns (planned, latency) of each turn, in nanoseconds."""
        out, _ = self.process.communicate(input="")
        if self.process.returncode != 0:
            end(f"the companion ended with {self.process.returncode}")
        return [tuple(map(int, line.split())) for line in out.splitlines() if line]


def quantiles(values):
    """The values at QUANTILES (the nearest rank)."""
    values = sorted(values)
    return [values[min(len(values) - 1, max(0, round(q * len(values)) - 1))] for q in QUANTILES]


def milliseconds(turns, began, finished):
    """The latencies of the turns that were planned while the job ran, or of the next one: it may have been over sooner."""
    later = [(planned, latency) for planned, latency in turns if began <= planned]
    return [latency / 1e6 for planned, latency in later if planned <= max(finished, later[0][0])]


def measure_live(workshop):
    rows, shape = workshop.options.live_rows, schema("S2")
    store, kept = workshop.store(shape, rows), shape.kept(rows, 50)
    sides = {
        "nobody": lambda folder: ["sleep", "2"],
        "shell": lambda folder: workshop.shell(
            # The shell waits as long as the job does.
            folder, "PRAGMA busy_timeout = 60000; " + SHELL + shape.delete(kept)),
        "no_pause": lambda folder: workshop.job("--technique", "range"),
        "job": lambda folder: workshop.job(),
    }
    found = {side: [] for side in sides}
    for run in range(workshop.options.live_runs):
        for side, command in sides.items() if run % 2 == 0 else reversed(sides.items()):
            workshop.note(f"S2: 50 % of {rows:,} rows expired beside a writer and a reader; {side}")
            folder = workshop.work_folder(store, shape.policy(kept, NO_PAUSE if side == "no_pause" else ""))
            found[side].append(one_run(workshop, folder, command(folder)))
            if side != "nobody":
                left = f"SELECT count(*) FROM {shape.table} WHERE {shape.date} < {UNTIL_SECONDS}"
                measure(workshop.shell(folder, left), folder, output=str(kept))
    for side, samples in found.items():
        workshop.result.add(
            {name: [sample[name] for sample in samples] for name in samples[0]},
            part="live", schema="S2", rows=rows, percent=50, side=side)


def one_run(workshop, folder, command):
    path = folder / "prices.sqlite"
    writer = Companion([workshop.storebench, "live-writer", path, "--from", UNTIL_SECONDS], folder)
    reader = Companion([workshop.storebench, "live-reader", path, "--from", UNTIL_SECONDS - 3600], folder)
    time.sleep(0.3)
    sample = measure(command, folder, watched=True)
    # A write that was planned before the end may still be waiting.
    time.sleep(0.1)
    writes, reads = (
        milliseconds(companion.stop(), sample.began, sample.ended) for companion in (writer, reader))
    return {
        **sample.figures(), "writes": len(writes), "reads": len(reads),
        "writer_ms": [round(value, 3) for value in quantiles(writes)],
        "reader_ms": [round(value, 3) for value in quantiles(reads)],
    }


def measure_random_in_company(workshop):
    """Half of the rows in random order, while somebody else reads."""
    rows, shape = workshop.options.rows, schema("R")
    kept = shape.kept(rows, 50)
    workshop.note(f"R: 50 % of {rows:,} rows expired beside a reader")
    samples, strategies = workshop.in_turn(
        [(side, lambda side=side: beside_reader(workshop, side, shape, rows, kept)) for side in ("shell", "job")],
        workshop.options.runs)
    for side in ("shell", "job"):
        workshop.result.add(
            samples[side], part="company", schema="R", rows=rows, percent=50, side=side,
            strategy=strategies.get(side))


def beside_reader(workshop, side, shape, rows, kept):
    folder = workshop.work_folder(workshop.store(shape, rows), shape.policy(kept))
    reader = Companion(
        [workshop.storebench, "live-reader", folder / "prices.sqlite", "--from", UNTIL_SECONDS - 3600], folder)
    time.sleep(0.1)
    if side == "shell":
        sample, taken = measure(workshop.shell(folder, SHELL + shape.delete(kept)), folder, watched=True), None
    else:
        sample = measure(workshop.job(), folder, watched=True)
        taken = TECHNIQUES.get(workshop.rule(sample)["method"])
    reader.stop()
    workshop.check(folder, shape, kept)
    return sample, taken
