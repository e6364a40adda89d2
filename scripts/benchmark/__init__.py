"""Measures `retention` beside other ways to the same rows. Started by scripts/bench; only the standard library is used.

    measuring   one process: time, memory, the peak of the WAL
    stores      the stores, what is deleted from them, and each side of a comparison
    report      tables, goals, and the sections of docs/benchmarks.md
    parts       what is measured, a file for each section
"""
