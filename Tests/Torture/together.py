"""Several rules on one table, against a judge with a calendar of its own.

The rule: what `thin` or `keep_last` keeps is chosen among the rows that no enabled rule without them deletes, and a row that
one such rule keeps is kept from the other such rules, too. So neither the order of the rules nor `--rule` matters.

The judge must complain when it is wrong: TOGETHER_BREAK in the environment breaks it, and many trials must then fail. Its words
are chosen (also rows that other rules delete are chosen), own (a rule keeps rows only from itself), ties (of rows with one date
not all are kept), edge (a row at the cutoff is deleted), and for scripts/torture --years bound (a bound keeps one row more), share (all
values have the default age) and table (a pattern matches one table less)."""

import datetime
import json
import os
import re
import shutil
import sqlite3
import zoneinfo

from candles import Session
from rules import EPOCH, UTC, ZONES, cutoff, instant
from scenario import METHODS, require

DAY = datetime.timedelta(days=1)
SECOND = datetime.timedelta(seconds=1)
MICROSECOND = datetime.timedelta(microseconds=1)
EARLIEST = datetime.datetime(1971, 1, 2, tzinfo=UTC)
BREAK = os.environ.get("TOGETHER_BREAK", "").split(",")
# The shapes of the table: the declaration of its key, and what orders rows of one date.
SHAPES = {
    "rowid": ("id INTEGER PRIMARY KEY, {}", lambda row: row["rowid"]),
    "no key": ("id INTEGER, {}", lambda row: row["rowid"]),
    "text key": ("id INTEGER, {}, code TEXT PRIMARY KEY", lambda row: row["rowid"]),
    "WITHOUT ROWID by id": ("id INTEGER PRIMARY KEY, {}", lambda row: row["id"]),
    # A text comes after all numbers.
    "WITHOUT ROWID by symbol": (
        "id INTEGER, {}, PRIMARY KEY (symbol, at)", lambda row: (row["symbol"], isinstance(row["at"], str), row["at"])),
    "WITHOUT ROWID by date": (
        "id INTEGER, {}, PRIMARY KEY (at, symbol, id)", lambda row: (isinstance(row["at"], str), row["at"], row["symbol"], row["id"])),
}
INDEXES = [[], ["at"], ["symbol, at"], ["f, at"], ["at", "symbol, at"]]
COLUMNS = ["id", "symbol", "venue", "f", "v", "at", "seen", "price"]
UNITS = {"hourly": "hour", "daily": "day", "weekly": "week", "monthly": "month", "quarterly": "quarter", "yearly": "year"}
MICROSECONDS = {"unix_seconds": 1_000_000, "unix_milliseconds": 1000, "unix_microseconds": 1, "apple_seconds": 1_000_000}
APPLE = 978_307_200


class Backwards(tuple):
    """Sorts the other way round."""

    def __lt__(self, other):
        return tuple.__gt__(self, other)


# What is smallest for each row of a bucket that is kept, by its price and its place in the bucket.
ENDS = {"first": [lambda price, place: place], "last": [lambda price, place: Backwards(place)]}
ENDS["ohlc"] = ENDS["first"] + ENDS["last"] + [lambda price, place: (price, place), lambda price, place: (-price, place)]


