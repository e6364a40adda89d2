CREATE TABLE Price(id INTEGER PRIMARY KEY, symbol TEXT, price REAL, at INTEGER);
CREATE INDEX Price_at ON Price(at);
WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 49) INSERT INTO Price(symbol, price, at) SELECT 'XAUUSD', 1.5, unixepoch('2025-02-20') - i FROM n;
CREATE TABLE Event(id INTEGER PRIMARY KEY, title TEXT, created_at TEXT, Price_id INTEGER REFERENCES Price);
INSERT INTO Event(title, created_at) VALUES ('a', '2025-01-02T03:04:05Z'), ('b', '2025-02-02');
CREATE TABLE Setting(name TEXT, value TEXT);
INSERT INTO Setting VALUES ('a', 'b');
CREATE VIEW Newest AS SELECT max(at) AS at FROM Price;
