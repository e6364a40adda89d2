"""The job beside the shell's single DELETE and beside two other programs."""

from ..workshop import schema

PERCENTS = (1, 10, 50, 90)


def cases(workshop):
    """(schema, rows, percent, whether the peers are measured)."""
    options = workshop.options
    for name in ("S1", "S2", "S3", "S4", "S5", "S6", "R"):
        for percent in PERCENTS:
            # The peers' own question is the same in every schema, and they take minutes in some.
            yield name, options.rows, percent, name == "S1"
    for percent in PERCENTS:
        yield "S1", options.large_rows, percent, False
    if options.large:
        yield "R", options.large_rows, 50, False


def measure_deletes(workshop):
    for name, rows, percent, has_peers in cases(workshop):
        shape = schema(name)
        sides = ["shell", "job"] + (["chunks", "objects"] if has_peers else [])
        workshop.note(f"{name}: {percent} % of {rows:,} rows expired; {', '.join(sides)}")
        samples, strategies = workshop.in_turn(
            [(side, lambda side=side: workshop.delete(side, shape, rows, percent)) for side in sides],
            workshop.options.runs)
        size = workshop.store(shape, rows).stat().st_size / 1e6
        for side in sides:
            workshop.result.add(
                samples[side], part="delete", schema=name, rows=rows, percent=percent, side=side,
                strategy=strategies.get(side), store_mb=round(size, 3))
