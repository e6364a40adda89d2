CREATE TABLE price(id INTEGER PRIMARY KEY, ts INTEGER);
CREATE INDEX price_ts ON price(ts);
INSERT INTO price VALUES (1, unixepoch() - 40 * 86400), (2, unixepoch() - 29.5 * 86400), (3, unixepoch() - 25 * 86400),
    (4, unixepoch() - 22.5 * 86400), (5, unixepoch());
