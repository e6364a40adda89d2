CREATE TABLE Price(id INTEGER PRIMARY KEY, symbol TEXT, at INTEGER);
CREATE INDEX Price_at ON Price(at);
WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 29) INSERT INTO Price(symbol, at) SELECT 'S' || (i % 10), unixepoch('2025-01-01') - i FROM n;
INSERT INTO Price(symbol, at) VALUES ('S0', unixepoch('2025-03-31'));
