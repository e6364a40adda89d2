"""Rules that become several: ages by the value of an attribute, and tables by pattern. And dates as a pattern writes them.

Written from docs/configuration.md. Each member of a family is a rule of its own for the judge."""

import copy
import datetime
import functools
import re

from rules import UTC, instant, instant_of_date
from together import BREAK, DAY, Span, text, whole

MONTHS = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split()
# How a value is written, and what a part of it may be. Some values have no zero in front.
PATTERNS = ["%d.%m.%Y %H:%M", "%Y/%m/%d", "%Y-%m-%d %H:%M:%S %z %Z", "%a, %d %b %Y %H:%M:%S %z", "%b %d %Y %H.%M.%S.%f", "%Y%m%d"]
LETTERS = {"Y": r"(?P<Y>\d{4})", "m": r"(?P<m>\d\d?)", "d": r"(?P<d>\d\d?)", "H": r"(?P<H>\d\d?)", "M": r"(?P<M>\d\d?)",
           "S": r"(?P<S>\d\d?)", "f": r"(?P<f>\d+)", "b": r"(?P<b>[A-Za-z]{3})", "a": "(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)",
           "z": r"(?P<z>Z|[+-]\d\d(?::?\d\d)?)", "Z": "(?:UTC|GMT)"}
DAYS_ONLY = ["%Y/%m/%d", "%Y%m%d"]
# What is written like a date and is none.
NO_DATES = {"%d.%m.%Y %H:%M": ["31.02.2026 0:00", "01.01.2026 25:00", "01.01.2026 1:00 "], "%Y/%m/%d": ["2026/13/01", "26/01/01"]}


def write_date(pattern, moment, zone, chance):
    """A moment as a pattern writes it; as other programs do, also without zeros in front, and in other zones."""
    is_zoned = "%z" in pattern
    local = moment.astimezone(datetime.timezone(datetime.timedelta(hours=chance.choice([0, 0, 2]))) if is_zoned and "%Z" not in pattern
                              else UTC if is_zoned else zone)
    value = local.strftime(pattern)
    if "." in pattern and chance.random() < 0.3:
        value = re.sub(r"\b0(\d)(?=[.: ])", r"\1", value)
    return value


def read_date(pattern, value, zone):
    """A value as a date; None: it does not fit."""
    if not isinstance(value, str):
        return None
    expression = re.sub(r"%(\w)|(.)", lambda match: LETTERS[match[1]] if match[1] else re.escape(match[2]), pattern)
    if pattern == "%Y%m%d":
        expression = expression.replace(r"\d\d?", r"\d\d")
    match = re.fullmatch(expression, value, re.ASCII | re.IGNORECASE)
    if not match:
        return None
    part = match.groupdict()
    try:
        month = MONTHS.index(part["b"].title()) + 1 if "b" in part else int(part["m"])
        local = datetime.datetime(int(part["Y"]), month, int(part["d"]), *(int(part.get(letter, 0)) for letter in "HMS"),
                                  int(part.get("f", "0").ljust(6, "0")[:6]))
    except ValueError:
        return None
    if "z" in part:
        digits = re.sub("[Z:]", "", part["z"]).ljust(5, "0")
        offset = datetime.timedelta(hours=int(digits[1:3]), minutes=int(digits[3:5])) * (-1 if digits[0] == "-" else 1)
        return Span(local.replace(tzinfo=UTC) - offset)
    if "H" not in part:
        return Span(instant(local, zone), instant(local + DAY, zone))
    return Span(instant_of_date(local, zone))


