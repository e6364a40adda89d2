"""Random feeds, and real prices, that become candles, against a judge made of pandas. Half of the runs are killed once.

Half of the feeds have an archive: some of their runs, also killed ones, are undone, and the store must be what it was."""

import csv
import datetime
import json
import math
import os
import shutil
import sqlite3
import zoneinfo

from scenario import require

try:
    import pandas
except ImportError:
    pandas = None

UTC = datetime.timezone.utc
EPOCH = datetime.datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = datetime.timedelta(microseconds=1)
FIELDS = ["open", "high", "low", "close", "volume", "count", "open_time", "close_time", "price_volume"]
MINUTES = {"1min": 1, "5min": 5, "15min": 15, "1h": 60, "4h": 240, "12h": 720}
CALENDAR = {"1d": "D", "1w": "W-MON", "1mo": "MS", "3mo": "QS-JAN", "1y": "YS-JAN"}
CHAINS = [["1min", "1h", "1d"], ["5min", "4h", "1d", "1w"], ["1min", "15min", "12h", "1d", "1mo"], ["1h", "1d", "1y"]]
ZONES = ["UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu", "America/St_Johns"]
# Around changes of the clocks, a leap day, and the end of a year.
DAYS = [(2022, 3, 26), (2022, 10, 29), (2022, 3, 12), (2021, 11, 6), (2022, 4, 2), (2024, 2, 28), (2021, 12, 30)]


