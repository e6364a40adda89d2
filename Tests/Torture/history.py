"""What happens to a store from night to night: a feed, and people who change the policy. Made of a seed, for years.py."""

import copy
import datetime
import json
import sqlite3
import types

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
           *DAYS, "yyyymmddhhmmss"]
AGES = [whole(age) for age in ({"d": 1}, {"d": 2}, {"d": 5}, {"d": 10}, {"w": 2}, {"d": 30}, {"mo": 1}, {"d": 60}, {"mo": 3})]
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
        noon = life.as_of.replace(hour=12, minute=0, second=0, microsecond=0)
        self.expires = noon + life.chance.randrange(2, 60) * DAY if life.chance.random() < 0.4 else None
        self.of_notes = life.children in ("CASCADE", "SET NULL") and life.chance.random() < 0.4
        self.keeps_parents = life.children == "CASCADE"

    def policy(self):
        is_over, self.is_over = self.is_over, False
        text = super().policy() if not self.of_notes else (
            f"  - {{ name: {self.name}, entity: Note, reason: a dispute, where: {{ kind: important }} }}\n")
        self.is_over = is_over
        return text.replace(" }\n", f", expires: {self.expires:%Y-%m-%dT%H:%M:%SZ} }}\n") if self.expires else text

    def covers(self, row, attributes):
        if not self.of_notes:
            return super().covers(row, attributes)
        return not self.is_over and self.keeps_parents and any(kind in ("important", None) for kind in row["notes"])


class State:
    """What is in a store: rows to judge, and everything with its types."""

    def __init__(self, life, folder):
        store = sqlite3.connect(f"{folder}/prices.sqlite")
        try:
            self.integrity = store.execute("PRAGMA integrity_check").fetchall()
            self.rows = life.read(store)
            self.whole = {row[0]: tuple(map(repr, row)) for row in store.execute(f"SELECT {life.columns} FROM Tick").fetchall()}
            self.notes = {row[0]: row for row in store.execute("SELECT id, tick, kind FROM Note")} if life.children else {}
            self.log = {what: sorted(number for number, in store.execute("SELECT id FROM Log WHERE what = ?", [what]))
                        for what in ("gone", "new")} if life.is_logged else {"gone": [], "new": []}
        finally:
            store.close()


