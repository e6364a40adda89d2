CREATE TABLE price(id INTEGER PRIMARY KEY, at INTEGER, symbol TEXT);
CREATE INDEX price_at ON price(at);
WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 119) INSERT INTO price(at, symbol) SELECT unixepoch('now', 'start of day') - i * 86400, 'XAU' FROM n;
INSERT INTO price(at, symbol) VALUES (NULL, 'XAU'), (0, 'XAU');
-- Dates without an index, and with one that orders them, or does not.
CREATE TABLE plain(at INTEGER);
INSERT INTO plain VALUES (unixepoch()), (unixepoch() - 86400);
CREATE TABLE ordered(at TEXT);
CREATE INDEX ordered_at ON ordered(at);
CREATE TABLE mixed(at TEXT);
CREATE INDEX mixed_at ON mixed(at);
CREATE TEMP TABLE n AS WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 3999) SELECT i FROM n;
INSERT INTO ordered SELECT strftime('%Y-%m-%dT%H:%M:%S', unixepoch() - i * 3600, 'unixepoch') || 'Z' FROM n WHERE i < 100;
INSERT INTO mixed SELECT strftime('%Y-%m-%dT%H:%M:%S', unixepoch() - i * 3600, 'unixepoch') || CASE WHEN i % 2 THEN '+05:00' ELSE '-03:00' END FROM n WHERE i < 100;
-- Of 4,000 values none, and one, fits both orders of day and month.
CREATE TABLE days(at TEXT);
INSERT INTO days SELECT (13 + i % 16) || '/' || printf('%02d', 1 + i % 11) || '/' || (strftime('%Y', 'now') - 6 + i % 6) FROM n;
CREATE TABLE both(at TEXT);
INSERT INTO both SELECT at FROM days;
UPDATE both SET at = '05/06/' || (strftime('%Y', 'now') - 2) WHERE rowid = 1234;
CREATE TABLE empty(at INTEGER);
-- Views and virtual tables are counted and not looked into, and a broken one hides nothing.
CREATE VIEW newest AS SELECT max(at) AS at FROM price;
CREATE VIRTUAL TABLE words USING fts5(body, at);
CREATE TABLE gone(at);
CREATE VIEW broken AS SELECT at FROM gone;
DROP TABLE gone;
-- Dates before 1971, and dates that a proposed format does not read.
CREATE TABLE gold(month TEXT, price REAL);
INSERT INTO gold VALUES ('1833-01', 18.93), ('1970-12', 35), ('1971-01', 37), (strftime('%Y-%m', 'now', '-6 months'), 4000);
CREATE TABLE tick(at TEXT);
INSERT INTO tick VALUES ('15/05/' || (strftime('%Y', 'now') - 3)), ('16/05/' || (strftime('%Y', 'now') - 3)), ('17/05/' || (strftime('%Y', 'now') - 3)), ('05/14/' || (strftime('%Y', 'now') - 3));
-- Doubles round the largest rowids to a number that no whole number of 64 bits holds.
CREATE TABLE large(id INTEGER PRIMARY KEY, at INTEGER);
WITH RECURSIVE m(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM m WHERE i < 59999) INSERT INTO large SELECT 9223372036854775807 - i, unixepoch('now', 'start of day') - i * 600 FROM m;
CREATE TABLE ends(id INTEGER PRIMARY KEY, at INTEGER);
INSERT INTO ends VALUES (-9223372036854775807 - 1, unixepoch()), (9223372036854775807, unixepoch() - 100);
CREATE TABLE note(id INTEGER PRIMARY KEY, price_id INTEGER REFERENCES price ON DELETE CASCADE);
CREATE TABLE "a‮b
c"(at INTEGER);
