CREATE TABLE Price(id INTEGER PRIMARY KEY, symbol TEXT, price REAL, at INTEGER);
INSERT INTO Price(symbol, price, at) VALUES ('XAUUSD', 1.5, unixepoch() - 8640000), ('XAUUSD', 1.5, unixepoch());
