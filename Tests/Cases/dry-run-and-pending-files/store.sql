PRAGMA foreign_keys = OFF;
-- Of the files 1 is there and expired, 2 is there and fresh, 3 and 4 are new, 4 twice; 5 has no date. 6 has the symbol and time of 9 under another key.
CREATE TABLE Fail(id INTEGER PRIMARY KEY, symbol TEXT, price REAL, at INTEGER, UNIQUE (symbol, at));
INSERT INTO Fail VALUES (1, 'XAUUSD', 1, unixepoch('2024-12-22')), (2, 'XAUUSD', 2, unixepoch('2025-04-01')), (9, 'XAUUSD', 3, 1600000000), (10, 'XAGUSD', 3, 1600000001);
CREATE TABLE Ignore(id INTEGER PRIMARY KEY, symbol TEXT, price REAL, at INTEGER, UNIQUE (symbol, at));
INSERT INTO Ignore VALUES (1, 'XAUUSD', 1, unixepoch('2024-12-22')), (2, 'XAUUSD', 2, unixepoch('2025-04-01')), (9, 'XAUUSD', 3, 1600000000), (10, 'XAGUSD', 3, 1600000001);
CREATE TABLE Replace(id INTEGER PRIMARY KEY, symbol TEXT, price REAL, at INTEGER, UNIQUE (symbol, at));
INSERT INTO Replace VALUES (1, 'XAUUSD', 1, unixepoch('2024-12-22')), (2, 'XAUUSD', 2, unixepoch('2025-04-01')), (9, 'XAUUSD', 3, 1600000000), (10, 'XAGUSD', 3, 1600000001);
-- Rows that constraints reject: line 2 the partial index, 4 the foreign key, 5 the check, 6 NOT NULL, 7 the generated column, 8 no number, 11 that of 9.
CREATE TABLE Symbol(name TEXT PRIMARY KEY);
INSERT INTO Symbol VALUES ('XAUUSD'), ('XAUEUR');
CREATE TABLE Checked(id INTEGER PRIMARY KEY, symbol TEXT NOT NULL REFERENCES Symbol, price REAL CHECK (price > 0), at INTEGER, cents INTEGER AS (price * 100) STORED UNIQUE) STRICT;
CREATE UNIQUE INDEX Checked_dear ON Checked(symbol, at) WHERE price > 10;
INSERT INTO Checked(symbol, price, at) VALUES ('XAUUSD', 20, 1600000000), ('XAUEUR', 5, 1600000000);
-- keep_last counts pending rows.
CREATE TABLE Last(id INTEGER PRIMARY KEY, symbol TEXT, at INTEGER);
INSERT INTO Last(symbol, at) VALUES ('A', 1600000000), ('A', 1600000001), ('B', 1600000000), ('C', unixepoch('2025-04-01'));
-- A row that is replaced, whose children cascade.
CREATE TABLE Parent(id INTEGER PRIMARY KEY, at INTEGER);
CREATE TABLE Child(id INTEGER PRIMARY KEY, parent INTEGER REFERENCES Parent(id) ON DELETE CASCADE);
INSERT INTO Parent VALUES (1, 1600000000), (2, 1600000000), (3, unixepoch('2025-04-01'));
INSERT INTO Child(parent) VALUES (1), (1), (2), (3);
-- A table without rowid, and text keys without case: the first line is there, the second is written otherwise.
CREATE TABLE Keyed(symbol TEXT COLLATE NOCASE, at TEXT, price REAL, PRIMARY KEY (symbol, at)) WITHOUT ROWID;
INSERT INTO Keyed VALUES ('xauusd', '2020-01-01T00:00:00Z', 1), ('xaueur', '2025-03-31', 2);
-- Pending children of rows that go, and ones that keep a row.
CREATE TABLE Price(id INTEGER PRIMARY KEY, at INTEGER);
CREATE TABLE Quote(id INTEGER PRIMARY KEY, price INTEGER REFERENCES Price(id) ON DELETE SET NULL, at INTEGER);
INSERT INTO Price VALUES (1, 1600000000), (2, unixepoch('2025-04-01'));
INSERT INTO Quote(price, at) VALUES (1, unixepoch('2025-04-01')), (2, 1600000000);
CREATE TABLE Deal(id INTEGER PRIMARY KEY, at INTEGER);
CREATE TABLE Bill(id INTEGER PRIMARY KEY, deal INTEGER REFERENCES Deal(id), at INTEGER);
INSERT INTO Deal VALUES (1, 1600000000), (2, unixepoch('2025-04-01'));
-- What an insert sets off.
CREATE TABLE Twin(id INTEGER PRIMARY KEY, symbol TEXT, price REAL, at INTEGER);
INSERT INTO Twin(symbol, price, at) VALUES ('XAUUSD', 1.5, unixepoch('2024-12-22')), ('XAUUSD', 1.5, unixepoch('2024-12-22') - 1), ('XAUUSD', 1.5, unixepoch('2025-04-01'));
CREATE TABLE Refusing(id INTEGER PRIMARY KEY, symbol TEXT, price REAL, at INTEGER);
INSERT INTO Refusing(symbol, price, at) VALUES ('XAUUSD', 1.5, unixepoch('2024-12-22')), ('XAUUSD', 1.5, unixepoch('2024-12-22') - 1), ('XAUUSD', 1.5, unixepoch('2025-04-01'));
CREATE TABLE Lower(id INTEGER PRIMARY KEY, symbol TEXT, price REAL, at INTEGER);
INSERT INTO Lower(symbol, price, at) VALUES ('XAUUSD', 1.5, unixepoch('2024-12-22')), ('XAUUSD', 1.5, unixepoch('2024-12-22') - 1), ('XAUUSD', 1.5, unixepoch('2025-04-01'));
CREATE TABLE Full(id INTEGER PRIMARY KEY, symbol TEXT, price REAL, at INTEGER);
INSERT INTO Full(symbol, price, at) VALUES ('XAUUSD', 1.5, unixepoch('2024-12-22')), ('XAUUSD', 1.5, unixepoch('2024-12-22') - 1), ('XAUUSD', 1.5, unixepoch('2025-04-01'));
CREATE TABLE Moved(id INTEGER PRIMARY KEY, symbol TEXT, price REAL, at INTEGER);
INSERT INTO Moved(symbol, price, at) VALUES ('XAUUSD', 1.5, unixepoch('2024-12-22')), ('XAUUSD', 1.5, unixepoch('2024-12-22') - 1), ('XAUUSD', 1.5, unixepoch('2025-04-01'));
CREATE TABLE Again(id INTEGER PRIMARY KEY, symbol TEXT, price REAL, at INTEGER);
INSERT INTO Again(symbol, price, at) VALUES ('XAUUSD', 1.5, unixepoch('2024-12-22')), ('XAUUSD', 1.5, unixepoch('2024-12-22') - 1), ('XAUUSD', 1.5, unixepoch('2025-04-01'));
CREATE TRIGGER Twin_new AFTER INSERT ON Twin BEGIN INSERT INTO Twin(symbol, at) SELECT 'twin', NEW.at WHERE NEW.symbol <> 'twin'; END;
CREATE TRIGGER Refusing_no BEFORE INSERT ON Refusing BEGIN SELECT RAISE(ABORT, 'no'); END;
CREATE UNIQUE INDEX Lower_u ON Lower(lower(symbol), at);
INSERT INTO Full(id, at) VALUES (9223372036854775807, unixepoch('2025-04-01'));
CREATE UNIQUE INDEX Moved_u ON Moved(symbol, at);
CREATE TABLE Follower(moved INTEGER REFERENCES Moved(id) ON DELETE CASCADE ON UPDATE CASCADE);
INSERT INTO Follower SELECT id FROM Moved;
CREATE TRIGGER Again_new AFTER UPDATE ON Again BEGIN UPDATE Again SET price = 7 WHERE id = NEW.id; END;
