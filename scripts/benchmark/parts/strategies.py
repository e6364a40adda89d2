"""Every strategy by force, over the expired fraction."""

import time

from ..workshop import NotAvailable, schema

PERCENTS = (10, 30, 50, 70, 90)
STRATEGIES = (
    "auto", "whole", "range", "sorted", "windows", "keys", "rebuild", "rebuild_in_place", "partitions")
# What takes longer than this is measured once: the picture has a logarithmic axis.
LONG_SECONDS = 2


def measure_strategies(workshop):
    rows, runs = workshop.options.rows, workshop.options.strategy_runs
    for name in ("S1", "R"):
        shape = schema(name)
        for percent in PERCENTS:
            workshop.note(f"{name}: every strategy, {percent} % expired")
            samples, taken, missing = {}, {}, set()
            for run in range(runs):
                began = time.monotonic()
                samples.setdefault("shell", []).append(workshop.delete("shell", shape, rows, percent)[0])
                for strategy in STRATEGIES if run % 2 == 0 else reversed(STRATEGIES):
                    if strategy in missing or is_long(samples.get(strategy)):
                        continue
                    try:
                        sample, taken[strategy] = workshop.delete(
                            "job", shape, rows, percent, None if strategy == "auto" else strategy)
                        samples.setdefault(strategy, []).append(sample)
                    except NotAvailable:
                        missing.add(strategy)
            for side in ("shell", *STRATEGIES):
                workshop.result.add(
                    samples.get(side, []), part="strategy", schema=name, rows=rows, percent=percent, side=side,
                    strategy=taken.get(side), **locks(workshop, side, samples.get(side, [])))


def locks(workshop, side, samples):
    """How long a rebuild was to hold the lock, and how long it did, if the job tells."""
    if side == "shell":
        return {}
    rules = [workshop.rule(sample) for sample in samples]
    found = {
        name: [round(rule[key] * 1000, 3) for rule in rules if rule.get(key) is not None]
        for name, key in (("predicted_lock_ms", "predicted_lock_seconds"), ("lock_ms", "lock_seconds"))}
    return found if any(found.values()) else {}


def is_long(samples):
    return bool(samples) and samples[0].wall_ms > LONG_SECONDS * 1000
