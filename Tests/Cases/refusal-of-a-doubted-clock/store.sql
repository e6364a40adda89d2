CREATE TABLE Price(id INTEGER PRIMARY KEY, symbol TEXT, price REAL, at INTEGER);
INSERT INTO Price(at) VALUES (unixepoch() - 20 * 86400), (unixepoch() - 20 * 86400 - 1), (unixepoch());
