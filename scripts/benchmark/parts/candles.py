"""Ticks that become candles of a minute beside the best statements by hand, and a writer meanwhile."""

from dataclasses import replace

from ..report import COSTS, Goal, cost_heads, medians, number, ratio, ratios, table
from ..stores import ENTITY, SYMBOLS, Schema, count
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
SUMS = (
    "SELECT count(*), sum(count), sum(volume), round(sum(open), 3), round(sum(high), 3), round(sum(low), 3), "
    f"round(sum(close), 3), sum(open_time), sum(close_time), round(sum(price_volume), 0) FROM candle; "
    f"SELECT count(*), sum(id) FROM {ENTITY}")
ROLLED = replace(
    PLAIN, sql=BY_HAND, sums=SUMS,
    rule="    rollup: { into: candle, every: 1min, per: [symbol], price: price, volume: volume }\n")
PERCENT = 50


def measure(shop):
    # Half of them are whole minutes.
    rows = shop.rows * 6 // 25
    what = f"{count(rows * PERCENT // 100)} ticks to minutes"
    job, shell = shop.deletes(("job", "shell"), ROLLED, rows, ROLLED.kept(rows, PERCENT)).values()
    text = table([*cost_heads("job", "shell"), "CPU ratio"], [
        [what, *medians((job, shell), *COSTS), *ratios(job, shell, "cpu_ms")]])
    shop.note(f"{what}, beside a writer and a reader; with and without rollup")
    schemas = {"with rollup": ROLLED, "without": PLAIN}
    sides = shop.in_turn(schemas, lambda name: beside(shop, schemas[name], rows, PERCENT, "job"))
    writes = {name: latencies(samples, "writes") for name, samples in sides.items()}
    lines = [[name, *map(number, values)] for name, values in writes.items()]
    return f"{text}\n\nA writer meanwhile, in ms:\n\n" + table(["", "p50", "p99", "worst"], lines), [
        Goal(f"{what}: CPU ratio", 1.5, ratio(job, shell, "cpu_ms")),
        Goal(f"{what}: the writer's p99 beside that of a run without", 1.25,
             writes["with rollup"][1] / writes["without"][1])]
