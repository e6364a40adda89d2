CREATE TABLE price(id INTEGER PRIMARY KEY, symbol TEXT, ts INTEGER);
CREATE INDEX price_ts ON price(ts);
INSERT INTO price VALUES (1, 'XAUUSD', unixepoch() - 20 * 86400), (2, 'XAUUSD', unixepoch());
