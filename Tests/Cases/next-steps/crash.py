import os, sqlite3
c = sqlite3.connect("prices.sqlite", isolation_level=None)
c.execute("PRAGMA cache_size = 1")
c.execute("BEGIN")
c.execute("UPDATE Price SET price = price + 1")
os._exit(0)
