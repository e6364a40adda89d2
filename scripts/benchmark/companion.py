"""A process that runs a statement at a beat, until its standard input is closed: companion.py STORE MILLISECONDS STATEMENT.

Whoever is kept waiting begins the next turn late, and that delay counts: a latency measured from the actual start would
hide it. Prints `ready` before the first turn, and at the end a list of all: the planned time, by the monotonic clock, and
how much later the turn was done, both in nanoseconds.
"""

import json
import select
import sqlite3
import sys
import time


def turns(store, nanoseconds, statement):
    began, turn = time.monotonic_ns(), 0
    while not select.select([sys.stdin], [], [], 0)[0]:
        planned = began + turn * nanoseconds
        time.sleep(max(0, planned - time.monotonic_ns()) / 1e9)
        store.execute(statement, {"turn": turn}).fetchall()
        yield planned, time.monotonic_ns() - planned
        turn += 1


if __name__ == "__main__":
    path, milliseconds, statement = sys.argv[1:]
    # Longer than any measured delete, so that no connection gives up; and each statement is a transaction.
    store = sqlite3.connect(path, timeout=120, isolation_level=None)
    store.execute("PRAGMA synchronous = NORMAL")
    print("ready", flush=True)
    print(json.dumps(list(turns(store, int(milliseconds) * 1_000_000, statement))))
