CREATE TABLE t(id INTEGER PRIMARY KEY, at INTEGER, price REAL);
CREATE INDEX t_at ON t(at);
INSERT INTO t VALUES (1, unixepoch('2025-02-10'), 10), (2, unixepoch('2025-02-11'), 11), (3, unixepoch('2025-03-20'), 12), (4, unixepoch('2025-04-01'), 13);
