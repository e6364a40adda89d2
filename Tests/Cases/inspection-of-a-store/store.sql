CREATE TABLE Price(id INTEGER PRIMARY KEY, symbol TEXT, price REAL, at INTEGER);
CREATE INDEX Price_at ON Price(at);
WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 499) INSERT INTO Price(symbol, price, at) SELECT 'XAUUSD', 1.5, unixepoch('2025-02-20') - i FROM n;
