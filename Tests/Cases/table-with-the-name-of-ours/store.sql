CREATE TABLE retention_taken(at INTEGER, note TEXT);
INSERT INTO retention_taken VALUES (1600000000, 'old'), (unixepoch('2025-03-31'), 'new');
