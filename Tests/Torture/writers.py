"""Several rules on one table, and another program that changes the rows between any two transactions of the run.

The run stops before each of its transactions (see turns.c), so what it deleted is known step by step. The laws of a step:
each row that is gone was expired by a rule and not held; and if only rules with `thin` or `keep_last` deleted it, something
better of its bucket or group is still there: for `thin` a row of the same bucket that is chosen before it, for `keep_last` as
many newer rows as are kept. So no bucket and no group becomes empty unless the other program empties it."""

import collections
import json
import os
import select
import sqlite3
import subprocess

from scenario import require
from together import DAY, ENDS, MICROSECOND, SECOND, UNITS, Judge, World

MOST_CHANGES = 60


class Writer:
    """The other program. What it does is decided by a seed and by the rows that it finds."""

    def __init__(self, world, folder, children):
        self.world, self.chance, self.children = world, world.chance, children
        self.store = sqlite3.connect(f"{folder}/prices.sqlite", isolation_level=None, timeout=0.2)
        self.store.execute("PRAGMA foreign_keys = ON")
        self.next = 100_000
        self.change_count = 0
        self.eagerness = self.chance.choice([0.1, 0.5, 1])
        self.kinds = self.chance.sample(
            ["delete kept", "delete kept", "delete group", "move kept", "spoil kept", "regroup kept", "replace kept", "insert", "insert"]
            + ["delete young"] + ["child"] * (children is not None), self.chance.choice([1, 2, 5]))
        self.before = self.state()
        # What the run did between two turns: the rows before and after it, with their children.
        self.steps = []

    def state(self):
        rows = self.world.read(self.store)
        children = dict(self.store.execute("SELECT id, tick FROM Note")) if self.children is not None else {}
        return rows, children

    def turn(self):
        """Looks at what the run has done since the last turn, and changes something."""
        try:
            self.store.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError:
            return
        self.look()
        if self.change_count < MOST_CHANGES and self.chance.random() < self.eagerness:
            for _ in range(self.chance.choice([1, 1, 3, 8])):
                self.change()
                self.change_count += 1
        self.store.execute("COMMIT")
        self.before = self.state()

    def look(self):
        after = self.state()
        if after != self.before:
            self.steps.append((self.before, after))
            self.before = after

    def change(self):
        """One change, mostly of rows that a rule keeps."""
        chance, world = self.chance, self.world
        rows = world.read(self.store)
        if not rows:
            return self.insert(world.as_of - chance.randrange(100) * DAY)
        judge = Judge(world, world.as_of, rows)
        kept = sorted(judge.kept) or sorted(rows)
        kind, row = chance.choice(self.kinds), rows[chance.choice(kept)]
        if chance.random() < 0.1:
            row = rows[chance.choice(sorted(rows))]
        if kind == "delete kept":
            self.delete([row["id"]])
        elif kind == "delete group":
            column = chance.choice(["symbol", "venue"])
            self.delete([number for number in kept if rows[number][column] == row[column]][:chance.choice([1, 5, 100])])
        elif kind == "delete young":
            cutoffs = [judge.cutoffs[rule] for rule in judge.rules] or [world.as_of]
            self.delete([number for number, row in rows.items() if row["dates"]["at"] and row["dates"]["at"].begin >= min(cutoffs)])
        elif kind == "move kept":
            moment = self.moment(row) + chance.choice([-400, -40, -3, -1, 1, 3]) * DAY * chance.choice([1, 0.01])
            column = chance.choice(["at", "at", "at", "seen"])
            self.update(row, column, world.value(min(moment, world.as_of)))
        elif kind == "spoil kept":
            self.update(row, *chance.choice([("f", "bad"), ("f", None), ("v", 1), ("v", None), ("price", None)]))
        elif kind == "regroup kept":
            self.update(row, *chance.choice([("symbol", "B"), ("symbol", "NEW"), ("venue", "NEW"), ("venue", None)]))
        elif kind == "replace kept":
            self.delete([row["id"]])
            self.insert(self.moment(row) + chance.choice([-1, 0, 1]) * chance.choice([1, 3600, 86_400]) * SECOND, row["rowid"], row)
        elif kind == "insert":
            like = rows[chance.choice(sorted(rows))]
            self.insert(self.moment(like) + chance.choice([-3600, -1, 0, 1, 3600]) * SECOND, like=like)
        elif kind == "child":
            self.store.execute("INSERT INTO Note(tick) VALUES (?)", [chance.choice(sorted(rows))])

    def moment(self, row):
        date = row["dates"]["at"]
        return date.begin if date else self.world.as_of - 10 * DAY

    def delete(self, numbers):
        for number, table in ((number, table) for number in numbers for table in self.world.tables):
            self.store.execute(f"DELETE FROM {table} WHERE id = ?", [number])

    def update(self, row, column, value):
        self.store.execute(f"UPDATE OR IGNORE {row['table']} SET {column} = ? WHERE id = ?", [value, row["id"]])

    def insert(self, moment, rowid=None, like=None):
        self.next += 1
        moment = min(moment, self.world.as_of)
        row = self.world.row(self.next, moment - moment.microsecond * MICROSECOND)
        if like:
            row["table"] = like["table"]
        if like and self.chance.random() < 0.7:
            row |= {name: like[name] for name in ("symbol", "venue", "f", "v")}
        if rowid is not None and self.world.shape == "rowid":
            row["id"] = rowid
        self.world.insert(self.store, row, rowid or self.next)