class Session:
    """Days that begin at a time on the clocks of a zone. One that starts after noon belongs to the next day."""

    def __init__(self, zone, start):
        self.zone = zoneinfo.ZoneInfo(zone)
        hour, minute = (int(part) for part in start.split(":"))
        seconds = hour * 3600 + minute * 60
        self.offset = datetime.timedelta(seconds=seconds - 86_400 if seconds > 43_200 else seconds)

    def begin(self, day):
        """The instant at which the session of a day begins: in a gap by the offset before it, of two the first."""
        local = datetime.datetime.combine(day, datetime.time()) + self.offset
        return local.replace(tzinfo=self.zone, fold=0).astimezone(UTC)

    def day(self, moment):
        """The day whose session holds an instant."""
        day = (moment.astimezone(self.zone).replace(tzinfo=None) - self.offset).date()
        for candidate in (day + datetime.timedelta(1), day, day - datetime.timedelta(1)):
            if self.begin(candidate) <= moment:
                return candidate

    def bucket(self, moment, every):
        """The start of the bucket that holds an instant."""
        day = self.day(moment)
        if every in MINUTES:
            length = datetime.timedelta(minutes=MINUTES[every])
            return self.begin(day) + (moment - self.begin(day)) // length * length
        if every == "1w":
            day -= datetime.timedelta(days=day.weekday())
        elif every != "1d":
            months = {"1mo": 1, "3mo": 3, "1y": 12}[every]
            day = day.replace(month=(day.month - 1) // months * months + 1, day=1)
        return self.begin(day)


def resampled(frame, session, every):
    """Start and open, high, low, close of each bucket of one group's rows, which are in order."""
    if every in MINUTES:
        parts = []
        for day, rows in frame.groupby("day", sort=True):
            begin = session.begin(day)
            rows = rows.set_index(pandas.Timestamp(0) + (rows["moment"] - begin))
            # Counted from the beginning of the session.
            candles = rows["price"].resample(f"{MINUTES[every]}min", origin="epoch").ohlc()
            parts += [(begin + (label - pandas.Timestamp(0)).to_pytimedelta(), candle) for label, candle in candles.iterrows()]
    else:
        rows = frame.set_index(pandas.to_datetime(frame["day"]))
        candles = rows["price"].resample(CALENDAR[every], label="left", closed="left").ohlc()
        parts = [(session.begin(label.date()), candle) for label, candle in candles.iterrows()]
    # A gap stays a gap.
    return {begin: tuple(candle[["open", "high", "low", "close"]]) for begin, candle in parts if not math.isnan(candle["open"])}


def judged(rows, session, every):
    """The candles of rows by group and start of the bucket: prices by pandas, sums exactly."""
    found, groups = {}, {}
    for row in sorted(rows, key=lambda row: (row["moment"], row["id"])):
        groups.setdefault(row["symbol"], []).append(row)
    for symbol, rows in groups.items():
        frame = pandas.DataFrame({
            "moment": [row["moment"] for row in rows], "price": [float(row["price"]) for row in rows],
            "day": [session.day(row["moment"]) for row in rows]})
        candles = resampled(frame, session, every)
        buckets = {}
        for row in rows:
            buckets.setdefault(session.bucket(row["moment"], every), []).append(row)
        require(set(candles) == set(buckets), "pandas has other buckets:", sorted(set(candles) ^ set(buckets))[:3])
        for begin, rows in buckets.items():
            volumes = [row["volume"] or 0 for row in rows]
            found[symbol, begin] = candles[begin] + (
                math.fsum(volumes), len(rows), rows[0]["moment"], rows[-1]["moment"],
                math.fsum(row["price"] * volume for row, volume in zip(rows, volumes)))
    return found


def written(value, format):
    """A stored date as an instant."""
    if format == "iso8601":
        text = value if len(value) > 10 else value + ("-01" if len(value) == 7 else "")
        moment = datetime.datetime.fromisoformat(text.replace("Z", "+00:00"))
        return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    microseconds = {"unix_milliseconds": value * 1000, "unix_seconds": value * 1_000_000,
                    "unix_microseconds": value, "apple_seconds": (value + 978_307_200) * 1_000_000}[format]
    return EPOCH + round(microseconds) * MICROSECOND


def stored(moment, format):
    microseconds = (moment - EPOCH) // MICROSECOND
    return {"unix_milliseconds": microseconds // 1000, "unix_seconds": microseconds // 1_000_000,
            "unix_microseconds": microseconds, "apple_seconds": microseconds / 1_000_000 - 978_307_200,
            "iso8601": moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ")}[format]


def compare(candles, expected, what):
    require(set(candles) == set(expected), what, "has other candles:",
            sorted(map(str, set(candles) ^ set(expected)))[:3], f"({len(candles)} and not {len(expected)})")
    for key, candle in expected.items():
        for name, value, wanted in zip(FIELDS, candles[key], candle):
            same = (abs(value - wanted) <= 1e-9 * max(1, abs(wanted)) if name in ("volume", "price_volume") else value == wanted)
            require(same, what, "has at", *key, name, value, "and should have", wanted)


def read(folder, table, per, format):
    """The candles of a table by group and start."""
    store = sqlite3.connect(f"{folder}/prices.sqlite")
    group = "symbol" if per else "NULL"
    candles = {}
    if store.execute("SELECT 1 FROM sqlite_schema WHERE name = ?", (table,)).fetchone():
        for symbol, time, *values in store.execute(f"SELECT {group}, time, {', '.join(FIELDS)} FROM {table}"):
            key = symbol, written(time, format)
            require(key not in candles, "a bucket has two candles:", *key)
            values[6:8] = [written(value, format) for value in values[6:8]]
            candles[key] = tuple(values)
    store.close()
    return candles


class Feed:
    def __init__(self, chance):
        self.chance = chance
        self.zone = chance.choice(ZONES)
        self.start = chance.choice(["00:00", "00:00", "09:30", "17:00", "22:00"])
        self.session = Session(self.zone, self.start)
        self.format = chance.choice(["unix_milliseconds", "unix_seconds", "unix_microseconds", "iso8601", "apple_seconds"])
        self.chain = chance.choice(CHAINS) if chance.random() < 0.4 else [chance.choice([*MINUTES, *CALENDAR])]
        self.per = chance.random() < 0.7
        self.symbols = chance.sample(["XAUUSD", "EURUSD", "", None], chance.randint(1, 4)) if self.per else [None]
        self.is_whole = chance.random() < 0.5
        self.has_index = chance.random() < 0.6
        self.has_volume = chance.random() < 0.8
        self.journal = chance.choice(["DELETE", "WAL"])
        self.batch = chance.choice([3, 20, 250])
        self.is_archived = chance.random() < 0.5
        self.rows, self.times = {}, {}
        self.moment = datetime.datetime(*chance.choice(DAYS), tzinfo=UTC) - datetime.timedelta(hours=chance.randrange(24))
        self.first = self.moment

    def __str__(self):
        return (f"{self.zone} from {self.start}, {' to '.join(self.chain)}, {self.format}, {len(self.rows)} rows, "
                f"{'whole' if self.is_whole else 'real'}, batches of {self.batch}, {self.journal}, index {self.has_index}, "
                f"archive {self.is_archived}")

    def tick(self, moment):
        unit = {"unix_seconds": 1_000_000, "apple_seconds": 1_000_000, "unix_milliseconds": 1000}.get(self.format, 1)
        moment -= (moment - EPOCH) % (unit * MICROSECOND)
        chance = self.chance
        number = chance.choice([chance.randrange(1, 10**6), chance.randrange(10**6, 10**7)])
        while number in self.rows:
            number += 1
        price = chance.randrange(1, 10_000)
        volume = chance.choice([None, 0, chance.randrange(1000)])
        row = {"id": number, "symbol": chance.choice(self.symbols), "moment": moment, "is_priced": True,
               "price": price if self.is_whole else price / 7,
               "volume": (volume if self.is_whole or volume is None else volume / 3) if self.has_volume else None}
        row["stored"] = row["price"]
        if chance.random() < 0.02:
            row["stored"], row["is_priced"] = chance.choice([None, "n/a", 0, -5, math.inf, b"1"]), False
        self.rows[number] = row
        return row

    def ticks(self, count):
        for _ in range(count):
            # Ties, steps, and now and then a gap.
            step = self.chance.choice([0, 0, 1, 20, 60, 400, 3000]) + self.chance.random()
            if self.chance.random() < 0.7:
                self.moment += datetime.timedelta(seconds=step if step >= 1 else 0)
            if self.chance.random() < 0.01:
                self.moment += datetime.timedelta(hours=self.chance.randrange(60))
            yield self.tick(self.moment)

    def late(self, count):
        """Ticks of the past, at times that no other tick has: whether one comes before or after a candle is plain."""
        taken = {row["moment"] for row in self.rows.values()}
        span = max(1, int((self.moment - self.first).total_seconds()))
        for _ in range(count):
            row = self.tick(self.first + datetime.timedelta(seconds=self.chance.randrange(span), milliseconds=137))
            if row["moment"] in taken:
                del self.rows[row["id"]]
                continue
            taken.add(row["moment"])
            yield row

    def insert(self, folder, rows):
        store = sqlite3.connect(f"{folder}/prices.sqlite")
        store.executemany("INSERT INTO Tick VALUES (?, ?, ?, ?, ?)", [
            (row["id"], row["symbol"], stored(row["moment"], self.format), row["stored"], row["volume"]) for row in rows])
        store.commit()
        store.close()

    def make(self, folder):
        os.makedirs(folder)
        store = sqlite3.connect(f"{folder}/prices.sqlite")
        store.execute(f"PRAGMA journal_mode = {self.journal}")
        kind = "INTEGER" if self.is_whole else "REAL"
        date = {"iso8601": "TEXT", "apple_seconds": "REAL"}.get(self.format, "INTEGER")
        store.execute(f"CREATE TABLE Tick(id INTEGER PRIMARY KEY, symbol TEXT, at {date}, price {kind}, volume {kind})")
        if self.has_index:
            store.execute("CREATE INDEX Tick_at ON Tick(at)")
        store.commit()
        store.close()
        per = ", per: [symbol]" if self.per else ""
        volume = ", volume: volume" if self.has_volume else ""
        session = f", session: {{ zone: {self.zone}, start: \"{self.start}\" }}"
        rules, entity, date, source = "", "Tick", "at", f"{per}, price: price{volume}"
        for every in self.chain:
            rules += (
                f"  - {{ name: to-{every}, entity: {entity}, date_attribute: {date}, date_format: {self.format}, max_age: 1d,"
                f" allow_empty: true, batch: {{ rows: {self.batch}, pause: none }},"
                f" rollup: {{ into: candle_{every}, every: {every}{source}{session} }} }}\n")
            entity, date, source = f"candle_{every}", "time", ", from: candles"
        archive = ""
        if self.is_archived:
            os.mkdir(f"{folder}/archive", 0o700)
            archive = "archive: { folder: archive, keep: forever }\nledger: { keep: forever }\n"
        with open(f"{folder}/retention.yaml", "w") as policy:
            policy.write(f"version: 1\nstore: prices.sqlite\n{archive}rules:\n{rules}")
        os.chmod(f"{folder}/retention.yaml", 0o644)

    def check(self, folder, cutoff=None):
        """At any time the first candles are those of the ticks that are gone; in the end no tick before the cutoff is left."""
        store = sqlite3.connect(f"{folder}/prices.sqlite")
        require(store.execute("PRAGMA integrity_check").fetchall() == [("ok",)], "the store is damaged")
        left = {row[0] for row in store.execute("SELECT id FROM Tick")}
        store.close()
        gone = [row for number, row in self.rows.items() if number not in left]
        require(all(row["is_priced"] for row in gone), "a row without a price is gone")
        if cutoff:
            require(all(row["moment"] < cutoff for row in gone), "rows are gone that are not expired")
            late = [row for row in self.rows.values() if row["is_priced"] and row["moment"] < cutoff and row["id"] in left]
            require(not late, "expired rows are left:", late[:2])
        if len(self.chain) == 1:
            compare(read(folder, f"candle_{self.chain[0]}", self.per, self.format), judged(gone, self.session, self.chain[0]),
                    self.chain[0])
        else:
            count = sum(candle[5] for every in self.chain for candle in read(folder, f"candle_{every}", self.per, self.format).values())
            require(count == len(gone), f"{len(gone)} rows are gone, and candles count {count}")


    def count(self, folder):
        """How many prices there are, as ticks or in candles."""
        store = sqlite3.connect(f"{folder}/prices.sqlite")
        count = store.execute("SELECT count(*) FROM Tick").fetchone()[0]
        store.close()
        return count + sum(
            candle[5] for every in self.chain for candle in read(folder, f"candle_{every}", self.per, self.format).values())


def contents(folder):
    """All rows of all tables, with the types of their values. Tables without rows do not count: a run makes those for candles."""
    store = sqlite3.connect(f"{folder}/prices.sqlite")
    tables = {}
    for (table,) in store.execute("SELECT name FROM sqlite_schema WHERE type = 'table'").fetchall():
        columns = [row[1] for row in store.execute(f'PRAGMA table_info("{table}")')]
        values = ", ".join(f"typeof({column}), quote({column})" for column in columns)
        if rows := sorted(store.execute(f'SELECT {values} FROM "{table}"')):
            tables[table] = rows
    store.close()
    return tables


def try_undo(program, chance, feed, folder, as_of):
    """Carries a run out, or kills it, and undoes it; returns whether there was something to undo. Then all is as before."""
    shutil.copytree(folder, f"{folder}.before")
    before, count = contents(folder), feed.count(folder)
    archives = set(os.listdir(f"{folder}/archive"))
    faults = {"KILL_AT": chance.randint(1, chance.choice([60, 600]))} if chance.random() < 0.5 else None
    end = program.run(folder, *options(as_of), faults=faults)
    require(end.returncode in (0, -9), "ends with", end.returncode, end.stderr)
    after = contents(folder)
    require(feed.count(folder) == count, "prices are lost, or there twice, after a run")
    made = sorted(name for name in set(os.listdir(f"{folder}/archive")) - archives if name.endswith(".sqlite"))
    if made:
        run = made[-1].removesuffix(".sqlite")
        if end.returncode == 0:
            dry = program.run(folder, "undo", run, "--dry-run", "--format", "json")
            require(dry.returncode == 0 and contents(folder) == after, "the dry run of the undo ends with", dry.returncode, dry.stderr)
        is_killed = chance.random() < 0.5
        if is_killed:
            killed = program.run(folder, "undo", run, faults={"KILL_AT": chance.randint(1, chance.choice([30, 200]))})
            require(killed.returncode in (0, -9, 65, 66), "the undo ends with", killed.returncode, killed.stderr)
            require(feed.count(folder) == count, "prices are lost, or there twice, after an undo that was killed")
        undo = program.run(folder, "undo", run, "--format", "json")
        empty = end.returncode == -9 and undo.returncode in (65, 66) and after == before
        require(undo.returncode == 0 or empty, "the undo ends with", undo.returncode, undo.stderr, undo.stdout[-600:])
        if undo.returncode == 0 and end.returncode == 0 and not is_killed:
            told, planned = json.loads(undo.stdout)["undo"], json.loads(dry.stdout)["undo"]
            for name in ("archived", "restored", "present", "skipped", "candles_restored", "candles_deleted"):
                require(told[name] == planned[name], "undone:", name, told[name], "and in the dry run", planned[name])
        require(contents(folder) == before, "the undo of", run, "has not given the store back")
    else:
        require(after == before, "rows are gone that are in no archive")
    shutil.rmtree(folder)
    os.rename(f"{folder}.before", folder)
    return bool(made)


ACCEPT = [word for code in ("mixed_formats", "wrong_unit", "future_dates") for word in ("--accept", code)]


def options(as_of, *more):
    return ["run", "--as-of", as_of.strftime("%Y-%m-%dT%H:%M:%SZ"), "--format", "json", *ACCEPT, *more]


def report(program, folder, as_of, *more):
    end = program.run(folder, *options(as_of, *more))
    require(end.returncode == 0 and end.stdout, "ends with", end.returncode, end.stderr, end.stdout[-800:])
    return json.loads(end.stdout)["rules"]


def dry_run(program, folder, as_of):
    """A dry run, which changes no byte. After a kill there may be a journal, which a reader leaves to a writer."""
    def contents():
        with open(f"{folder}/prices.sqlite", "rb") as file:
            return file.read()

    before = contents()
    found = report(program, folder, as_of, "--dry-run")
    require(contents() == before, "the dry run changed the store")
    return found


def try_feed(program, chance, folder):
    feed = Feed(chance)
    feed.make(folder)
    feed.insert(folder, feed.ticks(chance.choice([5, 200, 600])))
    middle = feed.moment
    yield str(feed)
    day = datetime.timedelta(1)
    killed = undone = 0
    for number, as_of in enumerate([middle + day / 2, middle + day * 2, middle + day * 800]):
        as_of = as_of.replace(microsecond=0)
        if number:
            # A tie with a tick that became a candle before is not decided by the keys.
            feed.moment += datetime.timedelta(seconds=1)
            feed.insert(folder, list(feed.late(chance.choice([0, 3, 40]))) + list(feed.ticks(chance.choice([0, 50]))))
        cutoff = feed.session.bucket(as_of - day, feed.chain[0])
        # Each run carries each link of the chain one step further.
        for link in range(len(feed.chain)):
            is_killed = False
            if feed.is_archived and chance.random() < 0.5:
                undone += try_undo(program, chance, feed, folder, as_of)
            if chance.random() < 0.3:
                end = program.run(folder, *options(as_of), faults={"KILL_AT": chance.randint(1, chance.choice([60, 600]))})
                require(end.returncode in (0, -9), "ends with", end.returncode, end.stderr)
                is_killed = end.returncode == -9
                killed += is_killed
                feed.check(folder)
            dry = dry_run(program, folder, as_of) if not is_killed else None
            run = report(program, folder, as_of)
            for planned, done in zip(dry or [], run):
                require(done["deleted"] == planned["expired"], done["name"], "deleted", done["deleted"], "and not", planned["expired"])
                for name in ("cutoff", "unpriced", "candles_created", "candles_changed"):
                    require(done[name] == planned[name], done["name"], name, done[name], "and in the dry run", planned[name])
            # The rule for ticks comes after those for candles.
            require(datetime.datetime.fromisoformat(run[-1]["cutoff"].replace("Z", "+00:00")) == cutoff,
                    "the cutoff is", run[-1]["cutoff"], "and should be", cutoff)
            feed.check(folder, cutoff)
    again = report(program, folder, as_of)
    require(all(rule["deleted"] == 0 for rule in again), "a second run deletes")
    # In the end every tick is in the longest candles.
    if len(feed.chain) > 1:
        gone = [row for row in feed.rows.values() if row["is_priced"]]
        compare(read(folder, f"candle_{feed.chain[-1]}", feed.per, feed.format),
                judged(gone, feed.session, feed.chain[-1]), " to ".join(feed.chain))
    yield f"feeds with {'a kill' if killed else 'no kill'}{' and an undo' if undone else ''}"


# Real prices: file, format of the dates, candles.
REAL = [("gold-monthly.csv", "%Y-%m", "1y"), ("sp500-index-daily.csv", "%Y-%m-%d", "1mo"),
        ("sp500-index-daily.csv", "%Y-%m-%d", "1w"), ("gold-monthly.csv", "%Y-%m", "3mo")]
SESSIONS = [("UTC", "00:00"), ("Europe/London", "00:00"), ("America/New_York", "17:00"), ("Asia/Tokyo", "09:00")]


def try_prices(program, prices, folder):
    """Real prices in each session; returns how many candles were compared."""
    compared = 0
    for number, (name, shape, every) in enumerate(REAL):
        with open(f"{prices}/{name}") as file:
            lines = list(csv.reader(file))[1:]
        for zone, start in SESSIONS:
            place = f"{folder}/{number}-{zone.replace('/', '-')}"
            os.makedirs(place)
            session = Session(zone, start)
            rows = []
            for index, (date, price) in enumerate((line[0], line[-1]) for line in lines):
                local = datetime.datetime.strptime(date, shape).replace(tzinfo=zoneinfo.ZoneInfo(zone))
                rows.append({"id": index + 1, "symbol": None, "moment": local.astimezone(UTC), "date": date,
                             "price": float(price), "volume": None})
            store = sqlite3.connect(f"{place}/prices.sqlite")
            store.execute("CREATE TABLE Price(id INTEGER PRIMARY KEY, at TEXT, price REAL)")
            store.executemany("INSERT INTO Price VALUES (?, ?, ?)", [(row["id"], row["date"], row["price"]) for row in rows])
            store.commit()
            store.close()
            with open(f"{place}/retention.yaml", "w") as policy:
                policy.write(
                    f"version: 1\nstore: prices.sqlite\ntimezone: {zone}\nrules:\n"
                    "  - { name: prices, entity: Price, date_attribute: at, date_format: iso8601, max_age: 1y, earliest: 1800-01-01,"
                    f" allow_empty: true, rollup: {{ into: candle, every: {every}, price: price, session: {{ start: \"{start}\" }} }} }}\n")
            os.chmod(f"{place}/retention.yaml", 0o644)
            as_of = datetime.datetime(2026, 11, 20, tzinfo=UTC)
            report(program, place, as_of)
            store = sqlite3.connect(f"{place}/prices.sqlite")
            left = {row[0] for row in store.execute("SELECT id FROM Price")}
            store.close()
            gone = [row for row in rows if row["id"] not in left]
            require(len(gone) > 2000, f"{name}: only {len(gone)} rows became candles")
            # The dates of open and close are stored as the rows have them, in the zone.
            dates = {row["date"]: row["moment"] for row in rows}
            expected = judged(gone, session, every)
            candles = {}
            store = sqlite3.connect(f"{place}/prices.sqlite")
            for time, *values in store.execute(f"SELECT time, {', '.join(FIELDS)} FROM candle"):
                values[6:8] = [dates[value] for value in values[6:8]]
                candles[None, written(time, "iso8601")] = tuple(values)
            store.close()
            compare(candles, expected, f"{name} in {zone}")
            compared += len(candles)
    return compared
