"""docs/scale.md: what a row and a page cost here, and arithmetic with it for stores that do not fit here."""

from statistics import median

from .words import table

SIZES = (1_000_000_000, 100_000_000_000)
# The part of a large store that is expired when it is cleaned for the first time, and each night after that.
FIRST_PERCENT, NIGHTLY_PERCENT = 50, 1
# What the disk of the arithmetic does; no disk was measured.
DISK_MB_PER_SECOND = 500


class Costs:
    """What was measured, for one row each. A cost is None where the result has no figure for it."""

    def __init__(self, result):
        cells = result.find(part="delete", side="job", schema="S1", percent=50)
        self.job = max(cells, key=lambda cell: cell.rows, default=None)
        if self.job is None:
            return
        rows = self.rows = self.job.rows
        deleted = rows * 50 // 100
        shell = result.one(part="delete", side="shell", schema="S1", percent=50, rows=rows)
        start = result.one(part="nothing", side="job", rows=rows)
        start_ms = start.median("wall_ms") if start else 0
        self.row_bytes = self.job.store_mb * 1e6 / rows
        self.delete_us = (self.job.median("wall_ms") - start_ms) * 1000 / deleted
        self.shell_us = shell.median("wall_ms") * 1000 / deleted
        self.shell_wal_bytes = shell.median("wal_mb") * 1e6 / deleted
        self.wal_mb = self.job.median("wal_mb")
        self.written_bytes = self.job.median("written_mb") * 1e6 / deleted
        self.memory_mb = self.job.median("memory_mb")
        self.live_ratio = self.live(result)
        self.count_us = self.dry_run(result, "S1", start_ms)
        self.scan_us = self.dry_run(result, "S4", start_ms)
        self.rebuild_us = self.rebuild(result, start_ms)
        self.dropped = {cell.side: median(cell.values("wall_ms")) for cell in result.find(part="dropping")}
        self.dropped_rows = max((cell.rows for cell in result.find(part="dropping")), default=0)

    @staticmethod
    def live(result):
        job, shell = (result.one(part="live", side=side) for side in ("job", "shell"))
        return job.ratio(shell, "wall_ms") if job and shell else None

    def dry_run(self, result, schema, start_ms):
        cell = result.one(part="dry_run", side="job", schema=schema)
        return (cell.median("wall_ms") - start_ms) * 1000 / cell.rows if cell else None

    @staticmethod
    def rebuild(result, start_ms):
        """Microseconds for each row that stays, where most go."""
        cell = result.one(part="strategy", side="rebuild", schema="S1", percent=90)
        return (cell.median("wall_ms") - start_ms) * 1000 / (cell.rows * 0.1) if cell else None

    def drop_us(self, side):
        nothing = self.dropped.get("postgres_nothing", 0) if side.startswith("postgres") else 0
        return (self.dropped[side] - nothing) * 1000 / self.dropped_rows if side in self.dropped else None


def text(result):
    costs = Costs(result)
    if costs.job is None:
        return "No result has the figures for this page yet: `scripts/bench --write`."
    return "\n\n".join([
        f"From the result of {result.facts['date']}, of a store of {costs.rows:,} rows.", "## What was measured",
        table(["measured", "", ""], measured(costs)), "## Arithmetic", arithmetic(costs)])


def figure(value):
    if value is None:
        return "not measured"
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.2g}" if value < 1 else f"{value:.3g}"


def measured(costs):
    """The table of costs."""
    rows = [
        ["room of a row with its index entry", figure(costs.row_bytes), "bytes"],
        ["delete a row in batches, nobody else there", figure(costs.delete_us), "µs"],
        ["… in the shell's one transaction", figure(costs.shell_us), "µs"],
        ["… beside a writer, as a ratio to the shell", figure(costs.live_ratio), ""],
        ["bytes written for a deleted row", figure(costs.written_bytes), "bytes"],
        ["WAL of the job, at its peak, any number of rows", figure(costs.wal_mb), "MB"],
        ["WAL of the shell for a deleted row", figure(costs.shell_wal_bytes), "bytes"],
        ["memory of the job, any number of rows", figure(costs.memory_mb), "MB"],
        ["dry run, for a row of the table, by the date index", figure(costs.count_us), "µs"],
        ["… without an index", figure(costs.scan_us), "µs"],
        ["rebuild, for a row that stays", figure(costs.rebuild_us), "µs"],
        ["drop a table in SQLite, for a row of it", figure(costs.drop_us("table")), "µs"],
        ["remove a file, for a row of it", figure(costs.drop_us("file")), "µs"],
    ]
    if "postgres_delete" in costs.dropped:
        rows += [
            ["PostgreSQL: delete a row", figure(costs.drop_us("postgres_delete")), "µs"],
            ["PostgreSQL: and vacuum after it, for a deleted row", figure(costs.drop_us("postgres_vacuum")), "µs"],
            ["PostgreSQL: detach and drop a partition, for a row of it", figure(costs.drop_us("postgres_drop")), "µs"],
        ]
    return rows


def hours(microseconds):
    """A time in the unit that suits it."""
    if microseconds is None:
        return "not measured"
    seconds = microseconds / 1e6
    for unit, length in (("days", 86_400), ("h", 3600), ("min", 60)):
        if seconds >= 2 * length:
            return f"{figure(seconds / length)} {unit}"
    return f"{figure(seconds)} s"


def room(size):
    for unit, length in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6)):
        if size >= length:
            return f"{figure(size / length)} {unit}"
    return f"{figure(size)} bytes"


def times(cost, count):
    return None if cost is None else cost * count


def arithmetic(costs):
    lines = []
    for what, percent in (("A first clean-up", FIRST_PERCENT), ("Every night", NIGHTLY_PERCENT)):
        rows = [["rows in the store", *(f"{size:,}" for size in SIZES)]]
        deleted = [size * percent // 100 for size in SIZES]
        live = None if costs.live_ratio is None else costs.shell_us * costs.live_ratio
        written = costs.written_bytes / DISK_MB_PER_SECOND

        def row(name, cost, counts, words=hours):
            rows.append([name, *(words(times(cost, count)) for count in counts)])

        row("file", costs.row_bytes, SIZES, room)
        row("dry run, by the date index", costs.count_us, SIZES)
        row("dry run, without an index", costs.scan_us, SIZES)
        row("delete in batches, alone", costs.delete_us, deleted)
        row("… beside a writer", live, deleted)
        row(f"… the disk alone, at {DISK_MB_PER_SECOND} MB/s", written, deleted)
        row("the shell's DELETE", costs.shell_us, deleted)
        row("… its WAL", costs.shell_wal_bytes, deleted, room)
        rows.append(["the job's WAL", *(f"{figure(costs.wal_mb)} MB" for _ in SIZES)])
        rows.append(["the job's memory", *(f"{figure(costs.memory_mb)} MB" for _ in SIZES)])
        kept = [size - gone for size, gone in zip(SIZES, deleted)]
        row("rebuild, and so the lock", costs.rebuild_us, kept)
        row("… its copy on disk", costs.row_bytes, kept, room)
        if "postgres_delete" in costs.dropped:
            plain = costs.drop_us("postgres_delete") + costs.drop_us("postgres_vacuum")
            row("PostgreSQL: delete and vacuum", plain, deleted)
            row("PostgreSQL: drop partitions", costs.drop_us("postgres_drop"), deleted)
        lines.append(f"{what}, {percent} % expired:\n\n" + table(rows[0], rows[1:]))
    return "\n\n".join(lines)
