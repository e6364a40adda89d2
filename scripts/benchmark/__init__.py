"""Measures `retention` beside other ways to the same rows. Started by scripts/bench; only the standard library is used.

    measuring   one process: time, memory, what it wrote
    schemas     the stores and what is deleted from them
    workshop    makes the stores and their copies, runs the sides in turn
    parts       what is measured: deletes, strategies, starts, live work, the library, dropping
    result      the result file
    goals       what the figures should be
    page        docs/benchmarks.md and docs/scale.md, drawn from the result
    scale       the tables of docs/scale.md
    check       that every part was measured and can be drawn, for --quick
    plot        the two pictures
    words       figures and tables as text
"""
