-- A trigger that calls a function of the application.
CREATE TABLE Price(id INTEGER PRIMARY KEY, symbol TEXT, price REAL, at BIGINT);
CREATE INDEX Price_at ON Price(at);
INSERT INTO Price VALUES
    (1, 'XAUUSD', 1.5, 1735689600), (2, 'XAUUSD', 1.5, 1735689601), (3, 'XAUUSD', 1.5, 1735689602), (4, 'XAUUSD', 1.5, 1735689603),
    (5, 'XAUUSD', 1.5, 1743379200), (6, 'XAUUSD', 1.5, 1743379201);
CREATE TRIGGER t AFTER INSERT ON Price BEGIN SELECT app_ok(NEW.id); END;
