"""docs/scale.md: what a row and a page cost here, and arithmetic with it for stores that do not fit here."""

from .words import table

SIZES = (1_000_000_000, 100_000_000_000)
# The part of a large store that is expired when it is cleaned for the first time, and each night after that.
FIRST_PERCENT, NIGHTLY_PERCENT = 50, 1
# What the disk of the arithmetic does; no disk was measured.
DISK_MB_PER_SECOND = 500


class Costs:
    """What was measured, for one row each. A cost is None where the result has no figure for it."""

    def __init__(self, result):
        self.result = result
        # The start of a process is in all figures, but not in the difference of two.
        self.sizes = sorted(cell.rows for cell in result.find(part="delete", side="job", schema="S1", percent=50))
        if len(self.sizes) < 2:
            return
        delete = {"part": "delete", "schema": "S1", "percent": 50}
        self.job, self.shell = (result.one(**delete, side=side, rows=self.sizes[-1]) for side in ("job", "shell"))
        deleted = self.sizes[-1] // 2
        self.row_bytes = self.job.store_mb * 1e6 / self.sizes[-1]
        self.delete_us = times(self.slope("wall_ms", **delete, side="job"), 2000)
        self.shell_us = times(self.slope("wall_ms", **delete, side="shell"), 2000)
        self.shell_wal_bytes = self.shell.median("wal_mb") * 1e6 / deleted
        self.written_bytes = self.job.median("written_mb") * 1e6 / deleted
        self.wal_mb, self.memory_mb = self.job.median("wal_mb"), self.job.median("memory_mb")
        live, beside = (result.one(part="live", side=side) for side in ("job", "shell"))
        self.live_ratio = live.ratio(beside, "wall_ms") if live and beside else None
        self.live_us = times(self.shell_us, self.live_ratio)
        self.count_us = times(self.slope("wall_ms", part="dry_run", side="job", schema="S1"), 1000)
        self.scan_us = times(self.slope("wall_ms", part="dry_run", side="job", schema="S4"), 1000)
        self.rebuild_us = self.rebuild()
        servers = result.find(part="dropping", side="postgres_delete")
        self.postgresql = servers[0].postgresql if servers else None
        self.drop_us = {side: self.drop(side) for side in (
            "table", "file", "postgres_delete", "postgres_vacuum", "postgres_drop")}

    def slope(self, figure, **facts):
        """How much a figure grows for each row of the store, between the smallest and the largest; None: not at all."""
        cells = sorted((cell for cell in self.result.find(**facts) if cell.is_available), key=lambda cell: cell.rows)
        if len(cells) < 2:
            return None
        more = cells[-1].median(figure) - cells[0].median(figure)
        return more / (cells[-1].rows - cells[0].rows) if more > 0 else None

    def rebuild(self):
        """Microseconds for each row that stays, where most go; the start of the process is in it."""
        cell = self.result.one(part="strategy", side="rebuild", schema="S1", percent=90)
        return cell.median("wall_ms") * 1000 / (cell.rows * 0.1) if cell else None

    def drop(self, side):
        """Microseconds for each row of what is dropped, less what the client alone takes."""
        cell = self.result.one(part="dropping", side=side)
        if not cell:
            return None
        idle = self.result.one(part="dropping", side="postgres_nothing") if side.startswith("postgres") else None
        less = idle.median("wall_ms") if idle else 0
        return max(0.0, cell.median("wall_ms") - less) * 1000 / cell.rows


def times(cost, count):
    return None if cost is None or count is None else cost * count


def text(result):
    costs = Costs(result)
    if len(costs.sizes) < 2:
        return "No result has the figures for this page yet: `scripts/bench --write`."
    return "\n\n".join([
        f"From the result of {result.facts['date']}, of stores of {costs.sizes[0]:,} and {costs.sizes[-1]:,} rows.", "## What was measured",
        table(["measured", "", ""], measured(costs)), "## Arithmetic", arithmetic(costs)])


def figure(value):
    if value is None:
        return "not measured"
    return f"{value:,.0f}" if value >= 100 else f"{value:.2g}"


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
        ["drop a table in SQLite, for a row of it", figure(costs.drop_us["table"]), "µs"],
        ["remove a file, for a row of it", figure(costs.drop_us["file"]), "µs"],
    ]
    if costs.postgresql:
        rows += [
            [f"PostgreSQL {costs.postgresql}: delete a row", figure(costs.drop_us["postgres_delete"]), "µs"],
            ["PostgreSQL: and vacuum after it, for a deleted row", figure(costs.drop_us["postgres_vacuum"]), "µs"],
            ["PostgreSQL: detach and drop a partition, for a row of it", figure(costs.drop_us["postgres_drop"]), "µs"],
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


def arithmetic(costs):
    lines = []
    for what, percent in (("A first clean-up", FIRST_PERCENT), ("Every night", NIGHTLY_PERCENT)):
        rows = [["rows in the store", *(f"{size:,}" for size in SIZES)]]
        deleted = [size * percent // 100 for size in SIZES]
        written = costs.written_bytes / DISK_MB_PER_SECOND

        def row(name, cost, counts, words=hours):
            rows.append([name, *(words(times(cost, count)) for count in counts)])

        row("file", costs.row_bytes, SIZES, room)
        row("dry run, by the date index", costs.count_us, SIZES)
        row("dry run, without an index", costs.scan_us, SIZES)
        row("delete in batches, alone", costs.delete_us, deleted)
        row("… beside a writer", costs.live_us, deleted)
        row(f"… the disk alone, at {DISK_MB_PER_SECOND} MB/s", written, deleted)
        row("the shell's DELETE", costs.shell_us, deleted)
        row("… its WAL", costs.shell_wal_bytes, deleted, room)
        rows.append(["the job's WAL", *(f"{figure(costs.wal_mb)} MB" for _ in SIZES)])
        rows.append(["the job's memory", *(f"{figure(costs.memory_mb)} MB" for _ in SIZES)])
        kept = [size - gone for size, gone in zip(SIZES, deleted)]
        row("rebuild, and so the lock", costs.rebuild_us, kept)
        row("… its copy on disk", costs.row_bytes, kept, room)
        if costs.postgresql:
            plain = costs.drop_us["postgres_delete"] + costs.drop_us["postgres_vacuum"]
            row("PostgreSQL: delete and vacuum", plain, deleted)
            row("PostgreSQL: drop partitions, at most", costs.drop_us["postgres_drop"], deleted)
        lines.append(f"{what}, {percent} % expired:\n\n" + table(rows[0], rows[1:]))
    return "\n\n".join(lines)
