"""Nights of a store on a PostgreSQL server, with the laws of years.py: ages by symbol, bounds, dates by pattern, tables in schemas.

The life is that of history.py; what it says to SQLite is said to the server in its words."""

import datetime
import json
import os
import re

from families import is_pattern
from history import Life
from locks import Session, cluster
from rules import UTC
from scenario import require
from together import COLUMNS, SHAPES, Span
from years import Years

FORMATS = ["native", "native", "%d.%m.%Y %H:%M", "%Y/%m/%d", "%Y-%m-%d %H:%M:%S %z %Z", "%a, %d %b %Y %H:%M:%S %z", "unix_seconds", "iso8601"]
SCHEMAS = ["eu", "us_1", "us_2"]


class Store:
    """A database that understands what history.py says to sqlite3."""

    def __init__(self, session):
        self.session, self.found = session, []

    def execute(self, statement, values=()):
        for value in values:
            text = "NULL" if value is None else str(value) if isinstance(value, (int, float)) else "'" + value.replace("'", "''") + "'"
            statement = statement.replace("?", text, 1)
        for one, other in [(r"\bTick\b", '"Tick"'), (" WITHOUT ROWID$", ""), (r"\bINTEGER\b", "BIGINT"), (r"\bREAL\b", "DOUBLE PRECISION"),
                           ("keep_days\\)$", "keep_days TEXT)"), ("^INSERT OR IGNORE(.*)", r"INSERT\1 ON CONFLICT DO NOTHING")]:
            statement = re.sub(one, other, statement)
        if statement.startswith("SELECT"):
            lines = self.session.ask(f"SELECT coalesce(json_agg(x), '[]') FROM ({statement}) x")
            self.found = [tuple(row.values()) for row in json.loads("".join(lines))]
        elif not statement.startswith("PRAGMA"):
            self.session.ask(statement)
        return self

    def fetchall(self):
        return self.found

    def fetchone(self):
        return self.found[0] if self.found else None

    def close(self):
        pass


class ServerLife(Life):
    def __init__(self, chance, session, url):
        super().__init__(chance)
        self.session, self.url = session, url
        self.shape, self.has_rowid, self.order = "WITHOUT ROWID by id", False, SHAPES["WITHOUT ROWID by id"][1]
        self.format = chance.choice(FORMATS)
        self.known = {}
        self.days_only = self.format == "%Y/%m/%d"
        self.children, self.is_logged, self.is_archived, self.indexes = None, False, False, chance.choice([[], ["at"], ["symbol, at"]])
        if self.feature == "tables":
            self.tables = [f"{schema}.ticks" for schema in SCHEMAS[:chance.choice([2, 3])]]
        self.columns = ", ".join(COLUMNS)
        self.written = []
        for _ in range(chance.choice([1, 2])):
            self.add_rule()

    def open(self, _=None):
        return Store(self.session)

    def make(self):
        self.rules = self.written
        store = self.open()
        for schema in SCHEMAS:
            store.execute(f"CREATE SCHEMA {schema}")
        for table in self.tables:
            self.create(store, table)
        store.execute("CREATE TABLE symbol_ages(name TEXT, keep_days)")
        for number, moment in enumerate(self.moments(60)):
            self.insert(store, self.row(number, moment), None)

    def create(self, store, table):
        super().create(store, table)
        if self.format == "native":
            for column in ("at", "seen"):
                store.execute(f"ALTER TABLE {table} ALTER {column} TYPE timestamptz USING NULL")

    def value(self, moment):
        return moment.isoformat() if self.format == "native" else super().value(moment)

    def read_date(self, value):
        if self.format != "native":
            return super().read_date(value)
        return Span(datetime.datetime.fromisoformat(value).astimezone(UTC)) if value else None

    def row(self, number, moment):
        row = super().row(number, moment)
        row["price"] = None if isinstance(row["price"], str) else row["price"]
        for name in ("at", "seen"):
            row[name] = None if row[name] == "n/a" and self.format in ("native", "unix_seconds") else row[name]
        return row

    def change_pattern(self, rule):
        rule.entity = self.chance.choice(["*.ticks", "us_?.ticks", "us_*.t*", "[eu][us].ticks", "eu.ticks", "us_1.ticks"])
        rule.excepted = self.chance.choice([[], [], ["us_2.*"]]) if is_pattern(rule) else []
        return f"lets {rule.name} name {rule.entity} except {rule.excepted}"

    def write(self, folder, rules):
        super().write(folder, rules)
        with open(f"{folder}/retention.yaml") as policy:
            text = policy.read()
        with open(f"{folder}/retention.yaml", "w") as policy:
            policy.write(text.replace("store: prices.sqlite", f'store: "{self.url}"'))

    def edit_tables(self, store):
        table = f"{self.chance.choice(SCHEMAS)}.ticks"
        if table in self.tables and len(self.tables) > 1:
            store.execute(f"DROP TABLE {table}")
            self.tables = [name for name in self.tables if name != table]
            self.holds = [hold for hold in self.holds if hold.table != table]
            return f"the table {table} goes"
        if table not in self.tables:
            self.create(store, table)
            self.tables = [*self.tables, table]
            return f"the table {table} appears"
        return None


class Server(Years):
    can_move = False

    def __init__(self, program, chance, folder):
        self.program, self.chance, self.base, self.folder = program, chance, folder, folder
        os.makedirs(folder)
        self.database = "trial_" + "".join(chance.choice("abcdefghijklmnop") for _ in range(12))
        cluster().psql(f"CREATE DATABASE {self.database}")
        session = Session(cluster(), self.database)
        session.ask("SET timezone = 'UTC'; SET client_min_messages = error")
        self.life = ServerLife(chance, session, f"postgresql://retention@/{self.database}?host={cluster().folder}")
        self.life.make()
        self.start()

    def look(self, is_stopped=False):
        return ServerState(self.life)

    def store_bytes(self):
        return self.look().whole

    def carry_out(self, accept):
        before = self.look()
        planned = self.report(self.call(*self.words(accept), "--dry-run"))
        require(self.store_bytes() == before.whole, "the dry run changed the store")
        self.life.compare(planned["rules"], self.judge(before.rows), "the dry run")
        self.again(self.quiet(before, accept, planned))

    def quiet(self, before, accept, planned):
        return self.check_whole(self.report(self.call(*self.words(accept))), before, accept, planned)


class ServerState:
    """What is in the database, as history.State."""

    def __init__(self, life):
        store = life.open()
        self.tables, self.notes, self.log = life.tables, {}, {"gone": [], "new": []}
        self.rows = life.read(store)
        self.whole = {number: repr([row[name] for name in COLUMNS]) for number, row in self.rows.items()}
