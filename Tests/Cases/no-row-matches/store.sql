CREATE TABLE Price(id INTEGER PRIMARY KEY, symbol TEXT, price REAL, at INTEGER);
CREATE INDEX Price_at ON Price(at);
INSERT INTO Price(symbol, price, at) VALUES ('BAD', 1.5, unixepoch() - 8640000), ('BAD', 1.5, unixepoch() - 8640001), ('XAUUSD', 1.5, unixepoch() - 8640001), ('XAUUSD', 1.5, unixepoch());
