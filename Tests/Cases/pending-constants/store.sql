CREATE TABLE n(id INTEGER PRIMARY KEY, t TEXT, i INTEGER, r REAL, d DECIMAL(9,2), at INTEGER);
CREATE TABLE Price(id INTEGER PRIMARY KEY, at INTEGER, v TEXT, w REAL);
INSERT INTO Price VALUES (0, unixepoch('2024-12-22'), '1.50', 1.5), (1, unixepoch('2024-12-22'), '1.50', 1.5), (2, unixepoch('2025-04-01'), '1.50', 1.5), (3, unixepoch('2025-04-01'), '1.50', 1.5);