class Turns:
    """Runs the program so that a writer has its turn before each transaction."""

    # The library that is preloaded; torture.py compiles it.
    library = None

    def __init__(self, program, folder):
        self.program, self.folder = program, folder

    def run(self, writer, *arguments, clock=None):
        ask, asking = os.pipe()
        answering, answer = os.pipe()
        environment = self.program.environment(
            {"TURNS_STORE": os.path.realpath(f"{self.folder}/prices.sqlite"), "TURNS_ASK": str(asking), "TURNS_ANSWER": str(answering)},
            [self.library], clock)
        with open(f"{self.folder}/out", "w") as output, open(f"{self.folder}/err", "w") as errors:
            process = subprocess.Popen(
                [self.program.path, *arguments], cwd=self.folder, env=environment, stdout=output, stderr=errors,
                stdin=subprocess.DEVNULL, pass_fds=[asking, answering])
        os.close(asking)
        os.close(answering)
        try:
            while select.select([ask], [], [], 60)[0] and os.read(ask, 1):
                writer.turn()
                try:
                    os.write(answer, b".")
                except BrokenPipeError:
                    break
            process.wait(60)
        finally:
            process.kill()
            process.wait()
            os.close(ask)
            os.close(answer)
        with open(f"{self.folder}/out") as output, open(f"{self.folder}/err") as errors:
            return subprocess.CompletedProcess(arguments, process.returncode, output.read(), errors.read())


class Laws:
    """What must hold for each step of a run."""

    def __init__(self, world, refused):
        self.world, self.refused = world, refused

    def check(self, before, after):
        rows, children = before
        left, left_children = after
        require(set(left) <= set(rows), "the run adds rows:", sorted(set(left) - set(rows))[:3])
        changed = [number for number in left if left[number] != rows[number]]
        require(not changed, "the run changes rows:", changed[:3])
        gone = set(rows) - set(left)
        judge, later = Judge(self.world, self.world.as_of, rows), Judge(self.world, self.world.as_of, left)
        reached = {rule: judge.reached(rule) for rule in judge.rules if rule.name not in self.refused}
        chosen = {rule: {row["id"] for row in judge.candidates(rule)} for rule in judge.rules if rule.chooses}
        for number in sorted(gone):
            rules = [rule for rule in reached if number in reached[rule]]
            held = " (it is held)" if number in judge.held else ""
            require(rules, f"row {number} is gone, and no rule expires it{held}")
            if all(rule.chooses for rule in rules):
                for rule in judge.rules:
                    if rule.chooses and number in chosen[rule]:
                        self.check_rest(rule, judge, rows[number], later)
        may_empty = left or not gone or any(rule.allow_empty for rule in judge.rules)
        require(may_empty, "the run empties the table, and no rule may")
        self.check_children(children, left_children, gone)
        return len(gone), len(set(children) - set(left_children))

    def check_rest(self, rule, judge, row, later):
        """What a rule keeps of the bucket or the group of a row that is gone is still there."""
        rest = later.candidates(rule)
        if rule.keep:
            count, per = rule.keep
            newer = [other for other in rest if judge.group(per, other) == judge.group(per, row)
                     and judge.date(rule, other).begin > judge.date(rule, row).begin]
            require(len(newer) >= count, f"row {row['id']} is gone, and {rule.name} has {len(newer)} newer ones of its group and should keep {count}")
        for unit, _ in rule.thin["tiers"] if rule.thin else []:
            if judge.has_passed(rule, unit, row):
                continue
            per, bucket = rule.thin["per"], judge.bucket(rule, unit, row)
            others = [other for other in rest if judge.group(per, other) == judge.group(per, row) and judge.bucket(rule, unit, other) == bucket]
            for end in ENDS[rule.picks]:
                better = [other for other in others
                          if end(other["price"], judge.place(rule, other)) < end(row["price"], judge.place(rule, row))]
                require(better, f"row {row['id']} is gone, and {rule.name} has no better one of its {UNITS[unit]}")

    def check_children(self, before, after, gone):
        lost = set(before) - set(after)
        wrong = [child for child in lost if before[child] not in gone]
        require(not wrong, "children are gone without their rows:", wrong[:3])
        require(not lost or not self.world.denies, "children are gone, and the policy says deny:", sorted(lost)[:3])
        orphans = [child for child, row in after.items() if row in gone]
        require(not orphans, "children are left without their rows:", orphans[:3])


