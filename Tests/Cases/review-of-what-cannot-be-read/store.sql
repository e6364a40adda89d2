CREATE TABLE Price(id INTEGER PRIMARY KEY, symbol TEXT, price REAL, at INTEGER);
CREATE INDEX Price_at ON Price(at);
INSERT INTO Price(symbol, price, at) VALUES ('XAUUSD', 1.5, unixepoch() - 40 * 86400), ('XAUUSD', 1.5, unixepoch() - 20 * 86400), ('XAUUSD', 1.5, unixepoch());
