CREATE TABLE Price(id INTEGER PRIMARY KEY, symbol TEXT, price REAL, at INTEGER);
CREATE INDEX Price_at ON Price(at);
WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 4) INSERT INTO Price(symbol, price, at) SELECT 'XAUUSD', 1.5, unixepoch() - d.value * 86400 - i FROM n, json_each('[40, 1]') AS d;
INSERT INTO Price(symbol, price, at) VALUES ('OLD', 1.5, unixepoch() - 80 * 86400), ('OLD', 1.5, unixepoch() - 80 * 86400 - 1);
