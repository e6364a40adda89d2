"""The section about PostgreSQL, drawn from the result of scripts/bench-postgres.py."""

from statistics import median

from .goals import Goal
from .result import Result
from .words import number, spread, table

# The tables that are deleted from; half of their rows are expired.
TABLES = {"plain": "one table, date index", "parts": "partitions by month"}
LIMITS = {"plain": 1.3, "parts": 0.05}


def section(path):
    """The section of a result file, with a blank line before it; nothing if there is no file."""
    return "\n\n" + text(Result.read(path)) if path.exists() else ""


def text(result, is_judged=True):
    known = result.facts
    lines = [
        "## PostgreSQL", "",
        f"{known['date']} · {known['processor']}, {known['cores']} cores, {known['memory_gb']} GB · PostgreSQL "
        f"{known['postgresql']} · {known['rows']:,} rows, half of them expired · median (lowest–highest) of "
        f"{known['runs']} runs", "",
        "Beside the job is one `DELETE` in `psql`, of the same rows in a copy of the same database. For partitions there is "
        "`psql` too that counts the expired ones, detaches and drops them, and prints what it counted: the job does no less.",
        "", table(["", "job, wall ms", "`psql`, wall ms", "ratio"], [*deletes(result)]),
        "", "Beside a writer that adds a row every few milliseconds; a lock is held from a batch's first change to its end:",
        "", table(["", "writer p99, ms", "longest lock, ms"], [*live(result)])]
    if is_judged:
        lines += ["", table(["goal", "limit", "", ""], [
            [goal.what, goal.limit_text, f"{number(goal.worst[1])}{goal.unit}", goal.verdict] for goal in judge(result)])]
    return "\n".join(lines)


def judge(result):
    """All goals of the job on a server."""
    plain = result.one(part="server_delete", table="plain", side="psql")
    goals = []
    for source, what in TABLES.items():
        job = result.one(part="server_delete", table=source, side="job")
        # Both goals are shares of the one DELETE on the plain table.
        goals.append(Goal(f"{what}: wall, over the `DELETE` on one table", LIMITS[source], [
            (what, median(job.values("wall_ms")) / median(plain.values("wall_ms")))]))
    for source, what in TABLES.items():
        cell = result.one(part="server_live", table=source)
        goals.append(Goal(f"{what}: a writer's p99", 20, [(what, cell.median("writer_p99_ms"))], " ms"))
        if "lock_ms" in cell.samples:
            goals.append(Goal(f"{what}: the longest lock", 100, [(what, cell.median("lock_ms"))], " ms"))
    return goals


def deletes(result):
    for source, what in TABLES.items():
        job = result.one(part="server_delete", table=source, side="job")
        for side, words in [("psql", "`DELETE`"), ("psql_drop", "count, detach and drop")]:
            beside = result.one(part="server_delete", table=source, side=side)
            if beside:
                yield [
                    f"{what}; {words}", spread(job.values("wall_ms")), spread(beside.values("wall_ms")),
                    f"{job.ratio(beside, 'wall_ms'):.2f}"]


def live(result):
    for source, what in TABLES.items():
        cell = result.one(part="server_live", table=source)
        yield [what, spread(cell.values("writer_p99_ms")), spread(cell.values("lock_ms")) if "lock_ms" in cell.samples else ""]
