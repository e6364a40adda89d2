-- The newest tick of each symbol is bad.
CREATE TABLE tick(id INTEGER PRIMARY KEY, at BIGINT NOT NULL, s TEXT NOT NULL, f TEXT NOT NULL);
CREATE INDEX tick_at ON tick(at);
INSERT INTO tick VALUES
    (1, 1735689600, 'a', 'good'), (2, 1735689601, 'a', 'good'), (3, 1735689602, 'a', 'bad'),
    (4, 1735689600, 'b', 'good'), (5, 1735689601, 'b', 'bad'), (6, 1743379200, 'c', 'good');
