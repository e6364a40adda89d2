"""Runs on a server beside sessions that lock and change rows, and runs that get a signal, against a judge. See scripts/torture."""

import datetime
import glob
import json
import os
import signal
import subprocess
import sys
import threading
import time

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../scripts"))
from benchmark.cluster import Cluster
from scenario import AS_OF, require

CUTOFF = datetime.datetime.fromisoformat(AS_OF.replace("Z", "+00:00")) - datetime.timedelta(days=30)
# The dates of the trials are in microseconds.
BEFORE = int(CUTOFF.timestamp()) * 1_000_000
DAY = 86_400_000_000
SHAPES = ["one table", "one table", "partitions", "divided partitions", "inheritance"]
RULES = ["plain", "plain", "where", "keep_last", "keep_last per", "thin", "hold", "two rules"]
LOCKS = ["FOR UPDATE", "FOR NO KEY UPDATE", "FOR SHARE", "FOR KEY SHARE"]


class Session:
    """A psql that does one thing after the other, and says what it was told."""

    def __init__(self, cluster, database):
        command = cluster.session("-v", "ON_ERROR_STOP=0")
        command[command.index("postgres")] = database
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, bufsize=1)

    def ask(self, statement):
        self.process.stdin.write(f"{statement};\n\\echo end of answer\n")
        lines = iter(self.process.stdout.readline, "end of answer\n")
        return [line.rstrip("\n") for line in lines]

    def close(self):
        self.process.communicate()


