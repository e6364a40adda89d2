CREATE TABLE Tick(id INTEGER PRIMARY KEY, at TEXT, price NUMERIC, volume NUMERIC);
CREATE INDEX Tick_at ON Tick(at);
INSERT INTO Tick VALUES (9, '2025-01-01 00:00:00', 9, 1), (10, '2025-01-01 00:00:01', 1, 1), (20, '2025-01-01T00:00:01', 2, 1);
CREATE TABLE Quote(id INTEGER PRIMARY KEY, at TEXT, price NUMERIC, volume NUMERIC);
INSERT INTO Quote VALUES (1, '2025-01-01 10:31:00', 5, 1);
CREATE TABLE candles(time TEXT PRIMARY KEY, open, high, low, close, volume, count, open_time TEXT, close_time TEXT, price_volume);
INSERT INTO candles VALUES ('2025-01-01 10:00:00', 5, 9, 5, 6, 0, 7, '2025-01-01 10:00:00', '2025-01-01 10:00:00', 0);
