"""What happens to a store from night to night: a feed, and people who change the policy. Made of a seed, for years.py."""

import copy
import datetime
import json
import os
import random
import sqlite3
import types

from families import DAYS_ONLY, NO_DATES, PATTERNS, Ages, expand, is_pattern, matches, read_date, write_date
from rules import EPOCH, UTC, instant, instant_of_date
from together import APPLE, DAY, MICROSECOND, SECOND, Hold, Judge, Rule, Span, World, parsed, whole

# Formats besides those of together.py. How many units are in a microsecond, or microseconds in a unit, and the first instant.
SCALES = {
    "unix_nanoseconds": (1000, EPOCH), "apple_nanoseconds": (1000, EPOCH + APPLE * SECOND),
    "webkit_microseconds": (1, datetime.datetime(1601, 1, 1, tzinfo=UTC)),
    "windows_filetime": (10, datetime.datetime(1601, 1, 1, tzinfo=UTC)),
    "dotnet_ticks": (10, datetime.datetime(1, 1, 1, tzinfo=UTC))}
DAYS = ["unix_days", "yyyymmdd"]
FORMATS = ["unix_seconds", "unix_seconds", "unix_milliseconds", "unix_microseconds", "apple_seconds", "iso8601", "iso8601", *SCALES,
           *DAYS, "yyyymmddhhmmss", *PATTERNS]
AGES = [whole(age) for age in ({"d": 1}, {"d": 2}, {"d": 5}, {"d": 10}, {"w": 2}, {"d": 30}, {"mo": 1}, {"d": 60}, {"mo": 3})]
# Tables of rules with plain names.
NAMES = ["tick_0", "tick_1", "tick_2", "tick_3"]
# What refers to a row, and what becomes of it: nothing does, it goes too, its reference becomes NULL, a trigger deletes it.
CHILDREN = [None, None, "CASCADE", "SET NULL", "trigger"]
# The columns that distinguish a row from another one. Without any, rows that are equal are the same.
KEYS = {"rowid": ["id"], "no key": [], "text key": ["id"], "WITHOUT ROWID by id": ["id"], "WITHOUT ROWID by symbol": ["symbol", "at"],
        "WITHOUT ROWID by date": ["at", "symbol", "id"]}


def days(age):
    return age["y"] * 365 + age["mo"] * 31 + age["w"] * 7 + age["d"] + age["h"] / 24


class HoldForATime(Hold):
    """A hold that may end by itself, and may hold the rows that refer to others."""

    def __init__(self, life, name):
        super().__init__(life.chance, name, life.as_of, has_dates=True)
        self.is_over = False
        self.table = life.chance.choice(life.tables) if len(life.tables) > 1 else life.tables[0]
        noon = life.as_of.replace(hour=12, minute=0, second=0, microsecond=0)
        self.expires = noon + life.chance.randrange(2, 60) * DAY if life.chance.random() < 0.4 else None
        self.of_notes = life.children in ("CASCADE", "SET NULL") and life.chance.random() < 0.4
        self.keeps_parents = life.children == "CASCADE"

    def policy(self):
        is_over, self.is_over = self.is_over, False
        text = super().policy().replace("entity: Tick", f"entity: {self.table}") if not self.of_notes else (
            f"  - {{ name: {self.name}, entity: Note, reason: a dispute, where: {{ kind: important }} }}\n")
        self.is_over = is_over
        return text.replace(" }\n", f", expires: {self.expires:%Y-%m-%dT%H:%M:%SZ} }}\n") if self.expires else text

    def covers(self, row, attributes):
        if not self.of_notes:
            return row["table"] == self.table and super().covers(row, attributes)
        return not self.is_over and self.keeps_parents and any(kind in ("important", None) for kind in row["notes"])


