CREATE TABLE Price(id INTEGER PRIMARY KEY, at INTEGER);
CREATE INDEX Price_at ON Price(at);
INSERT INTO Price(at) VALUES (unixepoch('2025-01-01')), (unixepoch('2025-01-02')), (unixepoch('2025-01-03')), (unixepoch('2025-03-31'));
CREATE TABLE Old(id INTEGER PRIMARY KEY, at INTEGER);
INSERT INTO Old(at) SELECT at FROM Price LIMIT 2;
