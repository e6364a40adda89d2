CREATE TABLE Price(id INTEGER PRIMARY KEY, symbol TEXT, price REAL, at BIGINT);
CREATE INDEX Price_at ON Price(at);
CREATE TABLE Quote(id INTEGER PRIMARY KEY, symbol TEXT, price REAL, at BIGINT);
CREATE INDEX Quote_at ON Quote(at);
CREATE VIRTUAL TABLE "Price text" USING fts5(symbol, content='Price', content_rowid='id');
CREATE TRIGGER Price_insert AFTER INSERT ON Price BEGIN
    INSERT INTO "Price text"(rowid, symbol) VALUES (new.id, new.symbol);
END;
CREATE TRIGGER Price_delete AFTER DELETE ON Price BEGIN
    INSERT INTO "Price text"("Price text", rowid, symbol) VALUES ('delete', old.id, old.symbol);
END;
WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 39)
INSERT INTO Price SELECT i + 1, 'XAUUSD', 1.5, 1735689600 + i FROM n;
INSERT INTO Price VALUES (41, 'XAUUSD', 1.5, 1743379200), (42, 'XAUUSD', 1.5, 1743379200);
INSERT INTO Quote SELECT * FROM Price;
UPDATE Price SET symbol = 'quite another text';
