CREATE TABLE price(id INTEGER PRIMARY KEY, symbol TEXT, ts INTEGER);
-- From 2024-12-22 on, two rows of A, then three of B.
INSERT INTO price VALUES (1, 'A', 1734825600), (2, 'A', 1734912000), (3, 'B', 1735171200), (4, 'B', 1735257600), (5, 'B', 1743379200);
