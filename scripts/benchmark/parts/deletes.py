"""The job beside the shell's single DELETE, and beside two other programs."""

from ..report import Goal, Section, median, number, ratio, table
from ..stores import SCHEMAS, count

# Store and how many times the standard rows; expired per cent, with the most that the job's CPU time may be of the shell's.
# The store in random order is small: there the shell takes a hundred times as long.
CASES = {
    ("S1", 1): {0: None, 1: None, 10: 1.25, 50: 1.10, 90: 0.30},
    ("S2", 1): {50: 1.10}, ("S3", 1): {50: 1.35}, ("S4", 1): {50: 1.35}, ("S5", 1): {50: 1.35}, ("S6", 1): {50: 1.10},
    ("R", 0.1): {50: 0.30}, ("S1", 5): {1: 1.15, 10: 0.95},
}
PEERS = {
    "delete-in-chunks": "select 4,000 keys and delete their rows, again and again",
    "delete-one-by-one": "load every row as an object and delete one by one"}


def measure(shop):
    lines, goals, standard = [], [], {}
    for (name, times), percents in CASES.items():
        schema, rows = SCHEMAS[name], int(times * shop.rows)
        for percent, limit in percents.items():
            samples = shop.deletes(("shell", "job"), schema, rows, percent)
            if (name, times) == ("S1", 1):
                standard[percent] = samples
            if percent:
                add(shop, f"{count(rows)} rows, {schema.what}", percent, limit, samples, lines, goals)
        if (name, times) != ("S1", 1):  # Other parts need that one.
            shop.forget(schema, rows)
    heads = [
        "store", "expired", "how", "job, s", "shell, s", "wall ratio", "CPU ratio", "memory MB, job / shell",
        "WAL peak MB, job / shell"]
    return Section("\n\n".join([table(heads, lines), slopes(shop.rows, standard), peers(shop)]), goals)


def add(shop, where, percent, limit, samples, lines, goals):
    job, shell = samples["job"], samples["shell"]
    method = shop.method(job[0])
    lines.append([
        where, f"{percent} %", method, *(number(median(side, "wall_ms") / 1000) for side in (job, shell)),
        *(f"{ratio(job, shell, figure):.2f}" for figure in ("wall_ms", "cpu_ms")),
        *(f"{number(median(job, figure))} / {number(median(shell, figure))}" for figure in ("memory_mb", "wal_mb"))])
    if limit:
        goals.append(Goal(f"{where}, {percent} %: CPU ratio", limit, ratio(job, shell, "cpu_ms")))
    if method == "range batches":
        goals.append(Goal(f"{where}, {percent} %: memory", 22, median(job, "memory_mb"), " MB"))


def slopes(rows, standard):
    """CPU time as a sum of three: what every run costs, what each row costs that stays, and each that goes.

    The first is measured with nothing expired; the others follow from 1 % and 50 %.
    """
    lines = []
    for side, what in (("job", "`retention run`"), ("shell", "`DELETE` in the shell")):
        fixed, one, half = (median(standard[percent][side], "cpu_ms") for percent in (0, 1, 50))
        gone = (0.99 * (half - fixed) - 0.5 * (one - fixed)) / (0.99 * 0.5 - 0.5 * 0.01) / (rows / 1e6)
        stays = ((one - fixed) / (rows / 1e6) - 0.01 * gone) / 0.99
        lines.append([what, *map(number, (fixed, stays, gone))])
    return (
        f"CPU time in parts, from {count(rows)} rows with a date index and 0, 1 and 50 % expired:\n\n" + table(
            ["", "every run, ms", "a million rows that stay, ms", "a million rows that go, ms"], lines))


def peers(shop):
    """10 % of the standard store by two other programs."""
    samples = shop.deletes(("shell", "job", *PEERS), SCHEMAS["S1"], shop.rows, 10)
    words = {"shell": "`DELETE` in the shell", "job": "`retention run`", **PEERS}
    return f"10 % of {count(shop.rows)} rows, {SCHEMAS['S1'].what}, by other programs:\n\n" + table(
        ["", "wall, s", "CPU, s", "CPU ratio", "memory MB", "WAL peak MB"], [
            [words[side], *(number(median(found, figure) / 1000) for figure in ("wall_ms", "cpu_ms")),
             f"{ratio(found, samples['shell'], 'cpu_ms'):.2f}",
             *(number(median(found, figure)) for figure in ("memory_mb", "wal_mb"))]
            for side, found in samples.items()])
