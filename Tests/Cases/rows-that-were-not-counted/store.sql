CREATE TABLE Price(id INTEGER PRIMARY KEY, symbol TEXT, price REAL, at INTEGER);
CREATE INDEX Price_at ON Price(at);
INSERT INTO Price(at) VALUES (unixepoch() - 100 * 86400), (unixepoch() - 101 * 86400), (unixepoch() - 102 * 86400), (unixepoch());
CREATE VIEW Dear AS SELECT * FROM Price;
CREATE TABLE Quote(id INTEGER PRIMARY KEY, at INTEGER);
INSERT INTO Quote(at) VALUES (unixepoch());