class Feed:
    """A table of a random shape, its rule, and who is allowed to lose what."""

    def __init__(self, chance):
        self.shape = chance.choice(SHAPES)
        self.rule = chance.choice(RULES)
        self.index = chance.choice(["btree", "btree", "brin", None])
        self.count, self.dates = chance.choice([200, 2000]), chance.choice([3, 20, 400, 5000])
        # What a trigger does to held rows is unknown, so such a rule is refused.
        self.fires = chance.random() < 0.2 and self.rule != "hold"
        self.key = "(id, at)" if "partitions" in self.shape else "(id)"
        self.action = chance.choice(["CASCADE", "SET NULL"]) if self.shape == "one table" and chance.random() < 0.3 else None
        # Rows of a table that others inherit from are not archived, and none beside a trigger.
        self.is_archived = chance.random() < 0.4 and self.shape != "inheritance" and not self.fires
        self.batch_rows = chance.choice([50, 200, 1000])
        self.patience = chance.choice(["50ms", "300ms", "1s"])

    def __str__(self):
        words = [self.shape, self.rule, f"{self.count} rows", f"{self.dates} dates", f"index {self.index}"]
        words += ["trigger"] * self.fires + [f"children {self.action}"] * bool(self.action) + ["archive"] * self.is_archived
        return ", ".join(words)

    def statements(self):
        columns = f"id int, at timestamptz, symbol int, n int DEFAULT 0, PRIMARY KEY {self.key}"
        yield f"CREATE TABLE ticks ({columns})" + (" PARTITION BY RANGE (at)" if "partitions" in self.shape else "")
        if "partitions" in self.shape:
            edges = [f"'{CUTOFF.isoformat()}'::timestamptz + interval '{days} days'" for days in (-40, -20, -10, 5, 15, 60)]
            for number, (first, last) in enumerate(zip(edges, edges[1:])):
                divided = self.shape == "divided partitions" and number % 2 == 0
                yield (f"CREATE TABLE part_{number} PARTITION OF ticks FOR VALUES FROM ({first}) TO ({last})"
                       + (" PARTITION BY HASH (id)" if divided else ""))
                for half in range(2 * divided):
                    yield f"CREATE TABLE part_{number}_{half} PARTITION OF part_{number} FOR VALUES WITH (MODULUS 2, REMAINDER {half})"
        date = f"'{CUTOFF.isoformat()}'::timestamptz - interval '39 days' + floor(random() * {self.dates}) / {self.dates} * interval '50 days'"
        yield f"INSERT INTO ticks SELECT n, {date}, n % 4 FROM generate_series(1, {self.count}) n"
        yield f"INSERT INTO ticks SELECT -n, '{CUTOFF.isoformat()}'::timestamptz + interval '12 days', n % 4 FROM generate_series(1, 4) n"
        tables = ["ticks"]
        if self.shape == "inheritance":
            tables.append("old_ticks")
            yield "CREATE TABLE old_ticks (PRIMARY KEY (id)) INHERITS (ticks)"
            yield "INSERT INTO old_ticks SELECT id + 100000, at, symbol FROM ticks WHERE id % 3 = 0"
        for table in tables:
            if self.index:
                yield f"CREATE INDEX ON {table} USING {self.index} (at)"
        if self.fires:
            yield "CREATE TABLE gone (id int)"
            yield ("CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS "
                   "$$BEGIN INSERT INTO gone VALUES (OLD.id); RETURN OLD; END$$")
            for table in tables:
                yield f"CREATE TRIGGER note AFTER DELETE ON {table} FOR EACH ROW EXECUTE FUNCTION note()"
        if self.action:
            yield f"CREATE TABLE child (id int PRIMARY KEY, tick int REFERENCES ticks ON DELETE {self.action})"
            yield f"INSERT INTO child SELECT n, n FROM generate_series(1, {self.count}, 3) n; CREATE INDEX ON child (tick)"
        yield "CREATE SCHEMA archive; ANALYZE"

    def policy(self, cluster, database):
        rule = f"entity: ticks, date_attribute: at, max_age: 30d, batch: {{ rows: {self.batch_rows}, target: 5ms }}"
        more = {
            "where": ", where: { symbol: [1, 2] }", "keep_last": ", keep_last: { count: 50 }",
            "keep_last per": ", keep_last: { count: 3, per: [symbol] }", "thin": ", thin: { daily: forever, per: [symbol] }",
        }.get(self.rule, "")
        lines = ["version: 1", f"store: {{ url: \"postgresql://retention@/{database}?host={cluster.folder}\", busy_timeout: {self.patience} }}"]
        lines += ["archive: { schema: archive }"] * self.is_archived + ["rules:"]
        lines += [f"  - {{ name: some, {rule}, where: {{ symbol: 0 }} }}"] * (self.rule == "two rules") + [f"  - {{ name: ticks, {rule}{more} }}"]
        lines += ["holds: [{ name: case, entity: ticks, where: { symbol: 3 }, reason: a dispute }]"] * (self.rule == "hold")
        return "\n".join(lines) + "\n"

    def may_go(self, rows):
        """The rows that the policy deletes."""
        expired = {key for key, (date, _) in rows.items() if date < BEFORE}
        if self.rule == "where":
            return {key for key in expired if rows[key][1] in (1, 2)}
        if self.rule == "hold":
            return {key for key in expired if rows[key][1] != 3}
        groups = {}
        for key, (date, symbol) in rows.items():
            if self.rule == "thin" and key in expired:
                groups.setdefault((symbol, date // DAY), []).append((date, key))
            elif self.rule.startswith("keep_last"):
                groups.setdefault(symbol if self.rule.endswith("per") else 0, []).append((date, key))
        for group in groups.values():
            group.sort(reverse=True)
            if self.rule == "thin":
                expired -= {group[0][1]}
            else:
                # Rows with the date of the last one stay, too.
                last = group[min(50 if self.rule == "keep_last" else 3, len(group)) - 1][0]
                expired -= {key for date, key in group if date >= last}
        return expired


class Locker(threading.Thread):
    """A session that locks, changes or moves rows, and commits or not."""

    def __init__(self, chance, cluster, database, rows):
        super().__init__(daemon=True)
        self.chance, self.keys, self.session, self.is_over = chance, sorted(rows), Session(cluster, database), False
        self.changed, self.moved, self.longest = set(), set(), 0

    def run(self):
        self.session.ask("SET deadlock_timeout = '100ms'")
        while not self.is_over:
            keys = ", ".join(map(str, self.chance.sample(self.keys, self.chance.choice([1, 1, 3, 30]))))
            what, commits = self.chance.choice(["lock", "lock", "change", "move"]), self.chance.random() < 0.5
            began = time.monotonic()
            if what == "lock":
                answer = f"SELECT id FROM ticks WHERE id IN ({keys}) ORDER BY id {self.chance.choice(LOCKS)}"
            else:
                value = "n = n + 1" if what == "change" else f"at = '{CUTOFF.isoformat()}'::timestamptz + interval '20 days'"
                answer = f"UPDATE ticks SET {value} WHERE id IN ({keys}) RETURNING id"
            self.session.ask("BEGIN")
            found = {int(key) for key in self.session.ask(answer)}
            self.longest = max(self.longest, time.monotonic() - began)
            time.sleep(self.chance.choice([0, 0.01, 0.05, 0.2, 0.6]))
            if self.session.ask("SELECT 1") and commits:
                self.session.ask("COMMIT")
                if what != "lock":
                    (self.changed if what == "change" else self.moved).update(found)
            else:
                self.session.ask("ROLLBACK")
        self.session.close()


class Trial:
    def __init__(self, program, chance, folder, cluster):
        self.program, self.chance, self.folder, self.cluster = program, chance, folder, cluster
        self.database = "trial_" + "".join(chance.choice("abcdefghijklmnop") for _ in range(12))
        self.feed = Feed(chance)

    def make(self):
        os.makedirs(self.folder)
        self.cluster.psql(f"CREATE DATABASE {self.database}")
        self.session = Session(self.cluster, self.database)
        for statement in ["SET client_min_messages = error", "SET timezone = 'UTC'", *self.feed.statements()]:
            self.session.ask(statement)
        with open(f"{self.folder}/retention.yaml", "w") as file:
            file.write(self.feed.policy(self.cluster, self.database))

    def rows(self):
        lines = [line.split("|") for line in self.session.ask("SELECT id, (extract(epoch FROM at) * 1000000)::bigint, symbol FROM ticks")]
        return {int(key): (int(date), int(symbol)) for key, date, symbol in lines}

    def children(self):
        return dict(line.split("|") for line in self.session.ask("SELECT id, tick FROM child")) if self.feed.action else {}

    def disturbed(self, rows):
        """A run beside lockers, or one that gets a signal: its end, what others changed and moved, and what was done."""
        lockers, sent = [], None
        if self.chance.random() < 0.65:
            seeds = [self.chance.random() for _ in range(self.chance.choice([1, 2]))]
            lockers = [Locker(type(self.chance)(seed), self.cluster, self.database, rows) for seed in seeds]
        else:
            sent = self.chance.choice([signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
        for locker in lockers:
            locker.start()
        process = subprocess.Popen(
            [self.program.path, "run", "--as-of", AS_OF, "--format", "json"], cwd=self.folder, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL)
        if sent:
            time.sleep(self.chance.uniform(0.05, 0.5))
            process.send_signal(sent)
        began = time.monotonic()
        try:
            output, errors = process.communicate(timeout=60)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            require(False, "the run did not end within a minute")
        finally:
            for locker in lockers:
                locker.is_over = True
            for locker in lockers:
                locker.join()
        require(not sent or time.monotonic() - began < 5, "the run ended", time.monotonic() - began, "seconds after the signal")
        self.others = [set().union(*(getattr(locker, name) for locker in lockers)) for name in ("changed", "moved")]
        self.longest = max([locker.longest for locker in lockers], default=0) if len(lockers) == 1 else 0
        return subprocess.CompletedProcess([], process.returncode, output, errors), sent

    def carry_out(self):
        self.make()
        rows, children = self.rows(), self.children()
        yield str(self.feed)
        allowed = self.feed.may_go(rows)
        planned = json.loads(self.program.job(self.folder, "--dry-run").stdout)
        refused = [rule["refusal"] for rule in planned["rules"] if rule["refusal"]]
        require(not refused, "refused:", refused)
        expected = sum(rule["expired"] for rule in planned["rules"])
        require(expected == len(allowed), "the dry run promises", expected, "of", len(allowed))
        end, sent = self.disturbed(rows)
        changed, moved = self.others
        after = self.rows()
        gone, left = set(rows) - set(after), allowed & set(after) - moved
        require(gone <= allowed, "gone is what must stay:", sorted(gone - allowed)[:5], "moved:", sorted(moved & gone)[:5])
        require(not gone & moved, "gone is what was moved:", sorted(gone & moved)[:5])
        require(self.longest < 2, "a writer waited", self.longest, "seconds")
        if sent == signal.SIGKILL:
            require(end.returncode in (-9, 0), "the killed run ends with", end.returncode, end.stderr)
            self.wait_for_server()
        else:
            # At its start the program does not handle signals yet.
            codes = (0, 128 + sent, -sent) if sent else (0, 75)
            require(end.returncode in codes, "the run ends with", end.returncode, end.stderr)
        # Before its first statement a stopped run has nothing to report.
        report = json.loads(end.stdout) if end.stdout else None
        require(report or sent and (not gone or sent == signal.SIGKILL), "there is no report")
        if report:
            self.check(report, gone, children)
            # A row that another session changes moves behind a pass by places; the next run finds it.
            require(end.returncode or left <= changed or "keep" in self.feed.rule or self.feed.rule == "thin",
                    "completed, and there are", sorted(left - changed)[:5])
        if report and gone and self.feed.is_archived and not self.feed.fires:
            self.undo(report["run"], rows, after, children)
        before = self.rows()
        allowed = self.feed.may_go(before)
        end = self.program.job(self.folder, *["--accept", "restored_rows"] * self.feed.is_archived)
        require(end.returncode == 0, "the next run ends with", end.returncode, end.stderr)
        after = self.rows()
        require(set(before) - set(after) == allowed, "the next run leaves", sorted(allowed & set(after))[:5],
                "and deletes", sorted(set(before) - set(after) - allowed)[:5])
        self.session.close()
        self.cluster.psql(f"DROP DATABASE {self.database} WITH (FORCE)")
        yield f"signal {int(sent)}" if sent else "beside locks, complete" if report["exit_code"] == 0 else "beside locks, some left"

    def check(self, report, gone, children):
        deleted = report["totals"]["deleted"]
        require(deleted == len(gone), "the report says", deleted, "and gone are", len(gone))
        now = self.children()
        cascaded, cleared = len(children) - len(now), sum(not tick for tick in now.values())
        told = (report["totals"]["cascaded"], sum(rule["nullified"] for rule in report["rules"]))
        require(told == (cascaded, cleared), "of related rows the report says", told, "and it is", (cascaded, cleared))
        if self.feed.is_archived:
            require(report["totals"]["archived"] == deleted + cascaded, "archived are", report["totals"]["archived"])
        if self.feed.fires:
            noted = {int(key) for key in self.session.ask("SELECT id FROM gone")}
            # A row that moves to another partition is deleted there, too.
            noted -= self.others[1]
            require(noted == gone, "the trigger saw", len(noted), "of", len(gone))
        log = json.loads(self.program.run(self.folder, "log", "--format", "json").stdout)["runs"]
        told = sum(rule["deleted"] for run in log if run["run"] == report["run"] for rule in run["rules"])
        require(told == deleted, "the ledger says", told, "and gone are", deleted)

    def undo(self, run, rows, after, children):
        end = self.program.run(self.folder, "undo", run, "--format", "json")
        require(end.returncode == 0, "the undo ends with", end.returncode, end.stderr)
        require(self.rows() == {key: after.get(key, row) for key, row in rows.items()}, "the undo restores other rows")
        require(self.children() == children, "the undo restores other children")

    def wait_for_server(self):
        """Until the server has noticed that the program is gone."""
        asked = "SELECT count(*) FROM pg_stat_activity WHERE application_name LIKE 'retention %' AND datname = current_database()"
        end = time.monotonic() + 5
        while self.session.ask(asked) != ["0"]:
            require(time.monotonic() < end, "five seconds after the kill the server still works for it")
            time.sleep(0.05)


# The server of all trials, made on first use.
shared = {"lock": threading.Lock(), "cluster": None}


def is_installed():
    return bool(glob.glob("/usr/lib/postgresql/*/bin/initdb"))


def cluster():
    with shared["lock"]:
        shared["cluster"] = shared["cluster"] or Cluster(settings="max_connections = 200\nfsync = off")
    return shared["cluster"]


def try_locks(program, chance, folder):
    yield from Trial(program, chance, folder, cluster()).carry_out()


def stop():
    if shared["cluster"]:
        shared["cluster"].stop()
