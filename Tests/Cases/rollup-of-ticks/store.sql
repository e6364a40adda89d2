-- 10,000 ticks from 2026-01-01T00:00Z on, two at a time, of two symbols and of none. Some have no price.
CREATE TABLE Tick (id INTEGER PRIMARY KEY, symbol TEXT, at INTEGER, price NUMERIC, volume INTEGER);
WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 9999)
INSERT INTO Tick SELECT (i * 7919) % 10007, CASE i % 3 WHEN 0 THEN 'XAUUSD' WHEN 1 THEN 'EURUSD' END, 1767225600000 + i / 6 * 41100,
CASE WHEN i % 500 = 0 THEN 'n/a' WHEN i % 501 = 0 THEN -1 ELSE 100 + i * 7919 % 101 END, CASE WHEN i % 7 > 0 THEN i % 5 END FROM n;
CREATE TABLE EveryTick AS SELECT * FROM Tick;
-- The candles of all ticks by another way.
CREATE VIEW JudgedMinute AS SELECT DISTINCT symbol, time, first_value(price) OVER bucket AS open, max(price) OVER bucket AS high, min(price) OVER bucket AS low, last_value(price) OVER bucket AS close,
sum(coalesce(volume, 0)) OVER bucket AS volume, count(*) OVER bucket AS count, first_value(at) OVER bucket AS open_time, last_value(at) OVER bucket AS close_time, sum(price * coalesce(volume, 0)) OVER bucket AS price_volume
FROM (SELECT *, at / 60000 * 60000 AS time FROM EveryTick WHERE price > 0 AND price < 'a')
WINDOW bucket AS (PARTITION BY symbol, time ORDER BY at, id ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING);
CREATE VIEW JudgedHour AS SELECT DISTINCT symbol, time, first_value(price) OVER bucket AS open, max(price) OVER bucket AS high, min(price) OVER bucket AS low, last_value(price) OVER bucket AS close,
sum(coalesce(volume, 0)) OVER bucket AS volume, count(*) OVER bucket AS count, first_value(at) OVER bucket AS open_time, last_value(at) OVER bucket AS close_time, sum(price * coalesce(volume, 0)) OVER bucket AS price_volume
FROM (SELECT *, at / 3600000 * 3600000 AS time FROM EveryTick WHERE price > 0 AND price < 'a')
WINDOW bucket AS (PARTITION BY symbol, time ORDER BY at, id ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING);
