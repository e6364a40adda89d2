CREATE TABLE price(id INTEGER PRIMARY KEY, symbol TEXT, ts INTEGER);
CREATE INDEX price_ts ON price(ts);
INSERT INTO price VALUES (1, 'DISP', unixepoch() - 40 * 86400), (2, 'DISP', unixepoch() - 41 * 86400), (3, 'DISP', unixepoch() - 42 * 86400),
    (4, 'XAUUSD', unixepoch() - 40 * 86400), (5, 'XAUUSD', unixepoch() - 29.5 * 86400), (6, 'XAUUSD', unixepoch());
