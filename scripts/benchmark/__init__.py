"""Measures `retention` beside other ways to the same rows. Started by scripts/bench; only the standard library is used.

    measuring   one process: time, memory, the peak of the WAL
    stores      the stores, what is deleted from them, and each side of a comparison
    report      tables, goals, and the sections of docs/benchmarks.md
    companion   a writer or a reader beside a delete, a program of its own
    chunks      another program that deletes
    cluster     PostgreSQL servers
    parts       what is measured, a file for each section
"""
