CREATE TABLE Rare(id INTEGER PRIMARY KEY, symbol TEXT, price REAL, at INTEGER);
INSERT INTO Rare(symbol, at) VALUES ('A', unixepoch() - 50 * 86400), ('A', unixepoch() - 200 * 86400), ('A', unixepoch() - 400 * 86400);
CREATE TABLE Price(id INTEGER PRIMARY KEY, symbol TEXT, price REAL, at INTEGER);
INSERT INTO Price(symbol, at) SELECT 'A', unixepoch() - value * 86401 FROM json_each('[10, 11, 12, 13]');
