"""Random policies against a slow judge that knows the calendar from Python's own library."""

import datetime
import json
import os
import sqlite3
import zoneinfo

from scenario import require

UTC = datetime.timezone.utc
ZONES = ["UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "America/St_Johns", "Asia/Kathmandu", "Africa/Casablanca"]
EPOCH = datetime.datetime(1970, 1, 1, tzinfo=UTC)
# When clocks were set back.
SET_BACK = {name: datetime.datetime(*parts, tzinfo=UTC) for name, parts in {
    "Europe/Berlin": (2025, 10, 26, 1), "America/New_York": (2025, 11, 2, 6), "America/St_Johns": (2025, 11, 2, 4, 30),
    "Australia/Lord_Howe": (2026, 4, 4, 15)}.items()}
UNITS = {"s": 1, "min": 60, "h": 3600}


def instant(local, zone):
    """A local time of a calendar as an instant: in a gap by the offset before it, of two the first."""
    return local.replace(tzinfo=zone, fold=0).astimezone(UTC)


def instant_of_date(local, zone):
    """A local time that a row has: of two the later, so that no row is taken for older than it is."""
    both = [local.replace(tzinfo=zone, fold=fold).astimezone(UTC) for fold in (0, 1)]
    # In a gap the offset before it is used, which is that of the first.
    return max(both) if both[1].astimezone(zone).replace(tzinfo=None) == local else both[0]


# Formats whose values are times on the clocks of the zone: how they are called in a policy, and how they are written.
LOCAL = {"local text": ("iso8601", "%Y-%m-%d %H:%M:%S.%f"), "local digits": ("yyyymmddhhmmss", "%Y%m%d%H%M%S")}


def written(moment, format, zone):
    """The value of an instant in a store, and the instant that it is read as."""
    microseconds = (moment - EPOCH) // datetime.timedelta(microseconds=1)
    if format in LOCAL:
        text = moment.astimezone(zone).strftime(LOCAL[format][1])
        value = int(text) if format == "local digits" else text
        return value, instant_of_date(datetime.datetime.strptime(text, LOCAL[format][1]), zone)
    value = {
        "unix_seconds": microseconds // 1_000_000, "unix_milliseconds": microseconds // 1000, "unix_microseconds": microseconds,
        "iso8601": moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ"), "apple_seconds": microseconds // 1_000_000 - 978_307_200,
    }[format]
    return value, moment


def cutoff(as_of, age, align, zone):
    """What the manual says: years and months, then weeks and days in local time, then exact units; then the alignment."""
    moment = as_of
    if any(age[unit] for unit in ("y", "mo", "w", "d")):
        local = as_of.astimezone(zone).replace(tzinfo=None)
        months = local.year * 12 + local.month - 1 - age["y"] * 12 - age["mo"]
        year, month = months // 12, months % 12 + 1
        last = (datetime.date(year + month // 12, month % 12 + 1, 1) - datetime.timedelta(1)).day
        local = local.replace(year=year, month=month, day=min(local.day, last))
        moment = min(as_of, instant(local - datetime.timedelta(days=age["w"] * 7 + age["d"]), zone))
    moment -= datetime.timedelta(seconds=sum(age[unit] * seconds for unit, seconds in UNITS.items()))
    if align is None:
        return moment
    local = moment.astimezone(zone).replace(tzinfo=None)
    start = local.replace(minute=0, second=0, microsecond=0)
    if align != "hour":
        start = start.replace(hour=0)
    if align == "week":
        start -= datetime.timedelta(days=start.weekday())
    if align == "month":
        start = start.replace(day=1)

    def moved(start, count):
        if align == "month":
            months = start.year * 12 + start.month - 1 + count
            return start.replace(year=months // 12, month=months % 12 + 1)
        return start + count * {"hour": datetime.timedelta(hours=1), "day": datetime.timedelta(1), "week": datetime.timedelta(7)}[align]

    for count in (1, 0, -1, -2):
        begin = instant(moved(start, count), zone)
        if begin <= moment:
            return begin


class Rule:
    def __init__(self, chance, as_of, zone, name, days=None):
        self.name = name
        self.age = dict.fromkeys(["y", "mo", "w", "d", "h", "min", "s"], 0)
        for unit in chance.sample(list(self.age), chance.choice([1, 1, 2, 3])):
            self.age[unit] = chance.choice([1, 2, 7, 30, 90]) if unit != "y" else 1
        if days and chance.random() < 0.7:
            self.age = dict.fromkeys(self.age, 0) | {"d": days}
        self.align = chance.choice([None, None, "hour", "day", "week", "month"])
        self.cutoff = cutoff(as_of, self.age, self.align, zone)
        self.where = chance.choice([None, None, {"symbol": "A"}, {"symbol": ["A", "B"]}, {"symbol": {"ne": "A"}},
                                    {"volume": {"lt": 5}}, {"volume": {"ge": 5}, "symbol": "B"}])
        self.keep = chance.choice([None, None, 1, 3])
        self.per = chance.choice([None, "symbol"])
        self.earliest = chance.choice([None, None, as_of - datetime.timedelta(days=400)])
        self.max_rows = chance.choice([None, None, None, 5, 40])
        self.max_fraction = chance.choice([None, None, None, 0.5, 0.9])
        self.allow_empty = chance.random() < 0.5

    def text(self, format):
        parts = [f"name: {self.name}", "entity: Price", "date_attribute: at", f"date_format: {format}",
                 "max_age: " + "".join(f"{count}{unit}" for unit, count in self.age.items() if count)]
        if self.align:
            parts.append(f"align: {self.align}")
        if self.where:
            parts.append("where: " + json.dumps(self.where))
        if self.keep:
            parts.append(f"keep_last: {{ count: {self.keep}" + (f", per: [{self.per}]" if self.per else "") + " }")
        if self.earliest:
            parts.append("earliest: " + self.earliest.strftime("%Y-%m-%dT%H:%M:%SZ"))
        limits = [f"max_rows: {self.max_rows}"] if self.max_rows else []
        limits += [f"max_fraction: {self.max_fraction}"] if self.max_fraction else []
        if limits:
            parts.append("limits: { " + ", ".join(limits) + " }")
        parts.append(f"allow_empty: {'true' if self.allow_empty else 'false'}")
        parts.append("batch: { rows: 7 }")
        return "  - { " + ", ".join(parts) + " }\n"

    def reads(self, row):
        at = row["moment"]
        return at is not None and at >= (self.earliest or datetime.datetime(1971, 1, 1, tzinfo=UTC))

    def matches(self, row):
        for column, wanted in (self.where or {}).items():
            value = row[column]
            if value is None:
                return False
            if isinstance(wanted, list):
                holds = value in wanted
            elif isinstance(wanted, dict):
                (operator, bound), = wanted.items()
                holds = {"ne": value != bound, "lt": value < bound if operator == "lt" else None,
                         "ge": value >= bound if operator == "ge" else None}[operator]
            else:
                holds = value == wanted
            if not holds:
                return False
        return True

    def past(self, rows):
        """The numbers of the rows before its cutoff."""
        return {row["id"] for row in rows if self.reads(row) and self.matches(row) and row["moment"] < self.cutoff}

    def consider(self, rows, left_to_others):
        """Finds the rows that it looks at, and those of them that it keeps."""
        looked_at = [row for row in rows if self.reads(row) and self.matches(row) and row["id"] not in left_to_others]
        self.considered = {row["id"] for row in looked_at}
        self.kept = set()
        groups = {}
        for row in looked_at if self.keep else []:
            groups.setdefault(row[self.per] if self.per else None, []).append(row)
        for group in groups.values():
            group.sort(key=lambda row: row["moment"], reverse=True)
            last = group[min(self.keep, len(group)) - 1]["moment"]
            self.kept |= {row["id"] for row in group if row["moment"] >= last}

    def is_refused(self, rows, alone, counted):
        readable = {row["id"] for row in rows if self.reads(row)}
        matching = self.considered
        return (
            (bool(alone) and alone == readable and not self.allow_empty)
            or (self.max_rows is not None and len(counted) > self.max_rows)
            or (self.max_fraction is not None and bool(matching) and len(counted) / len(matching) > self.max_fraction))


def judge_alone(rules, rows):
    """Finds what each rule deletes, whatever the rules before it do. A rule that keeps rows leaves those alone that the rules which
    keep none delete, and what one such rule keeps, the others keep, too."""
    left = set().union(*(rule.past(rows) for rule in rules if not rule.keep))
    for rule in rules:
        rule.consider(rows, left if rule.keep else set())
    kept = set().union(*(rule.kept for rule in rules))
    for rule in rules:
        rule.alone = (rule.past(rows) & rule.considered) - (kept if rule.keep else set())


def is_disjoint(a, b):
    """Whether the program can tell by the words that two rules never name the same row."""
    def demanded(rule):
        value = (rule.where or {}).get("symbol")
        return None if value is None or isinstance(value, dict) else set(value if isinstance(value, list) else [value])
    first, second = demanded(a), demanded(b)
    return first is not None and second is not None and not first & second


def refused_together(takers, planned, rows):
    """The rules that pass by themselves and take too much together: `takers` has what each deletes."""
    gone = set().union(*takers.values())
    emptying = {rule for rule in takers if not rule.allow_empty and not {row["id"] for row in rows if rule.reads(row)} - gone}
    if len(takers) < 2 or emptying:
        return emptying if len(takers) > 1 else set()
    for other in planned:
        matching = other.considered
        if (other.max_fraction is not None and other.alone and matching
                and len(matching & gone) / len(matching) > other.max_fraction):
            return {rule for rule in takers if not is_disjoint(other, rule)}
    return set()


def plan(rules, rows):
    """What each rule deletes, in their order, and whether it is refused; and what all delete."""
    withheld = set()
    while True:
        gone, expected, planned, takers = set(), [], [], {}
        for rule in rules:
            counted = rule.alone - gone
            refused = rule in withheld or rule.is_refused(rows, rule.alone, counted)
            expected.append((rule.cutoff, len(counted), refused))
            if not refused:
                gone |= counted
                planned.append(rule)
                if counted:
                    takers[rule] = counted
        found = refused_together(takers, planned, rows)
        if not found:
            return expected, gone
        withheld |= found


def try_policy(program, chance, folder):
    zone_name = chance.choice(ZONES)
    zone = zoneinfo.ZoneInfo(zone_name)
    as_of = datetime.datetime(2026, 11, 20, tzinfo=UTC) - datetime.timedelta(seconds=chance.randrange(3 * 365 * 86_400))
    # Half of the time near a change of the clocks.
    if chance.random() < 0.5:
        day = chance.choice([(2026, 3, 29), (2026, 10, 25), (2026, 3, 8), (2025, 11, 2), (2026, 4, 5), (2025, 10, 5)])
        as_of = datetime.datetime(*day, tzinfo=UTC) + datetime.timedelta(seconds=chance.randrange(-86_400, 3 * 86_400))
    if chance.random() < 0.3:
        as_of = as_of.replace(day=1) + datetime.timedelta(days=chance.choice([29, 30]), hours=1)
    # Some days after clocks were set back, so that a cutoff may be within the hour that occurs twice.
    days = None
    if zone_name in SET_BACK and chance.random() < 0.4:
        days = chance.choice([1, 2, 7, 30, 90])
        as_of = SET_BACK[zone_name] + datetime.timedelta(days=days, minutes=chance.randrange(-120, 120))
    as_of = min(as_of, datetime.datetime(2026, 11, 20, tzinfo=UTC))
    format = chance.choice(["unix_seconds", "unix_milliseconds", "unix_microseconds", "iso8601", "apple_seconds", *LOCAL])
    rules = [Rule(chance, as_of, zone, f"rule-{number}", days) for number in range(chance.choice([1, 1, 2, 3]))]
    yield f"{zone_name} as of {as_of.isoformat()}"

    rows = []
    steps = {"unix_seconds": 1_000_000, "unix_milliseconds": 1000, "unix_microseconds": 1, "iso8601": 1, "apple_seconds": 1_000_000,
             "local text": 1, "local digits": 1_000_000}
    for number in range(1, chance.choice([1, 20, 80]) + 1):
        if chance.random() < 0.4:
            moment = chance.choice(rules).cutoff + chance.choice([
                datetime.timedelta(microseconds=chance.choice([-1, 0, 1]) * steps[format]),
                datetime.timedelta(minutes=chance.randrange(-120, 120))])
        else:
            moment = as_of - datetime.timedelta(seconds=chance.randrange(3 * 365 * 86_400))
        moment = min(moment, as_of)
        microseconds = (moment - EPOCH) // datetime.timedelta(microseconds=1)
        microseconds -= microseconds % steps[format]
        value, moment = written(EPOCH + datetime.timedelta(microseconds=microseconds), format, zone)
        if chance.random() < 0.05:
            moment, value = None, chance.choice([None] if format in ("iso8601", "local text") else [None, 0])
        rows.append({"id": number, "symbol": chance.choice(["A", "B", "C", None]), "volume": chance.choice([None, 1, 5, 9]),
                     "moment": moment, "value": value})
    # A row of today, so that neither the unit nor the clock is doubted; no rule reaches it.
    value, moment = written(as_of, format, zone)
    rows.append({"id": 0, "symbol": "Z", "volume": None, "moment": moment, "value": value})
    if chance.random() < 0.3:
        rows.pop()

    os.makedirs(folder)
    store = sqlite3.connect(f"{folder}/prices.sqlite")
    integer = ["", "INTEGER"]
    types = {"iso8601": ["", "TEXT"], "local text": ["", "TEXT"], "unix_microseconds": integer, "local digits": integer + ["TEXT"]}.get(
        format, ["", "INTEGER", "REAL"])
    store.execute(f"CREATE TABLE Price(id INTEGER PRIMARY KEY, symbol TEXT, volume INTEGER, at {chance.choice(types)})")
    if chance.random() < 0.6:
        store.execute("CREATE INDEX Price_at ON Price(at)")
    store.executemany("INSERT INTO Price VALUES (?, ?, ?, ?)", [(row["id"], row["symbol"], row["volume"], row["value"]) for row in rows])
    store.commit()
    store.close()
    with open(f"{folder}/retention.yaml", "w") as policy:
        policy.write(f"version: 1\nstore: prices.sqlite\ntimezone: {zone_name}\nrules:\n" + "".join(rule.text(LOCAL.get(format, [format])[0]) for rule in rules))
    os.chmod(f"{folder}/retention.yaml", 0o644)

    judge_alone(rules, rows)
    expected, gone = plan(rules, rows)
    accept = ["--accept", "mixed_formats", "--accept", "wrong_unit", "--accept", "future_dates"]
    options = ["run", "--as-of", as_of.strftime("%Y-%m-%dT%H:%M:%SZ"), "--format", "json", *accept]
    with open(f"{folder}/prices.sqlite", "rb") as file:
        before = file.read()
    for mode in (["--dry-run"], []):
        end = program.run(folder, *options, *mode)
        require(end.returncode in (0, 65) and end.stdout, "ends with", end.returncode, end.stderr)
        report = json.loads(end.stdout)["rules"]
        for rule, (moment, counted, refused) in zip(report, expected):
            said = datetime.datetime.fromisoformat(rule["cutoff"].replace("Z", "+00:00"))
            require(said == moment, rule["name"], "has the cutoff", said, "and should have", moment)
            require((rule["outcome"] == "refused") == refused, rule["name"], "is", rule["outcome"], rule["message"])
            require(rule["expired"] == counted, rule["name"], "expires", rule["expired"], "and should expire", counted)
            if not mode:
                require(rule["deleted"] == (0 if refused else counted), rule["name"], "deleted", rule["deleted"])
        if mode:
            with open(f"{folder}/prices.sqlite", "rb") as file:
                require(file.read() == before, "the dry run changed the store")
            continue
        store = sqlite3.connect(f"{folder}/prices.sqlite")
        left = {row[0] for row in store.execute("SELECT id FROM Price")}
        store.close()
        right = {row["id"] for row in rows} - gone
        require(left == right, "left over:", sorted(left - right)[:5], "missing:", sorted(right - left)[:5])
    yield f"{sum(not refused for _, _, refused in expected)} of {len(expected)} rules carried out"
