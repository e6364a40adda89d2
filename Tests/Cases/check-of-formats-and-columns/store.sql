CREATE TABLE wide(id INTEGER PRIMARY KEY, at INTEGER, c1, c2, c3, c4, c5, c6, c7, c8, c9, c10, c11);
CREATE TABLE tick(id INTEGER PRIMARY KEY, note TEXT, at INTEGER);
INSERT INTO tick SELECT value, 'x', unixepoch() - value * 86400 FROM json_each('[1, 2, 3, 40, 50]');
CREATE TABLE blank(id INTEGER PRIMARY KEY, whatever TEXT);
INSERT INTO blank VALUES (1, 'abc'), (2, 'def');
CREATE TABLE kept(id INTEGER PRIMARY KEY, at INTEGER, kind TEXT);
CREATE VIEW candle AS SELECT * FROM kept;
CREATE TABLE days(id INTEGER PRIMARY KEY, at INTEGER, price REAL);
