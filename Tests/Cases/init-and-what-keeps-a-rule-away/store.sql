CREATE TABLE Licence(id INTEGER PRIMARY KEY, expires_at INTEGER);
INSERT INTO Licence(expires_at) SELECT unixepoch() + 86400 * value FROM (SELECT 30 AS value UNION SELECT 90);
CREATE TABLE Session(id INTEGER PRIMARY KEY, expires_at INTEGER, created_at INTEGER);
INSERT INTO Session(expires_at, created_at) VALUES (unixepoch() + 8640000, unixepoch() - 100);
CREATE TABLE Calendar(date TEXT PRIMARY KEY, is_open INTEGER);
WITH RECURSIVE c(n) AS (SELECT -300 UNION ALL SELECT n + 1 FROM c WHERE n < 300) INSERT INTO Calendar SELECT date('now', n || ' days'), 1 FROM c;
CREATE TABLE Login(at INTEGER);
INSERT INTO Login VALUES (unixepoch() - 100);
