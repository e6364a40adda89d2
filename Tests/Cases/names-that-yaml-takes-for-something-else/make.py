import sqlite3
bad = "bad\x1b[2J\u202e\nline"
c = sqlite3.connect("names.sqlite")
for table, column, value in [
    ("true", "created: at", "'2025-01-02T03:04:05Z'"), ("a'b \"c\" # {}", "12 date", "unixepoch()"),
    ("A-B \"C\" # {}", "at", "unixepoch()"), (bad, "at", "unixepoch()"),
]:
    quoted = table.replace('"', '""')
    c.execute(f'CREATE TABLE "{quoted}"("on" TEXT, "{column}" {"TEXT" if value[0] == chr(39) else "INTEGER"})')
    c.execute(f'INSERT INTO "{quoted}"("{column}") VALUES ({value})')
c.commit()
