PRAGMA foreign_keys = OFF;
-- Rows 1 to 40, of which the first 20 are expired, with a reference to another row of the table.
CREATE TEMP TABLE n AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 40) SELECT i FROM n;
-- A chain, as of states that follow each other.
CREATE TABLE own1(id INTEGER PRIMARY KEY, at INTEGER, up INTEGER REFERENCES own1);
CREATE INDEX own1_at ON own1(at);
CREATE INDEX own1_up ON own1(up);
INSERT INTO own1 SELECT i, iif(i <= 20, unixepoch('2025-01-01'), unixepoch('2025-11-20')) + i, iif(i > 1, i - 1, NULL) FROM n;
-- A chain the other way round, all of it expired.
CREATE TABLE own2(id INTEGER PRIMARY KEY, at INTEGER, up INTEGER REFERENCES own2);
CREATE INDEX own2_at ON own2(at);
CREATE INDEX own2_up ON own2(up);
INSERT INTO own2 SELECT i, iif(i <= 20, unixepoch('2025-01-01'), unixepoch('2025-11-20')) + i, iif(i < 20, i + 1, NULL) FROM n;
-- A ring.
CREATE TABLE own3(id INTEGER PRIMARY KEY, at INTEGER, up INTEGER REFERENCES own3);
CREATE INDEX own3_at ON own3(at);
CREATE INDEX own3_up ON own3(up);
INSERT INTO own3 SELECT i, iif(i <= 20, unixepoch('2025-01-01'), unixepoch('2025-11-20')) + i, iif(i <= 20, 1 + i % 20, NULL) FROM n;
-- A star.
CREATE TABLE own4(id INTEGER PRIMARY KEY, at INTEGER, up INTEGER REFERENCES own4);
CREATE INDEX own4_at ON own4(at);
CREATE INDEX own4_up ON own4(up);
INSERT INTO own4 SELECT i, iif(i <= 20, unixepoch('2025-01-01'), unixepoch('2025-11-20')) + i, iif(i BETWEEN 2 AND 20, 1, NULL) FROM n;
-- A chain that cascades, with children.
CREATE TABLE chain(id INTEGER PRIMARY KEY, at INTEGER, up INTEGER REFERENCES chain ON DELETE CASCADE);
CREATE INDEX chain_at ON chain(at);
CREATE INDEX chain_up ON chain(up);
INSERT INTO chain SELECT i, iif(i <= 20, unixepoch('2025-01-01'), unixepoch('2025-11-20')) + i, iif(i > 1, i - 1, NULL) FROM n;
CREATE TABLE child(id INTEGER PRIMARY KEY, price INTEGER REFERENCES chain ON DELETE CASCADE);
CREATE INDEX child_price ON child(price);
INSERT INTO child(price) SELECT id FROM chain UNION ALL SELECT id FROM chain;
-- No reference within the table, and one of another.
CREATE TABLE plain(id INTEGER PRIMARY KEY, at INTEGER, up INTEGER REFERENCES plain);
CREATE INDEX plain_at ON plain(at);
CREATE INDEX plain_up ON plain(up);
INSERT INTO plain SELECT i, iif(i <= 20, unixepoch('2025-01-01'), unixepoch('2025-11-20')) + i, NULL FROM n;
CREATE TABLE other(id INTEGER PRIMARY KEY, price INTEGER REFERENCES plain);
CREATE INDEX other_price ON other(price);
INSERT INTO other(price) VALUES (1);
-- Two rules for each of these tables, to whose rows nothing refers.
CREATE TABLE as_declared(id INTEGER PRIMARY KEY, at INTEGER, symbol TEXT);
INSERT INTO as_declared(at, symbol) SELECT iif(i < 40, unixepoch('2025-10-22') - i * 86400, unixepoch('2025-11-20')), s.value FROM n, json_each('["XAU", "XAG"]') AS s;
CREATE TABLE deny(id INTEGER PRIMARY KEY, at INTEGER, symbol TEXT);
INSERT INTO deny(at, symbol) SELECT iif(i < 40, unixepoch('2025-10-22') - i * 86400, unixepoch('2025-11-20')), s.value FROM n, json_each('["XAU", "XAG"]') AS s;
CREATE TABLE "cascade"(id INTEGER PRIMARY KEY, at INTEGER, symbol TEXT);
INSERT INTO "cascade"(at, symbol) SELECT iif(i < 40, unixepoch('2025-10-22') - i * 86400, unixepoch('2025-11-20')), s.value FROM n, json_each('["XAU", "XAG"]') AS s;
CREATE TABLE nullify(id INTEGER PRIMARY KEY, at INTEGER, symbol TEXT);
INSERT INTO nullify(at, symbol) SELECT iif(i < 40, unixepoch('2025-10-22') - i * 86400, unixepoch('2025-11-20')), s.value FROM n, json_each('["XAU", "XAG"]') AS s;
