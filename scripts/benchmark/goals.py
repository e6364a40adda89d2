"""What the figures should be, and whether they are."""

from statistics import median

from .parts.live import QUANTILES
from .schemas import SCHEMAS

# Above this fraction a rebuild is cheaper than deleting rows that lie in time order.
CROSSOVER_PERCENT = 62
# These have a cache of a stated size in addition; the table of deletes shows what they take.
WITH_A_CACHE = ("sorted", "rebuild", "rebuild_in_place")


class Goal:
    """A goal and the values that it is judged by: (where, value) pairs, none if that was not measured."""

    def __init__(self, what, limit, values, unit="", at_least=False):
        self.what, self.limit, self.values, self.unit, self.at_least = what, limit, values, unit, at_least

    def is_within(self, value):
        return value >= self.limit if self.at_least else value <= self.limit

    @property
    def missed(self):
        return [(where, value) for where, value in self.values if not self.is_within(value)]

    @property
    def is_missed(self):
        return bool(self.missed)

    @property
    def worst(self):
        """The pair that is furthest from the limit, or None."""
        if not self.values:
            return None
        return (min if self.at_least else max)(self.values, key=lambda pair: pair[1])

    @property
    def limit_text(self):
        return f"{'≥' if self.at_least else '≤'} {self.limit:g}{self.unit}"

    @property
    def verdict(self):
        return "not measured" if not self.values else "**missed**" if self.is_missed else "met"


def store(cell):
    """A cell's store in a few words."""
    rows = f"{cell.rows // 1_000_000}M" if cell.rows % 1_000_000 == 0 else f"{cell.rows:,}"
    return f"{cell.schema} {rows}"


def name(cell):
    """A cell in a few words."""
    return f"{store(cell)} {cell.percent} %"


def pairs(result, other="shell", **facts):
    """The job's cells of which that is true, each with that of another side of the same measurement."""
    for job in result.find(side="job", **facts):
        same = {key: value for key, value in job.facts.items() if key not in ("side", "strategy")}
        beside = result.one(**same, side=other)
        if job.is_available and beside:
            yield job, beside


def ratios(found, figure):
    return [(name(job), job.ratio(shell, figure)) for job, shell in found]


def judge(result):
    """All goals, in the order of the page."""
    deletes = list(pairs(result, part="delete"))
    ordered = [pair for pair in deletes if SCHEMAS[pair[0].schema].is_ordered]
    # Where next to nothing is expired, the start of the process is most of it.
    few = [pair for pair in ordered if pair[0].percent < 10]
    below = [pair for pair in ordered if 10 <= pair[0].percent <= CROSSOVER_PERCENT]
    most = [pair for pair in ordered if pair[0].percent == 90]
    random = [pair for pair in deletes if pair[0].schema == "R" and pair[0].percent == 50]
    goals = [
        Goal("ordered rows, alone, 10 % to the crossover: CPU ratio", 1.10, ratios(below, "cpu_ms")),
        Goal("ordered rows, alone, 10 % to the crossover: wall ratio", 1.15, ratios(below, "wall_ms")),
        Goal("ordered rows, alone, 1 %: CPU ratio", 1.10, ratios(few, "cpu_ms")),
        Goal("ordered rows, alone, 1 %: wall ratio", 1.15, ratios(few, "wall_ms")),
        Goal(
            "ordered rows, alone, up to the crossover: peak of the WAL", 8,
            [(name(job), job.median("wal_mb")) for job, _ in few + below], " MB"),
        Goal("ordered rows, alone, 90 % expired: wall ratio", 0.30, ratios(most, "wall_ms")),
        Goal("random order, alone, 50 % expired: wall ratio", 0.30, ratios(random, "wall_ms")),
        Goal(
            "random order, beside a reader, 50 % expired: wall ratio", 1.0,
            ratios(pairs(result, part="company"), "wall_ms")),
    ]
    goals += live(result) + memory(result, deletes)
    large = max((cell.rows for cell in result.find(part="nothing")), default=None)
    nothing = result.find(part="nothing", side="job", rows=large)
    goals.append(Goal(
        "nothing expired, the large store: the whole process", 25,
        [(store(cell), cell.median("wall_ms")) for cell in nothing], " ms"))
    goals.append(Goal(
        "dry run: wall, less 1.3 × the shell's count", 60,
        [(name(job), job.median("wall_ms") - 1.3 * shell.median("wall_ms"))
         for job, shell in pairs(result, part="dry_run")], " ms"))
    one_by_one = [
        (name(job), 1 / job.ratio(objects, "cpu_ms")) for job, objects in pairs(result, "objects", part="delete")
        if job.percent >= 10]
    goals.append(Goal(
        "CPU of load-and-delete-one-by-one over the job's, from 10 % on", 2.5, one_by_one, at_least=True))
    return goals + library(result)


def live(result):
    """The goals beside a writer and a reader: the median of the runs."""
    job, shell = result.one(part="live", side="job"), result.one(part="live", side="shell")
    if not job or not shell:
        return []
    where = name(job)
    return [
        Goal("beside a writer: the writer's p99", 16, [(where, quantile(job, "writer_ms", 0.99))], " ms"),
        Goal("beside a writer: the writer's worst", 60, [(where, quantile(job, "writer_ms", 1))], " ms"),
        Goal("beside a writer: wall ratio", 2.4, [(where, job.ratio(shell, "wall_ms"))]),
    ]


def quantile(cell, actor, share):
    """The median over the runs of a quantile of the latencies, in milliseconds."""
    place = QUANTILES.index(share)
    return median(run[place] for run in cell.values(actor))


def memory(result, deletes):
    """Bounded, and the same for every size of store."""
    small = [job for job, _ in deletes if job.schema == "S1" and job.percent == 50]
    goals = [Goal(
        "peak memory of batches", 24,
        [(name(job), job.median("memory_mb")) for job, _ in deletes if job.strategy not in WITH_A_CACHE], " MB")]
    if len(small) > 1:
        small.sort(key=lambda job: job.rows)
        goals.append(Goal(
            "peak memory of the large store over the small", 1.1,
            [(name(small[-1]), small[-1].median("memory_mb") / small[0].median("memory_mb"))]))
    return goals


def library(result):
    """The library's own goals."""
    goals = []
    for part, what, limit in [
        ("library_delete", "library: CPU of a batch delete over a classic one", 0.4),
        ("library_insert", "library: CPU of a batch insert over a prepared statement", 1.5),
    ]:
        batch, other = result.one(part=part, side="batch"), result.one(part=part, side="other")
        if batch and other:
            goals.append(Goal(what, limit, [(f"{batch.rows:,} rows", batch.ratio(other, "cpu_ms"))]))
    cascade, shell = result.one(part="cascade", side="job"), result.one(part="cascade", side="shell")
    if cascade and shell:
        goals.append(Goal(
            "Core Data cascade: CPU ratio", 1.3, [(f"{cascade.rows:,} points", cascade.ratio(shell, "cpu_ms"))]))
    merge = result.one(part="library_merge")
    if merge:
        goals.append(Goal(
            "library: merging deleted IDs", 50, [(f"{merge.rows:,} IDs", merge.median("wall_ms"))], " ms"))
    return goals
