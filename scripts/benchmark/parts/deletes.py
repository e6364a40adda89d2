"""The job beside the shell's single DELETE, and beside another program."""

import json

from ..report import COSTS, Goal, median, medians, number, ratio, ratios, table
from ..stores import SCHEMAS, count

# Store and how many times the standard rows; expired per cent, with the most that the job's CPU time may be of the shell's.
# The store in random order is small: there the shell takes a hundred times as long.
CASES = {
    ("S1", 1): {0: None, 1: None, 10: 1.25, 50: 1.10, 90: 0.30},
    ("S2", 1): {50: 1.10}, ("S3", 1): {50: 1.35}, ("S4", 1): {50: 1.35}, ("S5", 1): {50: 1.35}, ("S6", 1): {50: 1.10},
    ("R", 0.1): {50: 0.30}, ("S1", 5): {1: 1.15, 10: 0.95},
}
SIDES = {
    "job": "`retention run`", "shell": "`DELETE` in the shell",
    "chunks": "select 4,000 keys and delete their rows, again and again"}


def measure(shop):
    lines, goals, standard = [], [], {}
    for (name, times), percents in CASES.items():
        schema, rows = SCHEMAS[name], int(times * shop.rows)
        for percent, limit in percents.items():
            samples = shop.deletes(("shell", "job"), schema, rows, schema.kept(rows, percent))
            if (name, times) == ("S1", 1):
                standard[percent] = samples
            if percent:
                add(shop, f"{count(rows)} rows, {schema.what}", percent, limit, samples, lines, goals)
    heads = [
        "store", "expired", "how", "job, s", "shell, s", "wall ratio", "CPU ratio", "memory MB, job / shell",
        "WAL peak MB, job / shell"]
    return "\n\n".join([table(heads, lines), slopes(shop.rows, standard), peers(shop)]), goals


def add(shop, where, percent, limit, samples, lines, goals):
    job, shell = samples["job"], samples["shell"]
    method = json.loads(job[0].printed)["rules"][0]["method"]
    lines.append([
        where, f"{percent} %", method, *medians((job, shell), "wall_ms", divisor=1000),
        *ratios(job, shell, *COSTS),
        *(" / ".join(medians((job, shell), figure)) for figure in ("memory_mb", "wal_mb"))])
    if limit:
        goals.append(Goal(f"{where}, {percent} %: CPU ratio", limit, ratio(job, shell, "cpu_ms")))
    if method == "range batches":
        goals.append(Goal(f"{where}, {percent} %: memory", 22, median(job, "memory_mb"), " MB"))


def slopes(rows, standard):
    """CPU time as a sum of three: what every run costs, what each row costs that stays, and each that goes.

    The first is measured with nothing expired; the others follow from 1 % and 50 %.
    """
    lines = []
    for side in ("job", "shell"):
        fixed, one, half = (median(standard[percent][side], "cpu_ms") for percent in (0, 1, 50))
        gone = (0.99 * (half - fixed) - 0.5 * (one - fixed)) / (0.99 * 0.5 - 0.5 * 0.01) / (rows / 1e6)
        stays = ((one - fixed) / (rows / 1e6) - 0.01 * gone) / 0.99
        lines.append([SIDES[side], *map(number, (fixed, stays, gone))])
    return (
        f"CPU time in parts, from {count(rows)} rows with a date index and 0, 1 and 50 % expired:\n\n" + table(
            ["", "every run, ms", "a million rows that stay, ms", "a million rows that go, ms"], lines))


def peers(shop):
    """10 % of the standard store by another program too."""
    schema, rows = SCHEMAS["S1"], shop.rows
    found = shop.deletes(("shell", "job", "chunks"), schema, rows, schema.kept(rows, 10))
    return f"10 % of {count(rows)} rows, {schema.what}, by another program:\n\n" + table(
        ["", "wall, s", "CPU, s", "CPU ratio", "memory MB", "WAL peak MB"], [
            [SIDES[side], *medians([samples], *COSTS, divisor=1000), *ratios(samples, found["shell"], "cpu_ms"),
             *medians([samples], "memory_mb", "wal_mb")] for side, samples in found.items()])
