CREATE TABLE Price(id INTEGER PRIMARY KEY, symbol TEXT, price REAL, at INTEGER);
CREATE INDEX Price_at ON Price(at);
INSERT INTO Price(id, at) SELECT value, unixepoch('2025-01-01') FROM json_each('[1,2,3,4,5,6,7,8]');
INSERT INTO Price(id, at) VALUES (9, unixepoch('2025-04-01'));
