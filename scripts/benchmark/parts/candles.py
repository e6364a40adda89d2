"""Ticks that become candles of a minute beside the best statements by hand, and a writer meanwhile."""

from dataclasses import replace

from ..measuring import end, measure as run
from ..report import Goal, Section, median, number, ratio, table
from ..stores import ENTITY, SHELL, SYMBOLS, Schema, count
from .live import beside, latencies

PLAIN = Schema("C", "index (time)", ("--schema", "s1", *SYMBOLS), symbols=10, step=1)
CANDLES = (
    "symbol TEXT, time INTEGER NOT NULL, open REAL, high REAL, low REAL, close REAL, volume INTEGER, count INTEGER, "
    "open_time INTEGER, close_time INTEGER, price_volume REAL, PRIMARY KEY (symbol, time)")
# A bare column is that of the row with the least or the greatest value, so open and close need a pass of their own.
BY_HAND = (
    f"BEGIN IMMEDIATE; CREATE TABLE candle ({CANDLES}); "
    "WITH tick AS (SELECT symbol, updateTime / 60 * 60 AS minute, updateTime, price, volume FROM {table} "
    "WHERE updateTime < {cutoff}), "
    "first AS (SELECT symbol, minute, price, min(updateTime) AS at FROM tick GROUP BY 1, 2), "
    "last AS (SELECT symbol, minute, price, max(updateTime) AS at FROM tick GROUP BY 1, 2), "
    "whole AS (SELECT symbol, minute, max(price) AS high, min(price) AS low, sum(volume) AS volume, count(*) AS count, "
    "sum(price * volume) AS price_volume FROM tick GROUP BY 1, 2) "
    "INSERT INTO candle SELECT symbol, minute, first.price, high, low, last.price, volume, count, first.at, last.at, "
    "price_volume FROM whole JOIN first USING (symbol, minute) JOIN last USING (symbol, minute); "
    "DELETE FROM {table} WHERE {date} < {cutoff}; COMMIT")
ROLLED = replace(
    PLAIN, sql=BY_HAND,
    rule="    rollup: { into: candle, every: 1min, per: [symbol], price: price, volume: volume }\n")
PERCENT = 50
SUMS = (
    "SELECT count(*), sum(count), sum(volume), round(sum(open), 3), round(sum(high), 3), round(sum(low), 3), "
    f"round(sum(close), 3), sum(open_time), sum(close_time), round(sum(price_volume), 0) FROM candle; "
    f"SELECT count(*), sum(id) FROM {ENTITY}")


def roll_up(shop, rows, side, rest):
    """One side makes candles of a fresh copy. Both must leave the same."""
    kept = ROLLED.kept(rows, PERCENT)
    folder = shop.work_folder(ROLLED, rows, kept)
    sample = run(shop.job() if side == "job" else shop.shell(SHELL + ROLLED.statement(kept)), folder)
    rest.add(run(shop.shell(SUMS), folder).printed)
    if len(rest) != 1:
        end(f"the job and the statements leave other candles: {rest}")
    return sample


def measure(shop):
    # Half of them are whole minutes.
    rows = shop.rows * 6 // 25
    what = f"{count(rows * PERCENT // 100)} ticks to minutes"
    shop.note(f"{what}; job, shell")
    rest = set()
    found = shop.in_turn({
        side: lambda side=side: roll_up(shop, rows, side, rest) for side in ("job", "shell")})
    job, shell = found["job"], found["shell"]
    text = table(["", "job, wall ms", "shell, wall ms", "job, CPU ms", "shell, CPU ms", "CPU ratio"], [[
        what, *(number(median(side, figure)) for figure in ("wall_ms", "cpu_ms") for side in (job, shell)),
        f"{ratio(job, shell, 'cpu_ms'):.2f}"]])
    goals = [Goal(f"{what}: CPU ratio", 1.5, ratio(job, shell, "cpu_ms"))]
    shop.note(f"{what}, beside a writer and a reader; with and without rollup")
    sides = shop.in_turn({
        name: lambda schema=schema: beside(shop, schema, rows, PERCENT, "job")
        for name, schema in (("with rollup", ROLLED), ("without", PLAIN))})
    lines = [[name, *(number(value) for value in latencies(samples, "writes"))] for name, samples in sides.items()]
    goals.append(Goal(
        f"{what}: the writer's p99 beside that of a run without", 1.25,
        latencies(sides["with rollup"], "writes")[1] / latencies(sides["without"], "writes")[1]))
    shop.forget(PLAIN, rows)
    return Section(
        f"{text}\n\nA writer meanwhile, in ms:\n\n" + table(["", "p50", "p99", "worst"], lines), goals)