class Clocks:
    """The buckets of a zone's calendar."""

    def __init__(self, zone):
        self.zone = zone
        self.known = {}

    def bucket(self, moment, unit):
        """The start and the end of the bucket that holds an instant."""
        key = moment, unit
        if key not in self.known:
            self.known[key] = self.hour(moment) if unit == "hour" else self.longer(moment, unit)
        return self.known[key]

    def offset(self, moment):
        return moment.astimezone(self.zone).utcoffset()

    def hour(self, moment):
        """An hour on the clocks with one offset: one that is repeated is two."""
        offset = self.offset(moment)
        begin = moment - (moment + offset - EPOCH) % datetime.timedelta(hours=1)
        return self.change(moment, begin, offset), self.change(moment, begin + datetime.timedelta(hours=1), offset)

    def change(self, inside, bound, offset):
        """The bound of an hour; or where the offset changes between an instant in the hour and its bound."""
        if self.offset(bound if bound < inside else bound - MICROSECOND) == offset:
            return bound
        good, bad = inside, bound
        while abs(bad - good) > MICROSECOND:
            middle = good + (bad - good) // 2
            good, bad = (middle, bad) if self.offset(middle) == offset else (good, middle)
        return max(good, bad)

    def longer(self, moment, unit):
        local = moment.astimezone(self.zone).replace(tzinfo=None)
        start = local.replace(hour=0, minute=0, second=0, microsecond=0)
        months = {"month": 1, "quarter": 3, "year": 12}.get(unit)
        if unit == "week":
            start -= datetime.timedelta(days=start.weekday())
        if months:
            start = start.replace(day=1, month=(start.month - 1) // months * months + 1)

        def moved(count):
            if not months:
                return start + count * datetime.timedelta(days=7 if unit == "week" else 1)
            number = start.year * 12 + start.month - 1 + count * months
            return start.replace(year=number // 12, month=number % 12 + 1)

        for count in (1, 0, -1):
            begin = instant(moved(count), self.zone)
            if begin <= moment:
                return begin, instant(moved(count + 1), self.zone)


class Span:
    """A date: an instant, or a day from its begin to its end."""

    def __init__(self, begin, end=None):
        self.begin, self.end = begin, end

    def is_before(self, moment):
        """Whether all of it is."""
        return self.end <= moment if self.end else self.begin < moment


def parsed(value, format, zone):
    """A stored value as a date; None: it is none."""
    if format == "iso8601":
        if not isinstance(value, str):
            return None
        if re.fullmatch(r"\d{4}-\d\d-\d\d", value):
            day = datetime.datetime.fromisoformat(value)
            return Span(instant(day, zone), instant(day + DAY, zone))
        try:
            return Span(datetime.datetime.fromisoformat(value.replace("Z", "+00:00")).astimezone(UTC))
        except ValueError:
            return None
    if not isinstance(value, (int, float)):
        return None
    microseconds = round((value + (APPLE if format == "apple_seconds" else 0)) * MICROSECONDS[format])
    return Span(EPOCH + microseconds * MICROSECOND)


def text(age):
    return "".join(f"{age[unit]}{unit}" for unit in ("y", "mo", "w", "d", "h", "min", "s") if age.get(unit))


def whole(age):
    return dict.fromkeys(["y", "mo", "w", "d", "h", "min", "s"], 0) | age


def holds_for(where, row):
    """Whether a condition is true for a row; None: unknown."""
    answers = [answer(row[column], wanted) for column, wanted in (where or {}).items()]
    return False if False in answers else None if None in answers else True


def answer(value, wanted):
    if isinstance(wanted, dict) and "null" in wanted:
        return (value is None) == wanted["null"]
    if value is None:
        return None
    if isinstance(wanted, list):
        return value in wanted
    if isinstance(wanted, dict):
        (operator, bound), = wanted.items()
        return {"ne": value != bound, "lt": operator == "lt" and value < bound, "ge": operator == "ge" and value >= bound}[operator]
    return value == wanted


class Rule:
    """A rule of the policy, of a seed."""

    WHERES = [{"f": "bad"}, {"f": {"ne": "bad"}}, {"symbol": "A"}, {"symbol": ["A", "B"]}, {"symbol": {"ne": "A"}}, {"v": {"lt": 5}},
              {"v": {"ge": 5}, "symbol": "B"}, {"f": {"null": True}}, {"f": "bad", "venue": "X"}]

    def __init__(self, chance, name, kind, format, days_only, has_second_date):
        self.name, self.kind = name, kind
        self.attribute = "seen" if has_second_date and chance.random() < 0.3 else "at"
        self.age = whole(chance.choice([{"d": 2}, {"d": 5}, {"d": 10}, {"d": 30}, {"w": 3}, {"h": 36}, {"d": 1, "h": 12}]))
        if kind == "plain" and chance.random() < 0.3:
            self.age = whole(chance.choice([{"mo": 1}, {"mo": 2}, {"d": 60}, {"d": 120}]))
        self.align = chance.choice([None, None, None, "hour", "day", "week"])
        self.where = chance.choice(self.WHERES) if chance.random() < (0.85 if kind == "plain" else 0.35) else None
        if kind == "plain" and chance.random() < 0.4:
            self.where = {"f": "bad"}
        self.earliest = None
        self.allow_empty, self.max_rows, self.denies = True, None, False
        self.is_enabled = chance.random() < 0.88
        self.thin = self.keep = self.rollup = None
        # What families.py gives to a rule: ages by value, a bound, a pattern of tables, and the share of the rows that a member has.
        self.ages = self.bound = self.fixed = self.shares = self.share = None
        self.entity, self.excepted = "Tick", []
        if kind in ("thin", "both"):
            self.thin = self.tiers(chance, days_only)
        if kind in ("keep", "both") or (kind == "rollup" and chance.random() < 0.3):
            self.keep = chance.choice([1, 1, 2, 5]), self.groups(chance)
        if kind == "rollup":
            every = chance.choice(["1d", "1w", "1mo"] if days_only else ["1h", "4h", "1d", "1w", "1mo"])
            self.rollup = every, self.groups(chance)

    @staticmethod
    def groups(chance):
        return chance.choice([[], ["symbol"], ["symbol"], ["venue"], ["symbol", "venue"]])

    def tiers(self, chance, days_only):
        units = [unit for unit in UNITS if not (days_only and unit == "hourly")]
        chosen = chance.sample(units, chance.choice([1, 1, 2, 3]))
        units = [unit for unit in units if unit in chosen]
        days = self.age["d"] + self.age["w"] * 7 + self.age["mo"] * 31 + 2
        found = []
        for unit in units:
            days += chance.choice([2, 10, 40, 90])
            found.append((unit, whole({"d": days})))
        if chance.random() < 0.6:
            found[-1] = found[-1][0], None
        return {"per": self.groups(chance), "pick": chance.choice(["last", "last", "first", "ohlc"]), "tiers": found}

    @property
    def picks(self):
        return self.thin and self.thin["pick"]

    @property
    def chooses(self):
        """Whether it keeps some of the rows that it would delete."""
        return bool(self.thin or self.keep)

    def cutoff(self, as_of, zone):
        moment = cutoff(as_of, self.age, self.align, zone)
        return Session(zone.key, "00:00").bucket(moment, self.rollup[0]) if self.rollup else moment

    def policy(self, format, batch):
        parts = [f"name: {self.name}", f'entity: "{self.entity}"', f"date_attribute: {self.attribute}", f"date_format: {format}",
                 f"max_age: {self.ages.policy() if self.ages else text(self.age)}", f"allow_empty: {json.dumps(self.allow_empty)}", batch]
        if self.align:
            parts.append(f"align: {self.align}")
        if self.entity != "Tick":
            parts.append("missing: skip" + (f", except: {json.dumps(self.excepted)}" if self.excepted else ""))
        if self.bound:
            parts.append(f"newest_rows: {self.bound[0]}, never_younger_than: {text(self.bound[1])}")
        if self.where:
            parts.append("where: " + json.dumps(self.where))
        if self.keep:
            parts.append(f"keep_last: {{ count: {self.keep[0]}" + (f", per: {json.dumps(self.keep[1])}" if self.keep[1] else "") + " }")
        if self.thin:
            tiers = [f"{unit}: {text(age) if age else 'forever'}" for unit, age in self.thin["tiers"]]
            per = [f"per: {json.dumps(self.thin['per'])}"] if self.thin["per"] else []
            parts.append("thin: { " + ", ".join(per + [f"pick: {self.thin['pick']}"] + ["price: price"] * (self.thin["pick"] == "ohlc") + tiers) + " }")
        if self.rollup:
            per = f", per: {json.dumps(self.rollup[1])}" if self.rollup[1] else ""
            parts.append(f"rollup: {{ into: {self.target}, every: {self.rollup[0]}, price: price{per} }}")
        if self.earliest:
            parts.append("earliest: " + self.earliest.strftime("%Y-%m-%dT%H:%M:%SZ"))
        if self.max_rows:
            parts.append(f"limits: {{ max_rows: {self.max_rows} }}")
        if self.denies:
            parts.append("relationships: deny")
        if not self.is_enabled:
            parts.append("enabled: false")
        return "  - { " + ", ".join(parts) + " }\n"

    @property
    def target(self):
        return "candle_" + self.name.replace("-", "_")


class Hold:
    def __init__(self, chance, name, as_of, has_dates):
        self.name = name
        self.where = chance.choice([{"symbol": "A"}, {"f": "bad"}, {"v": {"lt": 5}}, {"venue": "X", "symbol": "B"}, {"f": {"null": True}}])
        self.since = self.until = None
        if has_dates and chance.random() < 0.6:
            self.since, self.until = as_of - chance.randrange(5, 150) * DAY, None
            if chance.random() < 0.7:
                self.until = self.since + chance.randrange(1, 40) * DAY
            self.where = self.where if chance.random() < 0.5 else None
        self.is_over = chance.random() < 0.1

    def policy(self):
        parts = [f"name: {self.name}", "entity: Tick", "reason: a dispute"]
        if self.where:
            parts.append("where: " + json.dumps(self.where))
        for key, moment in (("from", self.since), ("until", self.until)):
            if moment:
                parts.append(f"{key}: " + moment.strftime("%Y-%m-%dT%H:%M:%SZ"))
        if self.is_over:
            parts.append("expires: 2020-01-01")
        return "  - { " + ", ".join(parts) + " }\n"

    def covers(self, row, attributes):
        """Unknown is held."""
        if self.is_over or holds_for(self.where, row) is False:
            return False
        if not self.since:
            return True
        return any(
            date is None or not (date.is_before(self.since) or (self.until and date.begin >= self.until))
            for date in (row["dates"][attribute] for attribute in attributes))


class Answers(dict):
    """Whether a condition is true for a row, by the values that it reads."""

    def __init__(self, where):
        self.where, self.columns = where, list(where)

    def is_true(self, row):
        return self[tuple([row[column] for column in self.columns])]

    def __missing__(self, values):
        self[values] = found = holds_for(self.where, dict(zip(self.columns, values))) is True
        return found


class Judge:
    """What the rules of a policy delete of some rows at an instant. Rows are by their ids."""

    # What is true of which values, by the text of a condition.
    answers = {}

    def __init__(self, world, as_of, rows):
        self.world, self.rows = world, rows
        # What is asked several times: the rows that rules with the same conditions read, their shares, and those of a rule.
        self.read, self.parts, self.past, self.left_to = {}, {}, {}, {}
        self.clocks, self.order = world.clocks, world.order
        zone = world.zone
        self.rules = [rule for rule in world.rules if rule.is_enabled]
        self.cutoffs = {rule: rule.cutoff(as_of, zone) for rule in world.rules}
        self.cutoffs |= {rule: self.bounded(rule, as_of) for rule in world.rules if rule.bound}
        self.since = {
            (rule, unit): cutoff(as_of, age, rule.align, zone) if age else None
            for rule in world.rules if rule.thin for unit, age in rule.thin["tiers"]}
        attributes = {rule.attribute for rule in world.rules}
        holds = [hold for hold in world.holds if not hold.is_over]
        self.held = {number for number, row in rows.items() if any(hold.covers(row, attributes) for hold in holds)} if holds else set()
        self.taken = set()
        for rule in self.rules:
            if not rule.chooses:
                # Under a hold or not: a held row is kept besides what the rules choose.
                self.taken |= self.reached(rule, spares_held=False)
        self.tiers, kept = {}, {}
        for rule in self.rules:
            if rule.chooses:
                kept[rule] = self.kept_by(rule)
        self.kept_alone = kept
        self.kept = set().union(*kept.values()) if kept else set()

    def bounded(self, rule, as_of):
        """The younger cutoff of a rule with a bound: the date of the last row that the bound keeps."""
        (count, least), by_age = rule.bound, self.cutoffs[rule]
        count += "bound" in BREAK
        youngest = cutoff(as_of, least, None, self.world.zone)
        if rule.fixed:
            require(by_age <= rule.fixed <= max(by_age, youngest), rule.name, "has the cutoff", rule.fixed, "not in", by_age, "to", youngest)
            return rule.fixed
        # Rows without a price count, too.
        dates = [self.date(rule, row) for row in self.matching(rule, needs_price=False).values()]
        # A day is before a cutoff if all of it is.
        left = sorted((date.end - MICROSECOND if date.end else date.begin for date in dates if not date.is_before(by_age)), reverse=True)
        if len(left) <= count:
            return by_age
        return max(by_age, cutoff(min(youngest, left[count - 1]), whole({}), rule.align, self.world.zone))

    def date(self, rule, row):
        """The date that a rule reads; None: it cannot."""
        date = row["dates"][rule.attribute]
        return date if date and date.begin >= (rule.earliest or EARLIEST) else None

    def matching(self, rule, needs_price=True):
        """The rows that a rule reads, and that match it."""
        needs_price = needs_price and rule.picks == "ohlc"
        key = json.dumps(rule.where), rule.attribute, rule.earliest, needs_price
        if key not in self.read:
            self.read[key] = self.readable(rule, self.answers.setdefault(key[0], Answers(rule.where or {})), needs_price)
        if rule.shares is None:
            return self.read[key]
        if (key, rule.shares) not in self.parts:
            parts = self.parts[key, rule.shares] = {}
            for number, row in self.read[key].items():
                parts.setdefault(rule.shares.share(row), {})[number] = row
        return self.parts[key, rule.shares].get(rule.share, {})

    def readable(self, rule, answers, needs_price):
        is_true = answers.is_true
        return {number: row for number, row in self.rows.items()
                if is_true(row) and self.date(rule, row) is not None and (not needs_price or isinstance(row["price"], (int, float)))}

    def before(self, rule):
        """The rows before the cutoff of a rule, of those that it reads."""
        if rule not in self.past:
            end = self.cutoffs[rule] + MICROSECOND if "edge" in BREAK else self.cutoffs[rule]
            self.past[rule] = {number for number, row in self.matching(rule).items()
                               if row["dates"][rule.attribute].is_before(end) and (not rule.rollup or row["is_priced"])}
        return self.past[rule]

    def reached(self, rule, spares_held=True):
        """The rows that a rule would delete if none chose rows to keep."""
        return self.before(rule) - self.held if spares_held else self.before(rule)

    def held_by_holds(self, rule):
        """The rows of a rule that holds alone keep."""
        held = self.reached(rule, spares_held=False) & self.held if self.held else set()
        return held - self.taken - self.kept if rule.chooses else held

    def candidates(self, rule):
        """The rows among which a rule chooses those that it keeps."""
        if rule not in self.left_to:
            taken = set() if "chosen" in BREAK else self.taken
            self.left_to[rule] = [row for number, row in self.matching(rule).items() if number not in taken]
        return self.left_to[rule]

    def place(self, rule, row):
        """What orders the rows of a group."""
        return self.date(rule, row).begin, self.order(row)

    def group(self, per, row):
        return tuple(row[column] for column in per)

    def bucket(self, rule, unit, row):
        return self.clocks.bucket(self.date(rule, row).begin, UNITS[unit])

    def has_passed(self, rule, unit, row):
        """Whether a row, and the bucket from which more than its last one is kept, are past the age of a tier."""
        since = self.since[rule, unit]
        if since is None:
            return False
        is_live = rule.picks != "last" and self.bucket(rule, unit, row)[1] > since
        return not is_live and self.date(rule, row).is_before(since)

    def picks(self, rule, unit, rows):
        buckets = {}
        for row in rows:
            buckets.setdefault((self.group(rule.thin["per"], row), self.bucket(rule, unit, row)), []).append(row)
        ends = ENDS[rule.picks]
        return [min(rows, key=lambda row: end(row["price"], self.place(rule, row))) for rows in buckets.values() for end in ends]

    def newest(self, rule, rows):
        count, per = rule.keep
        groups = {}
        for row in rows:
            groups.setdefault(self.group(per, row), []).append(row)
        for rows in groups.values():
            rows.sort(key=lambda row: self.place(rule, row), reverse=True)
            last = self.date(rule, rows[min(count, len(rows)) - 1]).begin
            yield from rows[:count] if "ties" in BREAK else [row for row in rows if self.date(rule, row).begin >= last]

    def kept_by(self, rule):
        rows = self.candidates(rule)
        tiers = self.tiers[rule] = {}
        for unit, _ in rule.thin["tiers"] if rule.thin else []:
            # A row of several tiers counts for the longest one.
            tiers |= {row["id"]: unit for row in self.picks(rule, unit, rows) if not self.has_passed(rule, unit, row)}
        return set(tiers) | ({row["id"] for row in self.newest(rule, rows)} if rule.keep else set())

    def deleted_by(self, rule):
        """The rows that a rule deletes if it is the first one that is carried out."""
        if not rule.chooses:
            return self.reached(rule)
        # What a rule without thin and keep_last deletes is left to it.
        return self.reached(rule) - (set() if "chosen" in BREAK else self.taken) - (self.kept_alone.get(rule, set()) if "own" in BREAK else self.kept)

    def past_and_kept(self, rule):
        """The rows before the cutoff that a rule keeps: all, and by tier."""
        kept = self.kept_alone[rule] if "own" in BREAK else self.kept
        past = kept & self.before(rule)
        tiers = {}
        for number in past & set(self.tiers[rule]):
            tiers[self.tiers[rule][number]] = tiers.get(self.tiers[rule][number], 0) + 1
        return past, tiers


class World:
    """A store and a policy of a seed."""

    def __init__(self, chance, is_disturbed=False):
        self.chance = chance
        self.is_disturbed = is_disturbed
        self.zone = zoneinfo.ZoneInfo(chance.choice(ZONES))
        self.clocks = Clocks(self.zone)
        self.as_of = datetime.datetime(2026, 11, 20, tzinfo=UTC) - chance.randrange(2 * 365 * 86_400) * SECOND
        if chance.random() < 0.5:
            day = chance.choice([(2026, 3, 29), (2026, 10, 25), (2026, 3, 8), (2025, 11, 2), (2026, 4, 5), (2025, 10, 5)])
            self.as_of = datetime.datetime(*day, tzinfo=UTC) + chance.randrange(-86_400, 20 * 86_400) * SECOND
        self.format = chance.choice([*MICROSECONDS, "iso8601", "iso8601"])
        self.tables, self.created = ["Tick"], 0
        self.days_only = self.format == "iso8601" and chance.random() < 0.3
        self.shape = chance.choice(list(SHAPES))
        self.has_rowid = not self.shape.startswith("WITHOUT")
        self.order = SHAPES[self.shape][1]
        self.indexes = chance.choice(INDEXES)
        self.journal = chance.choice(["WAL", "WAL", "DELETE"])
        has_second_date = chance.random() < 0.15
        kinds = [chance.choice(["plain", "plain", "plain", "thin", "thin", "keep", "both", "rollup"]) for _ in range(chance.choice([1, 2, 3, 4]))]
        kinds.append(chance.choice(["thin", "thin", "keep", "keep", "both"]))
        if kinds.count("rollup") and chance.random() < 0.6:
            kinds = ["plain" if kind == "rollup" else kind for kind in kinds]
        chance.shuffle(kinds)
        self.rules = [
            Rule(chance, f"{kind}-{number}", kind, self.format, self.days_only, has_second_date) for number, kind in enumerate(kinds)]
        # A policy may not have rules that keep rows by different dates.
        choosing = [rule for rule in self.rules if rule.chooses]
        for rule in choosing:
            rule.attribute = choosing[0].attribute
        is_cut = chance.random() < 0.15
        if is_cut:
            chance.choice(self.rules).earliest = self.as_of - chance.choice([20, 60, 100]) * DAY
        self.holds = [Hold(chance, f"hold-{number}", self.as_of, not is_cut) for number in range(chance.choice([0, 0, 1, 2]))]
        # Whether rules may be refused.
        self.is_strict = chance.random() < 0.2
        if self.is_strict:
            for rule in self.rules:
                rule.allow_empty = chance.random() < 0.3
                rule.max_rows = chance.choice([None, None, 5, 40]) if not is_disturbed else None
        self.is_archived = chance.random() < 0.15
        self.has_ledger = self.is_archived or chance.random() < 0.2
        self.batch = "batch: { rows: %d, pause: none }" % chance.choice([1, 5, 17])
        self.method = []
        # The dates of values, and the rows that were read.
        self.known, self.seen = {}, {}
        # The order of the rules in a policy, by its folder; and in the one that is judged, if it is not that of `rules`.
        self.orders, self.rule_order = {}, None

    def __str__(self):
        return (f"{self.zone.key} as of {self.as_of.isoformat()}, {self.format}{' of days' if self.days_only else ''}, {self.shape},"
                f" indexes {self.indexes}, {self.journal}, {' '.join(self.method) or 'any method'}, rules "
                + ", ".join(rule.name + ("" if rule.is_enabled else " (disabled)") for rule in self.rules) + f", {len(self.holds)} holds"
                + (", an archive" if self.is_archived else ""))

    # The rows

    def value(self, moment):
        """A date as it is stored."""
        microseconds = (moment - EPOCH) // MICROSECOND
        if self.days_only:
            return moment.astimezone(self.zone).strftime("%Y-%m-%d")
        if self.format == "iso8601":
            if self.chance.random() < 0.2:
                return moment.astimezone(datetime.timezone(datetime.timedelta(hours=2))).isoformat()
            return moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ" if moment.microsecond else "%Y-%m-%dT%H:%M:%SZ")
        if self.format == "apple_seconds":
            return microseconds // 500_000 / 2 - APPLE
        return microseconds // MICROSECONDS[self.format]

    def moments(self, count):
        """Instants in few days, close together, with ties, and at the bounds of rules and buckets."""
        chance, found = self.chance, []
        step = MICROSECONDS.get(self.format, 1) * MICROSECOND
        bounds = [rule.cutoff(self.as_of, self.zone) for rule in self.rules]
        bounds += [cutoff(self.as_of, age, rule.align, self.zone) for rule in self.rules if rule.thin for _, age in rule.thin["tiers"] if age]
        days = [self.as_of - chance.randrange(220) * DAY for _ in range(chance.choice([3, 8, 20]))]
        days += [bound - chance.randrange(3) * DAY for bound in bounds]
        for _ in range(count):
            kind = chance.random()
            if found and kind < 0.25:
                moment = chance.choice(found) + chance.choice([0, 0, 1]) * step
            elif kind < 0.35:
                moment = chance.choice(bounds) + chance.choice([-1, 0, 1]) * step
            elif kind < 0.45:
                unit = chance.choice(list(UNITS.values()))
                moment = self.clocks.bucket(chance.choice(days), unit)[chance.randrange(2)] + chance.choice([-1, 0]) * step
            else:
                moment = chance.choice(days) + chance.choice([0, 1, 5, 7, 23]) * 3600 * SECOND + chance.randrange(3600) * SECOND
            found.append(min(moment, self.as_of))
        return found

    def row(self, number, moment):
        chance = self.chance
        row = {"id": number, "symbol": chance.choice(["A", "A", "B", "C"]), "venue": chance.choice(["X", "Y", None]),
               "f": chance.choice(["bad", "ok", "ok", None]), "v": chance.choice([1, 4, 5, 9, None]), "at": self.value(moment),
               "seen": self.value(min(moment + chance.choice([0, 0, 1, 30]) * DAY, self.as_of)), "price": chance.choice([1.5, 2, 7, 9.25])}
        in_key = {"WITHOUT ROWID by symbol": ["symbol", "at"], "WITHOUT ROWID by date": ["symbol", "at"]}.get(self.shape, [])
        if chance.random() < 0.1 and "symbol" not in in_key:
            row["symbol"] = None
        for name in ("at", "seen"):
            if chance.random() < 0.04:
                row[name] = "n/a" if name in in_key else chance.choice([None, "n/a"])
        if chance.random() < 0.1:
            row["price"] = chance.choice([None, 0, -1, "none"])
        row["table"] = chance.choice(self.tables) if len(self.tables) > 1 else self.tables[0]
        return row

    def insert(self, store, row, rowid):
        """Adds a row, or does nothing where its key is taken."""
        columns = COLUMNS + (["rowid"] if self.has_rowid and self.shape != "rowid" else [])
        values = [row[name] for name in COLUMNS] + ([rowid] if len(columns) > len(COLUMNS) else [])
        if self.shape == "text key":
            columns, values = columns + ["code"], values + [f"code {row['id']}"]
        store.execute(f"INSERT OR IGNORE INTO {row['table']}({', '.join(columns)}) VALUES ({', '.join('?' * len(values))})", values)

    def make(self, folder):
        os.makedirs(folder)
        store = sqlite3.connect(f"{folder}/prices.sqlite", isolation_level=None)
        store.execute(f"PRAGMA journal_mode = {self.journal}")
        for table in self.tables:
            self.create(store, table)
        moments = self.moments(self.chance.choice([30, 80] if self.is_disturbed else [6, 40, 120, 200]))
        numbers = list(range(1, len(moments) + 1))
        rowids = self.chance.sample(range(1, 10 * len(moments)), len(moments))
        if self.chance.random() < 0.5:
            # Keys that grow with the dates are usual.
            order = sorted(range(len(moments)), key=lambda index: moments[index])
            moments = [moments[index] for index in order]
            rowids.sort()
        store.execute("BEGIN")
        rows = [self.row(number, moment) for number, moment in zip(numbers, moments)]
        if self.chance.random() < 0.6:
            self.spoil(rows, moments)
        for row, rowid in zip(rows, rowids):
            self.insert(store, row, rowid)
        store.execute("COMMIT")
        store.close()
        if self.is_archived:
            os.mkdir(f"{folder}/archive", mode=0o700)
        self.write(folder, self.rules)

    def create(self, store, table):
        date = "TEXT" if "%" in self.format else {"iso8601": "TEXT", "apple_seconds": "REAL"}.get(self.format, "INTEGER")
        columns = f"symbol TEXT, venue TEXT, f TEXT, v INTEGER, at {date}, seen {date}, price REAL"
        store.execute(f"CREATE TABLE {table}({SHAPES[self.shape][0].format(columns)})" + ("" if self.has_rowid else " WITHOUT ROWID"))
        for index in self.indexes:
            # A table that is renamed keeps the names of its indexes.
            self.created += 1
            store.execute(f"CREATE INDEX index_{self.created} ON {table}({index})")

    def spoil(self, rows, moments):
        """Makes the last or the first row of many days a bad one: the pick of a tier."""
        best = self.chance.choice([max, min])
        days = {}
        for row, moment in zip(rows, moments):
            days.setdefault(self.clocks.bucket(moment, "day"), []).append((moment, row["id"], row))
        for day in days.values():
            if self.chance.random() < 0.8:
                best(day)[2]["f"] = "bad"

    def write(self, folder, rules):
        holds = "archive: { folder: archive }\n" if self.is_archived else ""
        if self.holds:
            holds += "holds:\n" + "".join(hold.policy() for hold in self.holds)
        self.orders[folder] = rules
        with open(f"{folder}/retention.yaml", "w") as policy:
            policy.write(f"version: 1\nstore: prices.sqlite\ntimezone: {self.zone.key}\n" + ("" if self.has_ledger else "ledger: none\n")
                         + holds + "rules:\n" + "".join(rule.policy(self.date_format, self.batch) for rule in rules))
        os.chmod(f"{folder}/retention.yaml", 0o644)

    @property
    def date_format(self):
        """As a policy writes it."""
        return f'{{ pattern: "{self.format}" }}' if "%" in self.format else self.format

    def parsed(self, value):
        if value not in self.known:
            self.known[value] = parsed(value, self.format, self.zone)
        return self.known[value]

    def read(self, store):
        """The rows of the table by their ids. Those that are as they were are the same objects."""
        rowid = "rowid" if self.has_rowid else "NULL"
        rows = {}
        for table in self.tables:
            for values in store.execute(f"SELECT {rowid}, {', '.join(COLUMNS)} FROM {table}").fetchall():
                row = self.seen.get((table, values)) or self.see(table, values)
                require(row["id"] not in rows, "a row is there twice")
                rows[row["id"]] = row
        return rows

    def see(self, table, values):
        """A row that is read for the first time."""
        row = dict(zip(["rowid", *COLUMNS], values)) | {"table": table}
        row["dates"] = {name: self.parsed(row[name]) for name in ("at", "seen")}
        row["is_priced"] = isinstance(row["price"], (int, float)) and row["price"] > 0
        self.seen[table, values] = row
        return row

    def look(self, folder):
        """The rows, and how many are in candles."""
        store = sqlite3.connect(f"{folder}/prices.sqlite")
        try:
            require(store.execute("PRAGMA integrity_check").fetchall() == [("ok",)], "the store is damaged")
            return self.read(store), self.in_candles(store)
        finally:
            store.close()

    def in_candles(self, store):
        tables = [name for name, in store.execute("SELECT name FROM sqlite_schema WHERE type = 'table' AND name LIKE 'candle%'")]
        return sum(store.execute(f"SELECT coalesce(sum(count), 0) FROM {table}").fetchone()[0] for table in tables)

    # Runs

    def options(self, as_of, *more):
        codes = ["mixed_formats", "wrong_unit", "future_dates", "policy_widened", "rows_came_back", "clock_jumped", "clock_moved_back"]
        if not self.is_strict:
            codes.append("would_empty_entity")
        accept = [word for code in codes for word in ("--accept", code)]
        return ["run", "--as-of", as_of.strftime("%Y-%m-%dT%H:%M:%SZ"), "--format", "json", *accept, *self.method, *more]

    def choose_method(self, program, folder):
        """Half of the time one that the program accepts for all rules; it is asked."""
        # A rebuild is not carried out beside a writer.
        for method in self.chance.sample([name for name in METHODS if name != "rebuild" or not self.is_disturbed], 2):
            if method == "auto":
                return
            self.method = ["--method", method]
            if program.run(folder, *self.options(self.as_of, "--dry-run")).returncode in (0, 65):
                return
        self.method = []

    def run(self, program, folder, as_of, *more):
        end = program.run(folder, *self.options(as_of, *more))
        if end.returncode == 78 and "is not possible for" in end.stderr:
            # It does not fit one of the rules, which has rows to delete now.
            self.method = []
            end = program.run(folder, *self.options(as_of, *more))
        require(end.returncode in (0, 65) and end.stdout, "ends with", end.returncode, end.stderr)
        return self.checked(json.loads(end.stdout), end)

    def checked(self, report, end):
        """The rules of a report; no rule has failed, and none is refused without a reason."""
        rules = report["rules"]
        for rule in rules:
            require(rule["outcome"] in ("planned", "completed", "refused", "disabled"), rule["name"], "is", rule["outcome"], rule["message"])
            is_fine = self.is_strict and rule["refusal"] in ("would_empty_entity", "too_many_rows")
            require(rule["outcome"] != "refused" or is_fine, rule["name"], "is refused:", rule["message"])
        require(end.returncode == (65 if any(rule["outcome"] == "refused" for rule in rules) else 0),
                "ends with", end.returncode, end.stderr)
        return rules

    def carry_out(self, program, folder, as_of, names=(), is_dry_first=False):
        """A run, and a dry run before it, against the judge. Returns the rows that are left, and whether a rule was refused."""
        rows, in_candles = self.look(folder)
        self.rule_order = self.orders.get(folder, self.rules)
        judge = Judge(self, as_of, rows)
        selected = [word for name in names for word in ("--rule", name)]
        if is_dry_first:
            with open(f"{folder}/prices.sqlite", "rb") as file:
                before = file.read()
            planned = self.run(program, folder, as_of, "--dry-run", *selected)
            with open(f"{folder}/prices.sqlite", "rb") as file:
                require(file.read() == before, "the dry run changed the store")
        done = self.run(program, folder, as_of, *selected)
        left, left_in_candles = self.look(folder)
        if is_dry_first:
            self.compare(planned, judge, "the dry run")
            for one, other in zip(planned, done):
                for figure in ("expired", "refusal", "kept_by_rule", "kept_by_tier", "held"):
                    require(one[figure] == other[figure], one["name"], figure, one[figure], "in the dry run and", other[figure], "in the run")
        gone = self.compare(done, judge, "the run")
        missing, more = set(rows) - gone - set(left), set(left) - (set(rows) - gone)
        require(not missing and not more, "gone and should stay:", sorted(missing)[:5], "left and should go:", sorted(more)[:5])
        for rule in done:
            require(rule["deleted"] == (0 if rule["refusal"] else rule["expired"] or 0), rule["name"], "deleted", rule["deleted"], "of", rule["expired"])
            self.check_archived(rule)
            self.check_kept(rule, judge, left)
        candles = sum(rule["deleted"] for rule in done if self.named(rule["name"]).rollup)
        require(left_in_candles - in_candles == candles, f"candles got {left_in_candles - in_candles} rows, and {candles} were deleted for them")
        return set(left), any(rule["refusal"] for rule in done)

    def named(self, name):
        return next(rule for rule in self.rules if rule.name == name)

    def compare(self, report, judge, what):
        """Compares the figures of a report with the judge. Returns the rows that must go."""
        gone = set()
        carried_out = {said["name"] for said in report if not said["refusal"]}
        order = self.rule_order or self.rules
        for said in report:
            rule = self.named(said["name"])
            require((said["outcome"] == "disabled") == (not rule.is_enabled), rule.name, "is", said["outcome"])
            if not rule.is_enabled:
                continue
            if said["refusal"] == "hold_unusable" and said["expired"] is None:
                # A hold of a table that is missing: nothing is counted.
                continue
            # A row that two rules delete is counted by the one that is carried out first.
            rows = judge.deleted_by(rule) - gone
            if not rule.rollup:
                # A rule leaves rows alone of which one before it would make candles, and is not carried out.
                for maker in order[:order.index(rule)]:
                    if maker.rollup and maker.is_enabled and not maker.chooses and maker.name not in carried_out:
                        rows -= judge.reached(maker)
            moment = datetime.datetime.fromisoformat(said["cutoff"].replace("Z", "+00:00"))
            require(moment == judge.cutoffs[rule], rule.name, "has the cutoff", moment, "and should have", judge.cutoffs[rule])
            require(said["expired"] == len(rows), what, "of", rule.name, "expires", said["expired"], "and should expire", len(rows))
            if not said["refusal"]:
                gone |= rows
        return gone

    def check_archived(self, said):
        """Each row that is gone was archived, if the policy says so."""
        wanted = said["deleted"] + said["cascaded"] if self.is_archived else 0
        require((said["archived"] or 0) == wanted, said["name"], "archived", said["archived"], "rows and should archive", wanted)

    def check_kept(self, said, judge, left):
        """What a report says a rule keeps is there, and as much as the judge says."""
        rule = self.named(said["name"])
        if not rule.is_enabled or not rule.chooses or said["refusal"] == "hold_unusable" and said["expired"] is None:
            return
        kept, tiers = judge.past_and_kept(rule)
        require(kept <= set(left), rule.name, "keeps rows that are gone:", sorted(kept - set(left))[:5])
        told = {tier["tier"]: tier["rows"] for tier in said["kept_by_tier"]}
        require(told == tiers, rule.name, "keeps by tier", told, "and should keep", tiers)
        require(said["kept_by_rule"] == len(kept), rule.name, "keeps", said["kept_by_rule"], "and should keep", len(kept))


def try_rules(program, chance, folder):
    """One trial."""
    world = World(chance)
    main = f"{folder}/main"
    world.make(main)
    world.choose_method(program, main)
    yield str(world)
    for name in ("shuffled", "singly"):
        shutil.copytree(main, f"{folder}/{name}")
    left, is_refused = world.carry_out(program, main, world.as_of, is_dry_first=True)
    if not is_refused:
        again = world.run(program, main, world.as_of)
        require(all(rule["deleted"] == 0 for rule in again), "a second run deletes")
    world.write(f"{folder}/shuffled", chance.sample(world.rules, len(world.rules)))
    others, others_are_refused = world.carry_out(program, f"{folder}/shuffled", world.as_of)
    require(is_refused or others_are_refused or others == left, "in another order of the rules other rows are left")
    names = [rule.name for rule in chance.sample(world.rules, len(world.rules))]
    while names:
        part = [names.pop() for _ in range(min(len(names), chance.choice([1, 1, 1, 2])))]
        others, is_one_refused = world.carry_out(program, f"{folder}/singly", world.as_of, part)
        is_refused = is_refused or is_one_refused
    require(is_refused or others == left, "one by one the rules leave other rows than together")
    world.carry_out(program, main, world.as_of + DAY, is_dry_first=True)
    yield "policies with a refusal" if is_refused else "policies without a refusal"
