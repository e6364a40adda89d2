-- 21 days of four ticks. The last tick of each day is bad, and it is the pick of its day.
CREATE TABLE tick(id INTEGER PRIMARY KEY, at BIGINT NOT NULL, f TEXT NOT NULL);
CREATE INDEX tick_at ON tick(at);
WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 83)
INSERT INTO tick SELECT i, 1735689600 + i * 21600, CASE i % 4 WHEN 3 THEN 'bad' ELSE 'good' END FROM n;
INSERT INTO tick VALUES (1000, 1743379200, 'good');
