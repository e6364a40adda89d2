CREATE TABLE Price(id INTEGER PRIMARY KEY, symbol TEXT, price REAL, at BIGINT);
CREATE INDEX Price_at ON Price(at);
CREATE VIRTUAL TABLE "Price text" USING fts5(symbol, content='Price', content_rowid='id');
CREATE TRIGGER Price_insert AFTER INSERT ON Price BEGIN
    INSERT INTO "Price text"(rowid, symbol) VALUES (new.id, new.symbol);
END;
CREATE TRIGGER Price_delete AFTER DELETE ON Price BEGIN
    INSERT INTO "Price text"("Price text", rowid, symbol) VALUES ('delete', old.id, old.symbol);
END;
INSERT INTO Price VALUES
    (1, 'XAUUSD', 1.5, 1735689600), (2, 'XAUUSD', 1.5, 1735689601), (3, 'XAUUSD', 1.5, 1735689602), (4, 'XAUUSD', 1.5, 1735689603),
    (5, 'XAUUSD', 1.5, 1743379200), (6, 'XAUUSD', 1.5, 1743379201);
