CREATE TABLE Price(id INTEGER PRIMARY KEY, symbol TEXT, price REAL, at INTEGER);
CREATE INDEX Price_at ON Price(at);
CREATE TABLE News(id INTEGER PRIMARY KEY, symbol TEXT, price REAL, at INTEGER);
INSERT INTO Price(symbol, price, at) VALUES ('XAUUSD', 1.5, unixepoch() - 40 * 86400), ('XAUUSD', 1.5, unixepoch() - 20 * 86400);
INSERT INTO News(symbol, price, at) VALUES ('A', 1, unixepoch() - 40 * 86400), ('A', 1, unixepoch() - 40 * 86400 - 1), ('A', 1, unixepoch() - 2 * 86400);
