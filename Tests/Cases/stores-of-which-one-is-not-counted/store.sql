CREATE TABLE Price(id INTEGER PRIMARY KEY, price REAL, at INTEGER);
CREATE INDEX Price_at ON Price(at);
WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 9) INSERT INTO Price(price, at) SELECT 1.5, unixepoch('2024-12-22') - i FROM n;
INSERT INTO Price(price, at) VALUES (1.5, unixepoch('2025-04-01'));
