CREATE TABLE tick(id INTEGER PRIMARY KEY, at INTEGER NOT NULL);
CREATE INDEX tick_at ON tick(at);
-- One row each day of 2025 before 1 April.
WITH RECURSIVE n(i) AS (VALUES(1) UNION ALL SELECT i + 1 FROM n WHERE i < 90)
INSERT INTO tick SELECT i, unixepoch('2025-04-01') - i * 86400 FROM n;
