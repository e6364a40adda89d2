-- Dates around the cutoff, 2025-10-22, and what is no date.
CREATE TABLE Dates(symbol TEXT, at);
WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 19) INSERT INTO Dates SELECT 'S' || i, 1568464000 + i * 9876543 FROM n;
INSERT INTO Dates VALUES ('S20', 1761091200), ('S21', 1761091199), ('S22', 1761091201), ('S23', 1761091140), ('S24', 1761091139), ('S25', 1761091199.5), ('S26', 1761091200.5), ('S27', NULL), ('S28', 0), ('S29', -1), ('S30', 86400), ('S31', '2020-01-01'), ('S32', '1600000000x'), ('S33', x'00'), ('S34', 9e999), ('S35', -9e999);
-- No key.
CREATE TABLE p01(symbol TEXT, at INTEGER);
INSERT INTO p01(symbol, at) SELECT * FROM Dates;
-- Text key.
CREATE TABLE p02(symbol TEXT PRIMARY KEY, at INTEGER);
INSERT INTO p02(symbol, at) SELECT * FROM Dates;
-- Composite key.
CREATE TABLE p03(symbol TEXT, n INTEGER DEFAULT 1, at INTEGER, PRIMARY KEY (n, symbol));
INSERT INTO p03(symbol, at) SELECT * FROM Dates;
-- WITHOUT ROWID, key of two columns.
CREATE TABLE p04(symbol TEXT, n INTEGER DEFAULT 1, at INTEGER, PRIMARY KEY (n, symbol DESC)) WITHOUT ROWID;
INSERT INTO p04(symbol, at) SELECT * FROM Dates;
-- WITHOUT ROWID, NOCASE key, index.
CREATE TABLE p05(symbol TEXT COLLATE NOCASE PRIMARY KEY, at INTEGER) WITHOUT ROWID;
CREATE INDEX p05_at ON p05(at);
INSERT INTO p05(symbol, at) SELECT * FROM Dates;
-- STRICT.
CREATE TABLE p06(symbol TEXT, at INTEGER) STRICT;
CREATE INDEX p06_at ON p06(at);
INSERT INTO p06(symbol, at) SELECT * FROM Dates WHERE typeof(at) = 'integer';
-- STRICT, ANY.
CREATE TABLE p07(symbol TEXT, at ANY) STRICT;
CREATE INDEX p07_at ON p07(at);
INSERT INTO p07(symbol, at) SELECT * FROM Dates;
-- No type.
CREATE TABLE p08(symbol, at);
CREATE INDEX p08_at ON p08(at, symbol);
INSERT INTO p08(symbol, at) SELECT * FROM Dates;
-- Generated column, computed.
CREATE TABLE p09(symbol TEXT, at, later INTEGER AS (at + 60));
CREATE INDEX p09_later ON p09(later);
INSERT INTO p09(symbol, at) SELECT * FROM Dates;
-- Generated column, stored.
CREATE TABLE p10(symbol TEXT, at, later INTEGER AS (at) STORED);
INSERT INTO p10(symbol, at) SELECT * FROM Dates;
-- DESC index.
CREATE TABLE p11(symbol TEXT, at INTEGER);
CREATE INDEX p11_at ON p11(at DESC);
INSERT INTO p11(symbol, at) SELECT * FROM Dates;
-- Partial index.
CREATE TABLE p12(symbol TEXT, at INTEGER);
CREATE INDEX p12_at ON p12(at) WHERE at > 1700000000;
INSERT INTO p12(symbol, at) SELECT * FROM Dates;
-- Unique index.
CREATE TABLE p13(symbol TEXT, at INTEGER);
CREATE UNIQUE INDEX p13_at ON p13(at, symbol);
INSERT INTO p13(symbol, at) SELECT * FROM Dates;
-- Expression index.
CREATE TABLE p14(symbol TEXT, at INTEGER);
CREATE INDEX p14_at ON p14(at / 86400, -at);
INSERT INTO p14(symbol, at) SELECT * FROM Dates;
-- NOCASE index on the date.
CREATE TABLE p15(symbol TEXT, at INTEGER COLLATE NOCASE);
CREATE INDEX p15_at ON p15(at COLLATE BINARY);
INSERT INTO p15(symbol, at) SELECT * FROM Dates;
-- Key that is no rowid.
CREATE TABLE p16(n INTEGER PRIMARY KEY DESC, symbol TEXT, at INTEGER);
CREATE INDEX p16_at ON p16(at);
INSERT INTO p16(symbol, at) SELECT * FROM Dates;
-- Column named rowid.
CREATE TABLE p17(rowid TEXT DEFAULT 'x', symbol TEXT, _rowid_ INTEGER, at INTEGER);
INSERT INTO p17(symbol, at) SELECT * FROM Dates;
-- The date is the rowid.
CREATE TABLE p18(symbol TEXT, at INTEGER PRIMARY KEY);
INSERT INTO p18(symbol, at) SELECT * FROM Dates WHERE typeof(at) = 'integer';
-- Triggers with the names of ours.
CREATE TABLE p19(symbol TEXT, at INTEGER);
CREATE TABLE "retention_1"(n);
CREATE TRIGGER "retention_delete" AFTER DELETE ON p19 BEGIN INSERT INTO "retention_1" VALUES (1); END;
INSERT INTO p19(symbol, at) SELECT * FROM Dates;
CREATE TABLE hidden(rowid, _rowid_, oid, at INTEGER);
INSERT INTO hidden(at) VALUES (1600000000), (1763683200);
-- Whether a date is expired, written once more in plain SQL: numbers from 1971 on and before the cutoff.
CREATE VIEW Every AS SELECT t, symbol, at, coalesce(typeof(at) IN ('integer', 'real') AND at >= 31536000 AND at < 1761091200, FALSE) AS expired FROM (
SELECT 'p01' AS t, symbol, at AS at FROM p01 UNION ALL
SELECT 'p02' AS t, symbol, at AS at FROM p02 UNION ALL
SELECT 'p03' AS t, symbol, at AS at FROM p03 UNION ALL
SELECT 'p04' AS t, symbol, at AS at FROM p04 UNION ALL
SELECT 'p05' AS t, symbol, at AS at FROM p05 UNION ALL
SELECT 'p06' AS t, symbol, at AS at FROM p06 UNION ALL
SELECT 'p07' AS t, symbol, at AS at FROM p07 UNION ALL
SELECT 'p08' AS t, symbol, at AS at FROM p08 UNION ALL
SELECT 'p09' AS t, symbol, later AS at FROM p09 UNION ALL
SELECT 'p10' AS t, symbol, later AS at FROM p10 UNION ALL
SELECT 'p11' AS t, symbol, at AS at FROM p11 UNION ALL
SELECT 'p12' AS t, symbol, at AS at FROM p12 UNION ALL
SELECT 'p13' AS t, symbol, at AS at FROM p13 UNION ALL
SELECT 'p14' AS t, symbol, at AS at FROM p14 UNION ALL
SELECT 'p15' AS t, symbol, at AS at FROM p15 UNION ALL
SELECT 'p16' AS t, symbol, at AS at FROM p16 UNION ALL
SELECT 'p17' AS t, symbol, at AS at FROM p17 UNION ALL
SELECT 'p18' AS t, symbol, at AS at FROM p18 UNION ALL
SELECT 'p19' AS t, symbol, at AS at FROM p19);
