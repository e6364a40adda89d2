"""What a run costs that has nothing to delete, and what a dry run costs beside the same count."""

from ..measuring import measure
from ..workshop import SHELL, schema


def measure_starts(workshop):
    """Nothing is expired: what is left is the start of the process and one look at the index."""
    for rows in (workshop.options.rows, workshop.options.large_rows):
        shape, runs = schema("S1"), 2 * workshop.options.runs + 1
        workshop.note(f"S1: nothing expired in {rows:,} rows")
        folder = workshop.work_folder(workshop.store(shape, rows), shape.policy(rows + 60))
        sides = [
            ("shell", lambda: (measure(workshop.shell(folder, SHELL + shape.delete(rows + 60)), folder), None)),
            ("job", lambda: (measure(workshop.job(), folder), None)),
        ]
        samples, _ = workshop.in_turn(sides, runs)
        workshop.check(folder, shape, rows)
        for side, _ in sides:
            workshop.result.add(samples[side], part="nothing", schema="S1", rows=rows, side=side)


def measure_dry_runs(workshop):
    """Half is expired; the shell counts the same rows."""
    for name in ("S1", "S4"):
        for rows in (workshop.options.rows, workshop.options.large_rows):
            shape = schema(name)
            kept = shape.kept(rows, 50)
            workshop.note(f"{name}: dry run, 50 % of {rows:,} rows expired")
            folder = workshop.work_folder(workshop.store(shape, rows), shape.policy(kept))
            count = f"SELECT count(*) FROM {shape.table} WHERE {shape.date} < {shape.cutoff(kept)}"
            sides = [
                ("shell", lambda: (measure(workshop.shell(folder, count), folder, output=str(rows - kept)), None)),
                ("job", lambda: (measure(workshop.job("--dry-run"), folder), None)),
            ]
            samples, _ = workshop.in_turn(sides, workshop.options.runs)
            for side, _ in sides:
                workshop.result.add(samples[side], part="dry_run", schema=name, rows=rows, percent=50, side=side)
    # Only the dry run looks at so large a store without an index.
    workshop.forget(shape, rows)
