CREATE TABLE Price(id INTEGER PRIMARY KEY, symbol TEXT, price REAL, at INTEGER);
CREATE INDEX Price_at ON Price(at);
INSERT INTO Price(symbol, price, at) VALUES ('A', 1, unixepoch() - 8640000), ('A', 1, unixepoch() - 8640001), ('A', 1, unixepoch());
