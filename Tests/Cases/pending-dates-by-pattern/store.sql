CREATE TABLE price(id INTEGER PRIMARY KEY, at TEXT, seen INTEGER, n NUMERIC, day TEXT AS (substr(at, 1, 10)));
CREATE VIEW recent AS SELECT * FROM price;
