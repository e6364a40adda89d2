CREATE TABLE source(id INTEGER PRIMARY KEY, at INTEGER);
INSERT INTO source VALUES (1, unixepoch('2025-11-21') - 50 * 86400), (2, unixepoch('2025-11-21'));
-- Four rows on each of 60 days of two symbols, of which the last of a day is bad.
CREATE TABLE price(id INTEGER PRIMARY KEY, at INTEGER, symbol TEXT, flag TEXT, made INTEGER, source INTEGER REFERENCES source ON DELETE CASCADE);
CREATE INDEX price_at ON price(at);
WITH RECURSIVE n(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM n WHERE n < 479)
INSERT INTO price(at, symbol, flag) SELECT unixepoch('2025-11-21') - 60 * 86400 + n / 8 * 86400 + n / 2 % 4 * 21600, iif(n % 2, 'XAU', 'EUR'), iif(n / 2 % 4 = 3, 'bad', 'ok') FROM n;
UPDATE price SET made = at;
CREATE INDEX price_source ON price(source);
CREATE TABLE feed(id INTEGER PRIMARY KEY, at INTEGER);
INSERT INTO feed SELECT * FROM source;