class Life(World):
    """A store of a seed, its policy, and what changes both."""

    def __init__(self, chance):
        super().__init__(chance, is_disturbed=True)
        self.format = chance.choice(FORMATS)
        self.days_only = self.format in DAYS or (self.format == "iso8601" and chance.random() < 0.3)
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
        self.rules = []
        for _ in range(chance.choice([1, 2, 3, 4])):
            self.add_rule()
        self.pace = chance.choice([1, 3, 6, 10])
        self.stops = {symbol: chance.randrange(5, 200) for symbol in ("B", "C")}
        self.columns = "id, " + ("rowid, " if self.shape in ("no key", "text key") else "") + "symbol, venue, f, v, at, seen, price" + (
            ", code" if self.shape == "text key" else "")
        self.fed = []

    def __str__(self):
        return (f"{super().__str__()}, rows that refer: {self.children}" + (", a log by triggers" if self.is_logged else "")
                + f", at most {self.max_late} late rows")

    # The store

    def key(self, row):
        return tuple(row[column] for column in KEYS[self.shape])

    def value(self, moment):
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
        rows = super().read(store)
        for row in rows.values():
            row["notes"] = []
        for tick, kind in store.execute("SELECT tick, kind FROM Note").fetchall() if self.children else []:
            if tick in rows:
                rows[tick]["notes"].append(kind)
        return rows

    def make(self, folder):
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
            if self.is_logged:
                store.execute("CREATE TABLE Log(what TEXT, id INTEGER)")
                store.execute("CREATE TRIGGER Tick_gone AFTER DELETE ON Tick BEGIN INSERT INTO Log VALUES ('gone', old.id); END")
                store.execute("CREATE TRIGGER Tick_new AFTER INSERT ON Tick BEGIN INSERT INTO Log VALUES ('new', new.id); END")
        store.close()

    def add_note(self, store, number):
        if self.chance.random() < 0.3:
            kind = self.chance.choice(["important", "plain", "plain", "plain", None])
            store.execute("INSERT INTO Note(tick, kind) VALUES (?, ?)", [number, kind])

    def write(self, folder, rules):
        super().write(folder, rules)
        with open(f"{folder}/retention.yaml") as policy:
            text = policy.read()
        limits = f", limits: {{ max_late_rows: {self.max_late} }}" if self.max_late is not None else ""
        text = text.replace("rules:\n", f"defaults: {{ accept: [mixed_formats, wrong_unit, future_dates]{limits} }}\nrules:\n")
        text = text.replace("{ folder: archive }", "{ folder: archive, keep: forever }")
        with open(f"{folder}/retention.yaml", "w") as policy:
            policy.write("# read again\n" * self.comments + text)

    def feed(self, folder, since, night):
        """The rows of a day: some days none, some rows late, some again."""
        chance = self.chance
        store = sqlite3.connect(f"{folder}/prices.sqlite", isolation_level=None)
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
                if KEYS[self.shape] != ["id"] and store.execute("SELECT 1 FROM Tick WHERE id = ?", [row["id"]]).fetchone():
                    continue
                if chance.random() < 0.3 and KEYS[self.shape] == ["id"]:
                    row["price"] = 99.5
            elif self.stops.get(row["symbol"], night) < night:
                continue
            self.fed.append(row)
            self.insert(store, row, row["id"])
            if self.children and store.execute("SELECT changes()").fetchone()[0]:
                self.add_note(store, row["id"])
        store.execute("COMMIT")
        store.close()

    # The policy

    def snapshot(self):
        """The policy as it is, to compare with later."""
        rules, holds = copy.deepcopy((self.rules, self.holds))
        return types.SimpleNamespace(rules=rules, holds=holds, zone=self.zone, clocks=self.clocks, order=self.order)

    @staticmethod
    def judge(policy, rows, as_of, clock):
        for hold in policy.holds:
            hold.is_over = bool(hold.expires and hold.expires <= clock)
        return Judge(policy, as_of, rows)

    def add_rule(self):
        kind = self.chance.choice(["plain", "plain", "thin", "keep", "both"])
        self.count += 1
        rule = Rule(self.chance, f"{kind}-{self.count}", kind, self.format, self.days_only, has_second_date=False)
        rule.allow_empty = self.chance.random() < 0.5
        self.rules.insert(self.chance.randrange(len(self.rules) + 1), rule)
        return f"adds the rule {rule.name}"

    def edit(self):
        """Something that people do to a policy. Returns what."""
        chance = self.chance
        rule = chance.choice(self.rules)
        does = chance.choice([
            self.change_age, self.change_age, self.change_where, self.change_tiers, self.change_count, self.switch, self.switch, self.rename,
            self.reorder, self.comment, lambda _: self.add_rule(), self.remove, self.add_hold, self.add_hold, self.end_hold, self.realign])
        return does(rule)

    def change_age(self, rule):
        rule.age = dict(self.chance.choice(AGES))
        if rule.thin and days(rule.thin["tiers"][0][1] or whole({"y": 9})) < days(rule.age) + 2:
            rule.thin = rule.tiers(self.chance, self.days_only)
        return f"gives {rule.name} another age"

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

    def rename(self, rule):
        self.count += 1
        former, rule.name = rule.name, f"{rule.kind}-{self.count}"
        return f"calls {former} {rule.name}"

    def reorder(self, rule):
        self.rules.remove(rule)
        self.rules.insert(self.chance.randrange(len(self.rules) + 1), rule)
        return f"puts {rule.name} elsewhere"

    def comment(self, _):
        self.comments = (self.comments + 1) % 3
        return "writes a comment"

    def remove(self, rule):
        if len(self.rules) > 1:
            self.rules.remove(rule)
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
