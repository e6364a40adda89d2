PRAGMA foreign_keys = OFF;
-- Two rules that overlap.
CREATE TABLE Overlap(id INTEGER PRIMARY KEY, symbol TEXT, at INTEGER);
CREATE INDEX Overlap_at ON Overlap(at);
WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 39) INSERT INTO Overlap(symbol, at)
SELECT 'XAUUSD', unixepoch('2024-12-22') - i FROM n WHERE i < 10 UNION ALL SELECT 'XAUEUR', unixepoch('2024-12-22') - i FROM n
UNION ALL SELECT 'XAUEUR', unixepoch('2025-02-10') - i FROM n WHERE i < 20 UNION ALL SELECT 'XAUUSD', unixepoch('2025-04-01') - i FROM n WHERE i < 5;
-- A rule on children of a rule before it: quotes 10 to 31 and their fills go with their prices; of the others 40, 41 and 50 are old.
CREATE TABLE Price(id INTEGER PRIMARY KEY, at INTEGER);
INSERT INTO Price(at) SELECT unixepoch('2024-12-22') FROM json_each('[1, 2, 3]') UNION ALL SELECT unixepoch('2025-04-01') FROM json_each('[1, 2, 3]');
CREATE TABLE Quote(id INTEGER PRIMARY KEY, price INTEGER REFERENCES Price(id) ON DELETE CASCADE, at INTEGER);
CREATE TABLE Fill(id INTEGER PRIMARY KEY, quote INTEGER REFERENCES Quote(id) ON DELETE CASCADE);
CREATE TABLE Remark(id INTEGER PRIMARY KEY, quote INTEGER REFERENCES Quote(id) ON DELETE SET NULL);
INSERT INTO Quote SELECT id * 10 + half.n, id, at - 3600 FROM Price, (SELECT 0 AS n UNION SELECT 1) AS half;
UPDATE Quote SET at = unixepoch('2024-12-22') WHERE id IN (40, 41, 50);
INSERT INTO Fill(quote) SELECT id FROM Quote;
INSERT INTO Remark(quote) SELECT id FROM Quote WHERE id % 10 = 0;
-- keep_last for each symbol, with ties: A and NULL keep the two that are tied, B its fresh one.
CREATE TABLE Last(id INTEGER PRIMARY KEY, symbol TEXT, at INTEGER);
CREATE INDEX Last_at ON Last(at);
INSERT INTO Last(symbol, at) SELECT symbol, at FROM (SELECT 'A' AS symbol UNION SELECT 'B' UNION SELECT NULL),
(SELECT 1600000000 AS at UNION ALL SELECT 1600000001 UNION ALL SELECT 1600000002 UNION ALL SELECT 1600000002 UNION ALL SELECT NULL);
INSERT INTO Last(symbol, at) VALUES ('B', unixepoch('2025-04-01'));
-- where with NULL.
CREATE TABLE Filtered(id INTEGER PRIMARY KEY, symbol TEXT, price REAL, at INTEGER);
CREATE INDEX Filtered_at ON Filtered(at);
INSERT INTO Filtered(symbol, price, at) VALUES ('XAUUSD', 1.5, unixepoch('2025-04-01')), (NULL, 1, 1600000000), ('A', NULL, 1600000000),
('A', 1, 1600000000), ('B', 2, 1600000000), ('C', 3, 1600000000), (NULL, NULL, 1600000000), ('D', 9, NULL);
-- DELETE triggers: what they delete is no row of the rule and no relationship. A row at the cutoff is kept.
CREATE TABLE Triggered(id INTEGER PRIMARY KEY, at INTEGER);
CREATE INDEX Triggered_at ON Triggered(at);
INSERT INTO Triggered(at) SELECT unixepoch('2024-12-22') - value FROM json_each('[0, 1, 2, 3, 4, 5, 6]') UNION ALL SELECT unixepoch('2025-04-01') - value FROM json_each('[0, 1]') UNION ALL SELECT unixepoch('2025-03-02') - value FROM json_each('[0, 1]');
CREATE TABLE Gone(id, at);
CREATE TABLE Beside(triggered INTEGER, at INTEGER);
INSERT INTO Beside SELECT id, at FROM Triggered;
CREATE TRIGGER Triggered_gone BEFORE DELETE ON Triggered BEGIN INSERT INTO Gone VALUES (OLD.id, OLD.at); END;
CREATE TRIGGER Triggered_beside AFTER DELETE ON Triggered BEGIN DELETE FROM Beside WHERE triggered = OLD.id; END;
-- Dates that cannot be read.
CREATE TABLE Mixed(id INTEGER PRIMARY KEY, at INTEGER);
CREATE INDEX Mixed_at ON Mixed(at);
WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 99) INSERT INTO Mixed(at) SELECT unixepoch('2024-12-22') - i FROM n UNION ALL SELECT unixepoch('2025-04-01') - i FROM n;
INSERT INTO Mixed(at) VALUES (NULL), (0), (-5), (86400), ('2020-01-01'), (x'00');
-- A rule that is refused between two others: the rows are counted by the rule that deletes them, too.
CREATE TABLE Shared(id INTEGER PRIMARY KEY, at INTEGER);
CREATE INDEX Shared_at ON Shared(at);
INSERT INTO Shared(at) SELECT unixepoch('2024-12-22') - value FROM json_each('[0, 1, 2, 3]') UNION ALL SELECT unixepoch('2025-02-10') - value FROM json_each('[0, 1]') UNION ALL SELECT unixepoch('2025-04-01');
