import sqlite3
import sys

ledger = sqlite3.connect("l.sqlite")
for table in ["run", "run_rule"]:
    columns = ledger.execute(f"SELECT name FROM pragma_table_info('{table}') WHERE type = 'INTEGER' AND pk = 0")
    ledger.execute(f"UPDATE {table} SET " + ", ".join(f'"{name}" = {sys.argv[1]}' for name, in columns.fetchall()))
ledger.commit()
