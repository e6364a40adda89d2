CREATE TABLE Price(id INTEGER PRIMARY KEY, symbol TEXT, price REAL, at INTEGER);
CREATE INDEX Price_at ON Price(at);
WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 9) INSERT INTO Price(symbol, price, at) SELECT 'XAUUSD', 1.5, unixepoch('2024-12-22') - i FROM n;
WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 2) INSERT INTO Price(symbol, price, at) SELECT 'XAUUSD', 1.5, unixepoch('2025-04-01') - i FROM n;
CREATE TRIGGER Keep BEFORE DELETE ON Price WHEN OLD.id = 4 BEGIN SELECT raise(ABORT, 'keep the 4th'); END;
CREATE TABLE Tick(id INTEGER PRIMARY KEY, symbol TEXT, price REAL, at INTEGER);
WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 4) INSERT INTO Tick(symbol, price, at) SELECT 'XAUUSD', 1.5, unixepoch('2024-12-22') - i FROM n;
INSERT INTO Tick(symbol, price, at) VALUES ('XAUUSD', 1.5, unixepoch('2025-04-01'));
