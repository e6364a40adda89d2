PRAGMA foreign_keys = OFF;
CREATE TABLE price(id INTEGER PRIMARY KEY, at INTEGER, symbol TEXT);
INSERT INTO price(at) VALUES (unixepoch('2025-11-21')), (unixepoch('2025-10-02'));
UPDATE price SET symbol = 'XAU';
CREATE TABLE other(id INTEGER PRIMARY KEY, price INTEGER REFERENCES price ON DELETE CASCADE, at INTEGER);
CREATE TABLE third(id INTEGER PRIMARY KEY, at INTEGER);
INSERT INTO third(at) VALUES (unixepoch('2025-11-21')), (unixepoch('2025-10-02'));
CREATE VIEW seen AS SELECT * FROM price;
CREATE VIRTUAL TABLE words USING fts5(word);
-- References by which rows are held, and which a delete clears: in the same rows, in rows of the same batch or of a later one.
-- The last two are of rows that a cascade takes, which refer to each other, or to what goes with them.
CREATE TABLE price1(id INTEGER PRIMARY KEY, at INTEGER, up INTEGER REFERENCES price1 ON DELETE SET NULL);
CREATE TABLE child1(id INTEGER PRIMARY KEY, price INTEGER REFERENCES price1 ON DELETE CASCADE);
INSERT INTO price1(at) VALUES (unixepoch('2025-11-21')), (unixepoch('2025-10-02'));
CREATE TABLE price2(id INTEGER PRIMARY KEY, at INTEGER, up INTEGER REFERENCES price2 ON DELETE SET DEFAULT);
CREATE TABLE child2(id INTEGER PRIMARY KEY, price INTEGER REFERENCES price2 ON DELETE CASCADE);
INSERT INTO price2(at) VALUES (unixepoch('2025-11-21')), (unixepoch('2025-10-02'));
CREATE TABLE price3(id INTEGER PRIMARY KEY, at INTEGER, up INTEGER REFERENCES price3);
CREATE TABLE child3(id INTEGER PRIMARY KEY, price INTEGER REFERENCES price3 ON DELETE CASCADE);
INSERT INTO price3(at) VALUES (unixepoch('2025-11-21')), (unixepoch('2025-10-02'));
CREATE TABLE price4(id INTEGER PRIMARY KEY, at INTEGER, more INTEGER);
CREATE TABLE child4(id INTEGER PRIMARY KEY, price INTEGER REFERENCES price4 ON DELETE CASCADE, up INTEGER REFERENCES child4 ON DELETE SET NULL);
INSERT INTO price4(at) VALUES (unixepoch('2025-11-21')), (unixepoch('2025-10-02'));
CREATE TABLE price5(id INTEGER PRIMARY KEY, at INTEGER, more INTEGER);
CREATE TABLE child5(id INTEGER PRIMARY KEY, price INTEGER REFERENCES price5 ON DELETE CASCADE, up INTEGER REFERENCES price5 ON DELETE SET NULL);
INSERT INTO price5(at) VALUES (unixepoch('2025-11-21')), (unixepoch('2025-10-02'));
-- A reference of rows that stay.
CREATE TABLE price6(id INTEGER PRIMARY KEY, at INTEGER);
CREATE TABLE child6(id INTEGER PRIMARY KEY, at INTEGER, price INTEGER REFERENCES price6 ON DELETE SET NULL);
INSERT INTO price6(at) VALUES (unixepoch('2025-11-21')), (unixepoch('2025-10-02'));
