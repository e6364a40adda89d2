"""Selects 4,000 keys and deletes their rows, again and again: chunks.py STORE CUTOFF.

This is how Home Assistant's recorder, which is in Python too, clears its tables, with as many bound values.
"""

import sqlite3
import sys

path, cutoff = sys.argv[1:]
store = sqlite3.connect(path, isolation_level=None)
# As the job does.
store.execute("PRAGMA synchronous = NORMAL")
while True:
    store.execute("BEGIN IMMEDIATE")
    keys = store.execute("SELECT id FROM YahooGoldPricePoint WHERE updateTime < ? LIMIT 4000", [int(cutoff)]).fetchall()
    places = ", ".join("?" * len(keys))
    store.execute(f"DELETE FROM YahooGoldPricePoint WHERE id IN ({places})", [key for key, in keys])
    store.execute("COMMIT")
    if not keys:
        break
store.close()