class State:
    """What is in a store: rows to judge, and everything with its types."""

    def __init__(self, life, path):
        store = sqlite3.connect(path)
        self.tables = life.tables
        try:
            self.integrity = store.execute("PRAGMA integrity_check").fetchall()
            self.rows = life.read(store)
            self.whole = {row[0]: repr(row) for table in life.tables
                          for row in store.execute(f"SELECT {life.columns} FROM {table}").fetchall()}
            self.notes = {row[0]: row for row in store.execute("SELECT id, tick, kind FROM Note")} if life.children else {}
            self.log = {what: sorted(number for number, in store.execute("SELECT id FROM Log WHERE what = ?", [what]))
                        for what in ("gone", "new")} if life.is_logged else {"gone": [], "new": []}
        finally:
            store.close()


class Life(World):
    """A store of a seed, its policy, and what changes both."""

    def __init__(self, chance, may_be_named=False):
        super().__init__(chance, is_disturbed=True)
        self.format = chance.choice(FORMATS)
        self.days_only = self.format in DAYS + DAYS_ONLY or (self.format == "iso8601" and chance.random() < 0.3)
        self.as_of = self.as_of.replace(hour=1, minute=0, second=0, microsecond=0)
        self.is_strict, self.holds, self.has_ledger, self.method = False, [], True, []
        self.is_archived = chance.random() < 0.85
        self.children = chance.choice(CHILDREN) if self.shape in ("rowid", "WITHOUT ROWID by id") else None
        self.is_logged = chance.random() < 0.3
        self.max_late = chance.choice([None, None, 3, 20])
        self.batch_rows = chance.choice([1, 5, 17])
        self.batch = f"batch: {{ rows: {self.batch_rows}, pause: none }}"
        self.count = self.comments = 0
        self.next = 1000
        # What the store and the policy have: one table or several, ages by symbol, a bound.
        self.feature = chance.choice([None, "ages", "ages", "bounds", "bounds", "tables", "tables"])
        # Without a choice of its own, so that the other lives of a seed stay what they were.
        is_named = random.Random(f"named {chance.getstate()}").random() < 0.25 or os.environ.get("YEARS_FEATURE") == "named"
        if may_be_named and is_named:
            self.feature, self.children, self.tables = "named", None, NAMES[:chance.choice([2, 3, 3])]
        if self.feature == "tables":
            self.children, self.tables = None, ["tick_a", "tick_b", "tick_c"][:chance.choice([1, 2, 3])]
        # The days between two runs of the job, most nights or most weeks.
        is_weekly = random.Random(f"weekly {chance.getstate()}").random() < 0.5
        self.gaps = [7] * 14 + [1, 6, 14, 40] if is_weekly else [1] * 14 + [2, 3, 7, 40]
        # What rules with another name were called before.
        self.former_names = {}
        self.table_of_ages = {}
        # The last snapshot of the policy.
        self.last = None
        # The rules of the policy; `rules` has what they are for the tables and ages of the night.
        self.written = []
        # Each rule with ages is several.
        for _ in range(chance.choice([1, 2, 3, 4] if self.feature != "ages" else [1, 2])):
            self.add_rule()
        # Undos and holds stand in each other's way: rows that come back are then allowed.
        self.is_undone = True
        if self.feature == "named" and chance.random() < 0.5:
            self.is_undone, self.max_late = False, None
            self.holds = [HoldForATime(self, f"hold-{number}") for number in range(2)]
        self.pace = chance.choice([1, 3, 6, 10])
        self.stops = {symbol: chance.randrange(5, 200) for symbol in ("B", "C")}
        self.columns = "id, " + ("rowid, " if self.shape in ("no key", "text key") else "") + "symbol, venue, f, v, at, seen, price" + (
            ", code" if self.shape == "text key" else "")
        self.fed = []

    def __str__(self):
        return (f"{super().__str__()}, {self.feature or 'no feature'}, rows that refer: {self.children}" + (", a log by triggers" if self.is_logged else "")
                + f", at most {self.max_late} late rows")

    # The store

    def key(self, row):
        return row["table"], *(row[column] for column in KEYS[self.shape])

    def value(self, moment):
        if "%" in self.format:
            if self.chance.random() < 0.03 and self.format in NO_DATES:
                return self.chance.choice(NO_DATES[self.format])
            return write_date(self.format, moment, self.zone, self.chance)
        if self.format in SCALES:
            scale, first = SCALES[self.format]
            return (moment - first) // MICROSECOND * scale
        if self.format == "unix_days":
            return (moment - EPOCH) // DAY
        if self.format in ("yyyymmdd", "yyyymmddhhmmss"):
            return int(moment.astimezone(self.zone).strftime("%Y%m%d" if self.format == "yyyymmdd" else "%Y%m%d%H%M%S"))
        return super().value(moment)

    def parsed(self, value):
        if value not in self.known:
            self.known[value] = self.read_date(value)
        return self.known[value]

    def read_date(self, value):
        if "%" in self.format:
            return read_date(self.format, value, self.zone)
        if self.format in ("iso8601", "unix_seconds", "unix_milliseconds", "unix_microseconds", "apple_seconds"):
            return parsed(value, self.format, self.zone)
        if not isinstance(value, int):
            return None
        if self.format in SCALES:
            scale, first = SCALES[self.format]
            return Span(first + value // scale * MICROSECOND)
        if self.format == "unix_days":
            return Span(EPOCH + value * DAY, EPOCH + (value + 1) * DAY)
        if self.format == "yyyymmdd":
            day = datetime.datetime.strptime(str(value), "%Y%m%d")
            return Span(instant(day, self.zone), instant(day + DAY, self.zone))
        return Span(instant_of_date(datetime.datetime.strptime(str(value), "%Y%m%d%H%M%S"), self.zone))

    def read(self, store):
        """The rows, each with the kinds of those that refer to it."""
        rows, notes = super().read(store), {}
        for tick, kind in store.execute("SELECT tick, kind FROM Note").fetchall() if self.children else []:
            notes.setdefault(tick, []).append(kind)
        return rows | {number: dict(rows[number], notes=kinds) for number, kinds in notes.items() if number in rows}

    def see(self, table, values):
        row = super().see(table, values)
        row["notes"] = []
        return row

    def make(self, folder):
        self.rules = self.written
        super().make(folder)
        with sqlite3.connect(f"{folder}/prices.sqlite") as store:
            if self.children:
                key = "tick INTEGER" + (f" REFERENCES Tick ON DELETE {self.children}" if self.children != "trigger" else "")
                store.execute(f"CREATE TABLE Note(id INTEGER PRIMARY KEY AUTOINCREMENT, {key}, kind TEXT)")
                if self.chance.random() < 0.7:
                    store.execute("CREATE INDEX Note_tick ON Note(tick)")
                for number, in store.execute("SELECT id FROM Tick ORDER BY id").fetchall():
                    self.add_note(store, number)
            if self.children == "trigger":
                store.execute("CREATE TRIGGER Tick_notes AFTER DELETE ON Tick BEGIN DELETE FROM Note WHERE tick = old.id; END")
            for table in self.tables:
                self.add_log(store, table)
            store.execute("CREATE TABLE symbol_ages(name TEXT, keep_days)")
        store.close()

    def open(self, path):
        return sqlite3.connect(path, isolation_level=None)

    def add_log(self, store, table):
        """The triggers of a table, if the store has a log."""
        if self.is_logged:
            store.execute("CREATE TABLE IF NOT EXISTS Log(what TEXT, id INTEGER)")
            for what, event, row in (("gone", "DELETE", "old"), ("new", "INSERT", "new")):
                self.created += 1
                store.execute(f"CREATE TRIGGER {what}_{self.created} AFTER {event} ON {table} BEGIN INSERT INTO Log VALUES ('{what}', {row}.id); END")

    def row(self, number, moment):
        row = super().row(number, moment)
        if self.feature == "ages" and self.chance.random() < 0.3:
            row["symbol"] = self.chance.choice(["BA", "BTC", "b", "NEW", "a"])
        return row

    def add_note(self, store, number):
        if self.chance.random() < 0.3:
            kind = self.chance.choice(["important", "plain", "plain", "plain", None])
            store.execute("INSERT INTO Note(tick, kind) VALUES (?, ?)", [number, kind])

    def write(self, folder, rules):
        # A bound cannot stand beside another rule that keeps rows.
        for rule in self.written:
            if rule.bound and any(other is not rule and (other.thin or other.keep) for other in self.written):
                rule.bound = None
        super().write(folder, self.written)
        self.expand()
        with open(f"{folder}/retention.yaml") as policy:
            text = policy.read()
        limits = f", limits: {{ max_late_rows: {self.max_late} }}" if self.max_late is not None else ""
        text = text.replace("rules:\n", f"defaults: {{ accept: [mixed_formats, wrong_unit, future_dates]{limits} }}\nrules:\n")
        text = text.replace("{ folder: archive }", "{ folder: archive, keep: forever }")
        with open(f"{folder}/retention.yaml", "w") as policy:
            policy.write("# read again\n" * self.comments + text)

    def feed(self, path, since, night):
        """The rows of a day: some days none, some rows late, some again."""
        chance = self.chance
        store = self.open(path)
        store.execute("BEGIN")
        store.execute("PRAGMA foreign_keys = ON")
        count = 0 if chance.random() < 0.15 else chance.randrange(2 * self.pace + 1)
        for _ in range(count * min(7, max(1, (self.as_of - since) // DAY))):
            moment = since + chance.random() * (self.as_of - since)
            if chance.random() < 0.1:
                moment -= chance.choice([1, 5, 30, 100]) * DAY
            self.next += 1
            row = self.row(self.next, moment - moment.microsecond * MICROSECOND)
            if chance.random() < 0.1 and self.fed:
                # The same row again; its key may be free by now.
                row = dict(chance.choice(self.fed))
                if (KEYS[self.shape] != ["id"] or self.feature == "named") and any(
                        store.execute(f"SELECT 1 FROM {table} WHERE id = ?", [row["id"]]).fetchone() for table in self.tables):
                    continue
                if chance.random() < 0.3 and KEYS[self.shape] == ["id"]:
                    row["price"] = 99.5
            elif self.stops.get(row["symbol"], night) < night:
                continue
            if row["table"] not in self.tables:
                continue
            self.fed.append(row)
            self.insert(store, row, row["id"])
            if self.children and store.execute("SELECT changes()").fetchone()[0]:
                self.add_note(store, row["id"])
        store.execute("COMMIT")
        store.close()

    # The policy

    def snapshot(self):
        """The policy as it is, to compare with later. While nobody changes it, it is the same."""
        if self.last is None or self.last.content != self.content():
            written, holds = copy.deepcopy((self.written, self.holds))
            self.last = types.SimpleNamespace(
                written=written, holds=holds, zone=self.zone, clocks=self.clocks, order=self.order, table_of_ages=dict(self.table_of_ages),
                content=self.content())
        return self.last

    def content(self):
        """What the policy says, and the table of ages."""
        return (*(rule.policy(self.date_format, self.batch) for rule in self.written), *(hold.policy() for hold in self.holds),
                str(self.table_of_ages))

    def expand(self):
        """A table that the policy names is left to that rule; what the patterns match is asked anew each night."""
        self.rules = expand(self.written, self.tables, self.table_of_ages)

    def judge(self, policy, rows, as_of, clock, is_loose=False):
        """With `is_loose` a bound lets all rows go that it may: other programs have changed the rows since it was computed."""
        if policy is not self:
            policy.rules = expand(policy.written, self.tables, policy.table_of_ages)
            for rule in policy.rules if is_loose else []:
                if rule.bound:
                    rule.age, rule.align, rule.bound = rule.bound[1], None, None
        self.end_holds(policy, clock)
        return Judge(policy, as_of, rows)

    @staticmethod
    def end_holds(policy, clock):
        for hold in policy.holds:
            hold.is_over = bool(hold.expires and hold.expires <= clock)

    def add_rule(self):
        if len(self.written) >= (3 if self.feature == "ages" else 6):
            return "adds no rule"
        kind = self.chance.choice(["plain", "plain", "thin", "keep", "both"] + ["plain"] * 5 * (self.feature in ("bounds", "named")))
        self.count += 1
        rule = Rule(self.chance, f"{kind}-{self.count}", kind, self.format, self.days_only, has_second_date=False)
        rule.allow_empty = self.chance.random() < 0.5
        if self.feature == "ages" and self.chance.random() < 0.7:
            rule.ages = Ages(self.chance, self.chance.random() < 0.5)
        if self.feature == "tables":
            self.change_pattern(rule)
        if self.feature == "named":
            self.change_table(rule)
            # Rules that delete what other rules delete, too: then a row that moves is expired where it is.
            rule.where = rule.where if self.chance.random() < 0.5 else None
        if self.feature == "bounds" or self.chance.random() < 0.1:
            self.change_bound(rule)
        self.fit(rule)
        self.written.insert(self.chance.randrange(len(self.written) + 1), rule)
        return f"adds the rule {rule.name}"

    def edit(self):
        """Something that people do to a policy. Returns what."""
        chance = self.chance
        rule = chance.choice(self.written)
        does = chance.choice([
            self.change_age, self.change_age, self.change_where, self.change_tiers, self.change_count, self.switch, self.switch, self.rename,
            self.reorder, self.comment, lambda _: self.add_rule(), self.remove, self.add_hold, self.add_hold, self.end_hold, self.realign,
            self.change_for_a_while, self.change_beside_a_hold]
            + {"ages": [self.change_ages] * 6, "bounds": [self.change_bound] * 3, "tables": [self.change_pattern] * 3,
               "named": [self.change_table] + [self.change_age] * 2}.get(self.feature, []))
        return does(rule)

    def change_age(self, rule):
        rule.age = dict(self.chance.choice(AGES))
        self.fit(rule)
        return f"gives {rule.name} another age"

    def fit(self, rule):
        """Makes the other ages of a rule fit its age."""
        if rule.ages:
            rule.age = rule.ages.longest(self.table_of_ages)
        if rule.bound and days(rule.bound[1]) >= days(rule.age):
            rule.bound = None
        if rule.thin and days(rule.thin["tiers"][0][1] or whole({"y": 9})) < days(rule.age) + 2:
            rule.thin = rule.tiers(self.chance, self.days_only)

    def change_ages(self, rule):
        if not rule.ages:
            return "looks at the ages"
        rule.ages.edit()
        self.fit(rule)
        return f"gives {rule.name} the ages {rule.ages.policy()}"

    def change_bound(self, rule):
        rule.bound = None
        if not rule.ages and self.chance.random() < 0.8:
            # A long age, so that the bound has something to do.
            rule.age = dict(self.chance.choice(AGES[5:]))
            rule.bound = self.chance.choice([2, 5, 10, 20, 40]), whole(self.chance.choice([{"h": 6}, {"d": 1}, {"d": 3}, {"d": 7}]))
        self.fit(rule)
        return f"bounds {rule.name} by {rule.bound}"

    def change_pattern(self, rule):
        rule.entity = self.chance.choice(["tick_*", "tick_*", "*", "tick_[ab]", "TICK_?", "t*_b", "tick_a", "tick_d"])
        rule.excepted = self.chance.choice([[], [], ["tick_b"], ["*_a"]]) if is_pattern(rule) else []
        if rule.entity == "*":
            rule.excepted = ["Log", "symbol_ages"] + rule.excepted
        return f"lets {rule.name} name {rule.entity} except {rule.excepted}"

    def change_table(self, rule):
        rule.entity = self.chance.choice(NAMES[:3] + self.tables)
        return f"lets {rule.name} name {rule.entity}"

    # What people do to the store

    def edit_store(self, folder):
        """Something that people change in the store between two nights. Returns what; None: nothing."""
        chance = self.chance
        does = {"ages": self.edit_table_of_ages, "tables": self.edit_tables, "named": self.edit_named}.get(self.feature)
        if not does or chance.random() > (0.12 if self.feature != "named" else 0.2):
            return None
        store = self.open(f"{folder}/prices.sqlite")
        try:
            return does(store)
        finally:
            store.close()

    def edit_table_of_ages(self, store):
        symbol, age = self.chance.choice(["A", "B", "C", "BTC", "b"]), self.chance.choice([None, *Ages.CHOICES])
        store.execute("DELETE FROM symbol_ages WHERE name = ?", [symbol])
        self.table_of_ages.pop(symbol, None)
        if self.chance.random() < 0.8:
            stored = age and self.chance.choice([age["d"], str(age["d"]), f"{age['d']}d"])
            store.execute("INSERT INTO symbol_ages VALUES (?, ?)", [symbol, stored])
            self.table_of_ages[symbol] = age
        for rule in self.written:
            self.fit(rule)
        return f"the table of ages has {symbol}: {self.table_of_ages.get(symbol)}"

    def edit_tables(self, store):
        chance = self.chance
        table, other = chance.choice(self.tables), chance.choice(["tick_a", "tick_b", "tick_c", "tick_d", "trash_b", "other"])
        is_free = other not in self.tables
        if table != other and chance.random() < 0.4:
            return self.rotate(store, table, other)
        if is_free and chance.random() < 0.5:
            self.create(store, other)
            self.add_log(store, other)
            self.tables = [*self.tables, other]
            return f"the table {other} appears"
        if is_free:
            store.execute(f"ALTER TABLE {table} RENAME TO {other}")
        elif len(self.tables) > 1:
            store.execute(f"DROP TABLE {table}")
        else:
            return None
        self.tables = [name for name in self.tables if name != table] + [other] * is_free
        self.holds = [hold for hold in self.holds if hold.table != table]
        for row in self.fed:
            row["table"] = other if row["table"] == table and is_free else row["table"]
        return f"the table {table} becomes {other}" if is_free else f"the table {table} goes"

    def rotate(self, store, table, other):
        """As log files are: a table takes the name of another one, and a new one takes its place."""
        if other in self.tables:
            store.execute(f"DROP TABLE {other}")
        store.execute(f"ALTER TABLE {table} RENAME TO {other}")
        self.create(store, table)
        self.add_log(store, table)
        self.tables = [name for name in self.tables if name != other] + [other]
        self.fed = [row for row in self.fed if row["table"] != other]
        for row in self.fed:
            row["table"] = other if row["table"] == table else row["table"]
        if self.chance.random() < 0.5:
            self.holds = [hold for hold in self.holds if hold.table != table]
        return f"the table {table} is rotated to {other}"

    # What people do to tables of rules with plain names

    def edit_named(self, store):
        does = self.chance.choice([self.swap] * 3 + [self.give_name] * 3 + [self.shift] * 2 + [self.appear, self.drop])
        done = does(store)
        lost = [hold for hold in self.holds if hold.table not in self.tables]
        if lost and self.chance.random() < 0.7:
            self.holds = [hold for hold in self.holds if hold not in lost]
            done = f"{done}, and its holds go"
        return done

    def rename_tables(self, store, names):
        """Gives tables other names. The rules and the holds that name them may follow. Returns what follows."""
        for number, table in enumerate(names):
            store.execute(f"ALTER TABLE {table} RENAME TO between_{number}")
        for number, table in enumerate(names):
            store.execute(f"ALTER TABLE between_{number} RENAME TO {names[table]}")
        self.tables = [names.get(name, name) for name in self.tables]
        for row in self.fed:
            row["table"] = names.get(row["table"], row["table"])
        follows = []
        if self.chance.random() < 0.4:
            follows.append("the rules")
            for rule in self.written:
                rule.entity = names.get(rule.entity, rule.entity)
        if self.chance.random() < 0.4:
            follows.append("the holds")
            self.holds = [copy.copy(hold) for hold in self.holds]
            for hold in self.holds:
                hold.table = names.get(hold.table, hold.table)
        return f"; {' and '.join(follows) or 'nothing'} follows"

    def add_table(self, store, name):
        self.create(store, name)
        self.add_log(store, name)
        self.tables = [*self.tables, name]

    def remove_table(self, store, name):
        store.execute(f"DROP TABLE {name}")
        self.tables = [other for other in self.tables if other != name]
        self.fed = [row for row in self.fed if row["table"] != name]

    def swap(self, store):
        one, other = self.chance.sample(self.tables, 2)
        return f"the tables {one} and {other} are swapped" + self.rename_tables(store, {one: other, other: one})

    def give_name(self, store):
        table, other = self.chance.choice(self.tables), self.chance.choice([*NAMES, "other"])
        if other in self.tables:
            return self.swap(store)
        done = f"the table {table} becomes {other}" + self.rename_tables(store, {table: other})
        if self.chance.random() < 0.4:
            self.add_table(store, table)
            done += f", and there is a new {table}"
        return done

    def shift(self, store):
        """Rotates by number: each table takes the next name, the last one goes, and there is a new first one."""
        numbered = [name for name in NAMES if name in self.tables]
        if len(numbered) > 1 and self.chance.random() < 0.5 or numbered[-1:] == NAMES[-1:]:
            self.remove_table(store, numbered.pop())
        done = "the tables are rotated" + self.rename_tables(store, {name: NAMES[NAMES.index(name) + 1] for name in numbered})
        if NAMES[0] not in self.tables:
            self.add_table(store, NAMES[0])
        return done

    def appear(self, store):
        free = [name for name in NAMES if name not in self.tables]
        if not free:
            return self.swap(store)
        self.add_table(store, free[0])
        return f"the table {free[0]} appears"

    def drop(self, store):
        if len(self.tables) < 3:
            return self.swap(store)
        table = self.chance.choice(self.tables)
        self.remove_table(store, table)
        return f"the table {table} goes"

    def change_where(self, rule):
        rule.where = self.chance.choice([None, *Rule.WHERES])
        return f"gives {rule.name} where {json.dumps(rule.where)}"

    def change_tiers(self, rule):
        if rule.thin and len(rule.thin["tiers"]) > 1 and self.chance.random() < 0.5:
            rule.thin["tiers"].pop(self.chance.randrange(len(rule.thin["tiers"])))
        elif rule.thin and self.chance.random() < 0.3:
            rule.thin["pick"] = self.chance.choice(["first", "last", "ohlc"])
        elif rule.thin and self.chance.random() < 0.3:
            rule.thin = None
        else:
            rule.thin = rule.tiers(self.chance, self.days_only)
        return f"changes the tiers of {rule.name}"

    def change_count(self, rule):
        rule.keep = self.chance.choice([None, (1, rule.groups(self.chance)), (3, rule.keep[1] if rule.keep else [])])
        return f"changes keep_last of {rule.name}"

    def switch(self, rule):
        rule.is_enabled = not rule.is_enabled
        return ("enables " if rule.is_enabled else "disables ") + rule.name

    def change_for_a_while(self, rule):
        """A rule that was disabled comes back as another one."""
        rule = next((other for other in self.written if not other.is_enabled), rule)
        change = self.change_ages if rule.ages else self.chance.choice([self.change_age, self.change_where, self.change_count])
        return f"{self.switch(rule)} and {change(rule)}"

    def change_beside_a_hold(self, rule):
        """A hold comes or goes with a change of a rule."""
        hold = self.chance.choice([self.add_hold, self.end_hold])
        return f"{hold(rule)} and {(self.change_ages if rule.ages else self.change_age)(rule)}"

    def text(self, rule):
        """A rule as the policy writes it, enabled or not."""
        return rule.policy(self.date_format, self.batch).replace(", enabled: false", "")

    def rename(self, rule):
        self.count += 1
        former, rule.name = rule.name, f"{rule.kind}-{self.count}"
        self.former_names[rule.name] = former
        return f"calls {former} {rule.name}"

    def reorder(self, rule):
        self.written.remove(rule)
        self.written.insert(self.chance.randrange(len(self.written) + 1), rule)
        return f"puts {rule.name} elsewhere"

    def comment(self, _):
        self.comments = (self.comments + 1) % 3
        return "writes a comment"

    def remove(self, rule):
        if len(self.written) > 1:
            self.written.remove(rule)
        return f"removes {rule.name}"

    def add_hold(self, _):
        if len(self.holds) < 3:
            self.count += 1
            self.holds.append(HoldForATime(self, f"hold-{self.count}"))
        return "adds a hold"

    def end_hold(self, _):
        if self.holds:
            self.holds.remove(self.chance.choice(self.holds))
        return "removes a hold"

    def realign(self, rule):
        rule.align = self.chance.choice([None, "day", "week"])
        return f"aligns {rule.name} with {rule.align}"
