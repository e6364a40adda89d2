"""The section about PostgreSQL, drawn from the result of scripts/bench-postgres.py."""

from statistics import median, quantiles

from .goals import Goal
from .result import Result
from .words import number, spread, table

# The tables that are deleted from; half of their rows are expired. Each with the limit of the job's wall time over the one
# DELETE on the first of them, and with what it is measured beside.
TABLES = {
    "plain": ("one table, date index", 1.3, {"psql": "`DELETE`"}),
    "parts": ("partitions by month", 0.05, {
        "psql": "`DELETE`", "psql_plain": "`DELETE` on one table", "psql_drop": "count, detach and drop"}),
}


def section(path):
    """The section of a result file, with a blank line before it; nothing if there is no file."""
    return "\n\n" + text(Result.read(path)) if path.exists() else ""


def text(result, is_judged=True):
    known = result.facts
    lines = [
        "## PostgreSQL", "",
        f"{known['date']} · {known['processor']}, {known['cores']} cores, {known['memory_gb']} GB · PostgreSQL "
        f"{known['postgresql']} · {known['rows']:,} rows, half of them expired · median (lowest–highest) of "
        f"{known['runs']} runs, ratios of neighbours", "",
        "The job is measured beside `psql` on copies of the same database: one `DELETE` of the same rows; and for partitions a "
        "script that counts the expired ones, detaches and drops them, which is what the job does.", "",
        table(["", "beside", "job, wall ms", "`psql`, wall ms", "ratio"], list(deletes(result))), "",
        "With a writer that adds a row every few milliseconds. A lock is held from a batch's first change to its end:", "",
        table(["", "writer p50, ms", "p99", "worst", "longest lock, ms"], list(live(result)))]
    if is_judged:
        lines += ["", table(["goal", "limit", "", ""], [
            [goal.what, goal.limit_text, f"{number(goal.worst[1])}{goal.unit}", goal.verdict] for goal in judge(result)])]
    return "\n".join(lines)


def judge(result):
    """All goals of the job on a server."""
    goals = []
    for source, (what, limit, _) in TABLES.items():
        job = result.one(part="server_delete", table=source, side="job")
        beside = result.one(part="server_delete", table=source, side="psql_plain" if source == "parts" else "psql")
        goals.append(Goal(f"{what}: wall, over `DELETE` on one table", limit, [(what, job.ratio(beside, "wall_ms"))]))
    for source, (what, _, _) in TABLES.items():
        cell = result.one(part="server_live", table=source)
        goals.append(Goal(f"{what}: a writer's p99", 20, [(what, p99(cell.values("writer_ms")))], " ms"))
        if "lock_ms" in cell.samples:
            goals.append(Goal(f"{what}: the longest lock", 100, [(what, cell.median("lock_ms"))], " ms"))
    return goals


def deletes(result):
    for source, (what, _, sides) in TABLES.items():
        job = result.one(part="server_delete", table=source, side="job")
        for side, words in sides.items():
            beside = result.one(part="server_delete", table=source, side=side)
            yield [
                what, words, spread(job.values("wall_ms")), spread(beside.values("wall_ms")),
                f"{job.ratio(beside, 'wall_ms'):.2f}"]


def live(result):
    for source, (what, _, _) in TABLES.items():
        cell = result.one(part="server_live", table=source)
        latencies = cell.values("writer_ms")
        yield [
            what, *map(number, (median(latencies), p99(latencies), max(latencies))),
            spread(cell.values("lock_ms")) if "lock_ms" in cell.samples else ""]


def p99(latencies):
    return quantiles(latencies, n=100, method="inclusive")[98]