def try_writer(program, chance, folder):
    """One trial."""
    world = World(chance, is_disturbed=True)
    # Rows to which others refer become no candles, and their key must be unique.
    has_children = chance.random() < 0.25 and world.shape in ("rowid", "WITHOUT ROWID by id") and not any(rule.rollup for rule in world.rules)
    world.denies = has_children and chance.random() < 0.3
    if world.denies:
        for rule in world.rules:
            rule.denies = True
    world.batch = "batch: { rows: %d, pause: none }" % chance.choice([1, 2, 5])
    world.make(folder)
    if has_children:
        store = sqlite3.connect(f"{folder}/prices.sqlite")
        store.execute("CREATE TABLE Note(id INTEGER PRIMARY KEY, tick INTEGER REFERENCES Tick ON DELETE CASCADE)")
        store.execute("CREATE INDEX Note_tick ON Note(tick)")
        if not world.denies:
            store.execute("INSERT INTO Note(tick) SELECT id FROM Tick WHERE id % 3 = 0")
        store.commit()
        store.close()
    world.choose_method(program, folder)
    writer = Writer(world, folder, has_children or None)
    yield f"{world}, {'children, ' if has_children else ''}{'deny, ' if world.denies else ''}a writer that knows {', '.join(sorted(set(writer.kinds)))}"
    end = Turns(program, folder).run(writer, *world.options(world.as_of))
    writer.look()
    writer.store.close()
    if end.returncode == 78 and "is not possible for" in end.stderr:
        # It does not fit a rule that has rows to delete only now.
        yield "runs that could not use their method"
        return
    require(end.returncode in (0, 65) and end.stdout, "ends with", end.returncode, end.stderr)
    report = json.loads(end.stdout)["rules"]
    laws = Laws(world, {rule["name"] for rule in report if rule["outcome"] == "refused"})
    gone = children = 0
    for before, after in writer.steps:
        rows, related = laws.check(before, after)
        gone, children = gone + rows, children + related
    said = sum(rule["deleted"] for rule in report), sum(rule["cascaded"] for rule in report)
    require(said == (gone, children), "the report says that", said, "rows and children are gone, and gone are", (gone, children))
    for rule in report:
        world.check_archived(rule)
        require(rule["expired"] is None or rule["deleted"] <= rule["expired"], rule["name"], "deletes more rows than its plan counted")
        # The other program may add as many rows as the run deletes. A batch that would delete the last readable row is undone, and so is one with a row that has got a child, where that is denied.
        is_fine = rule["outcome"] != "failed" or any(
            words in rule["message"] for words in ["no readable row of"] + ["deny does not"] * world.denies)
        require(is_fine, rule["name"], "has failed:", rule["message"])
    if not has_children:
        # A run that nobody disturbs finishes the work.
        world.is_strict = True
        world.carry_out(program, folder, world.as_of)
    outcomes = collections.Counter(rule["outcome"] for rule in report)
    yield "runs with a refusal" if outcomes["refused"] else "runs that deleted" if gone else "runs that deleted nothing"