class Ages:
    """Ages by a value: in the policy, and in a table of the store."""

    CHOICES = [whole({"d": count}) for count in (1, 2, 3, 5, 10, 14, 30, 60)]
    VALUES = ["A", "B", "C", "BA", "A*", "B*", "N*"]

    def __init__(self, chance, has_table):
        self.chance, self.has_table = chance, has_table
        self.default = self.any_age()
        self.listed = {value: self.any_age() for value in chance.sample(self.VALUES, chance.choice([1, 2, 3]))}

    def __deepcopy__(self, memo):
        other = copy.copy(self)
        other.listed = dict(self.listed)
        return other

    def any_age(self):
        return self.chance.choice(self.CHOICES)

    def policy(self):
        parts = ["by: symbol", f"default: {text(self.default)}"] + [f'"{value}": {text(age)}' for value, age in self.listed.items()]
        return "{ " + ", ".join(parts + ["from: { entity: symbol_ages, key: name, age: keep_days }"] * self.has_table) + " }"

    def edit(self):
        kind = self.chance.choice(["default", "one", "one", "add", "add", "remove", "table"])
        if kind == "default":
            self.default = self.any_age()
        elif kind == "one" and self.listed:
            self.listed[self.chance.choice(sorted(self.listed))] = self.any_age()
        elif kind == "remove" and len(self.listed) > 1:
            self.listed.pop(self.chance.choice(sorted(self.listed)))
        elif kind == "table":
            self.has_table = not self.has_table
        else:
            self.listed[self.chance.choice(self.VALUES)] = self.any_age()

    def all(self, table):
        """The ages of values, those of beginnings, which the first one in the file precedes, and the age of the others."""
        values = {value: age for value, age in self.listed.items() if not value.endswith("*")}
        if self.has_table:
            values = {value: age for value, age in table.items() if age} | values
        return values, {value[:-1]: age for value, age in self.listed.items() if value.endswith("*")}, self.default

    def longest(self, table):
        values, beginnings, default = self.all(table)
        return max([*values.values(), *beginnings.values(), default], key=lambda age: age["d"])

    def member_of(self, symbol, table):
        """The name of the member that has the rows of a symbol, and its age."""
        values, beginnings, default = self.all(table)
        if symbol in values and "share" not in BREAK:
            return text(values[symbol]), values[symbol]
        for beginning, age in beginnings.items():
            if symbol is not None and symbol.startswith(beginning):
                return beginning + "*", age
        return "default", default

    def members(self, table):
        values, beginnings, default = self.all(table)
        return {text(age): age for age in values.values()} | {value + "*": age for value, age in beginnings.items()} | {"default": default}


class Shares:
    """Which member of a rule has a row: by its table, and by its symbol if there are ages."""

    def __init__(self, ages=None, table_of_ages=None):
        self.ages, self.table_of_ages = ages, table_of_ages
        self.known = {}

    def share(self, row):
        symbol = row["symbol"] if self.ages else None
        if symbol not in self.known:
            self.known[symbol] = self.ages.member_of(symbol, self.table_of_ages)[0] if self.ages else None
        return row["table"], self.known[symbol]


BY_TABLE = Shares()


@functools.cache
def matches(pattern, name):
    """Whether the name of a table matches a pattern."""
    expression = "".join({"*": ".*", "?": ".", "!": "^"}.get(part, part) for part in pattern)
    return bool(re.fullmatch(expression, name, re.IGNORECASE))


def is_pattern(rule):
    return any(character in rule.entity for character in "*?[")


def expand(rules, tables, table_of_ages):
    """The rules that the rules of a policy are for the tables that a store has, and for the ages that it holds."""
    found = []
    named = {rule.entity.lower() for rule in rules if not is_pattern(rule)}
    for rule in rules:
        if is_pattern(rule):
            tables = tables[:-1] if "table" in BREAK else tables
            found += [member(rule, name, table=name) for name in tables
                      if matches(rule.entity, name) and name.lower() not in named and not any(matches(other, name) for other in rule.excepted)]
        elif rule.ages:
            shares = Shares(copy.deepcopy(rule.ages), dict(table_of_ages))
            for name, age in rule.ages.members(table_of_ages).items():
                found.append(member(rule, name, table=rule.entity, shares=shares, age=age))
        elif rule.entity in tables:
            found.append(member(rule, None, table=rule.entity))
    return found


def member(rule, name, table, shares=BY_TABLE, age=None):
    """A rule for the rows of a table, and of some values."""
    found = copy.copy(rule)
    found.family, found.age, found.table = rule, age or rule.age, table
    found.name = f"{rule.name}:{name}" if name else rule.name
    found.shares, found.share = shares, (table, name if shares.ages else None)
    return found
