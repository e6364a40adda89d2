CREATE TABLE price(id INTEGER PRIMARY KEY, symbol TEXT, price REAL, at INTEGER);
CREATE INDEX Price_at ON price(at);
INSERT INTO price(at) VALUES (unixepoch());
