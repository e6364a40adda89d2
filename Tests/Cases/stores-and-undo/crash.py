import os, sqlite3
c = sqlite3.connect("retention.ledger.sqlite", isolation_level=None)
c.execute("PRAGMA cache_size = 1")
c.execute("BEGIN")
c.execute("CREATE TABLE t(x)")
for _ in range(500): c.execute("INSERT INTO t VALUES (randomblob(500))")
os._exit(0)
