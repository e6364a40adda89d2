"""Years of nights: a store, a policy that people change, a feed, and what happens to them, against a judge of each night.

history.py makes the store, the feed and the changes of the policy; nights.py, parts.py and undos.py have the laws. A night is: the
feed, people, a dry run, the run, and the run again. In some nights another program writes during the run, the run is killed, the disk
is full, the clock is set back, a run is undone, one of a part comes before or after, or the store is moved. All of it follows from
the seed. With YEARS_FEATURE=named in the environment all stores have tables that rules name and people rename; else a quarter has."""

import collections
import copy
import datetime
import glob
import json
import os
import shutil
import traceback
import types

from families import is_pattern
from history import Life, State
from nights import NightLaws, broken
from parts import Parts
from scenario import Broken, require
from together import DAY, SECOND, Judge
from undos import Run, Undos
from writers import Laws, Turns, Writer

# Refusals that people accept by hand.
BY_HAND = ["policy_widened", "restored_rows", "rows_came_back", "clock_jumped", "clock_moved_back", "would_empty_entity", "feed_stopped"]


def with_holds(policy, holds):
    """A policy with those of some holds that it does not have."""
    known = {hold.policy() for hold in policy.holds}
    new = [hold for hold in holds if hold.policy() not in known]
    if not new:
        return policy
    content = *policy.content, *(hold.policy() for hold in new)
    return types.SimpleNamespace(**vars(policy) | {"holds": [*policy.holds, *new], "content": content})


class Years(NightLaws, Parts, Undos):
    # The store, in the folder of the policy.
    file = "prices.sqlite"
    can_move = may_be_named = True

    def __init__(self, program, chance, folder):
        self.program, self.chance, self.base = program, chance, folder
        self.life = Life(chance, self.may_be_named)
        self.folder = f"{folder}/store-0"
        self.life.make(self.folder)
        self.start()

    def start(self):
        self.moves = 0
        self.began = self.life.as_of
        # How many calls of the last run changed files.
        self.last_count = 100
        self.story = collections.deque(maxlen=12)
        self.counts = collections.Counter()
        # The policies that may be agreed: two, if it is unknown whether a run was recorded.
        self.agreed = []
        self.begin()

    def begin(self):
        """A store without a past."""
        self.good = None
        self.runs, self.restored, self.carried_out = [], [], set()
        self.refused, self.refused_rules, self.deleted = set(), set(), {}
        # The rules that wait for restored rows to be accepted.
        self.waiting = set()
        self.has_changed = self.is_pattern_edited = False
        # When a table went.
        self.went = {}
        # What was seen last, and in which files; and the rows that were judged last, with their judges.
        self.seen = self.seen_in = None
        self.judged, self.judges = None, {}

    # The program

    def call(self, *arguments, **options):
        """Each process starts a minute after the one before it."""
        self.clock += 60 * SECOND
        return self.program.run(self.folder, *arguments, "--format", "json", clock=self.clock, **options)

    def words(self, accept, *more):
        return ["run", "--as-of", f"{self.as_of:%Y-%m-%dT%H:%M:%SZ}", *more, *(word for code in sorted(accept) for word in ("--accept", code))]

    def report(self, end):
        require(end.returncode in (0, 65) and end.stdout, "ends with", end.returncode, end.stderr)
        return self.checked(json.loads(end.stdout))

    def checked(self, report):
        for rule in report["rules"]:
            require(rule["outcome"] in ("planned", "completed", "refused", "disabled"), rule["name"], "is", rule["outcome"], rule["message"])
            self.check_refusal(rule)
        return report

    def look(self, is_stopped=False):
        """What is there. After a process that did not come to its end it is read from a copy, so that the next process finds the
        files as they are. Files that are as they were are not read again."""
        if self.seen and self.seen_in == (self.life.tables, self.store_bytes()):
            return self.seen
        if is_stopped:
            shutil.rmtree(f"{self.base}/look", ignore_errors=True)
            os.makedirs(os.path.dirname(f"{self.base}/look/{self.file}"))
            for path in glob.glob(f"{glob.escape(self.folder)}/{glob.escape(self.file)}*"):
                shutil.copy2(path, f"{self.base}/look{path[len(self.folder):]}")
        self.seen = State(self.life, f"{self.base}/look/{self.file}" if is_stopped else f"{self.folder}/{self.file}")
        require(self.seen.integrity == [("ok",)], "the store is damaged:", self.seen.integrity)
        # The last one that closes a store may write its log into it.
        self.seen_in = self.life.tables, self.store_bytes()
        return self.seen

    def judge(self, rows, policy=None, is_loose=False):
        """A judge of rows; the one who judged these rows by this policy, if there is one."""
        life = self.life
        if self.judged is not rows:
            self.judged, self.judges = rows, {}
        policy = policy or life
        # A policy that is as it was has the same judge, unless cutoffs are known from a report only.
        is_known = policy is life or not is_loose and policy.content == life.content() and not any(rule.fixed for rule in life.rules)
        policy = life if is_known else policy
        rules = tuple((rule, rule.fixed) for rule in life.rules) if is_known else policy.content
        life.end_holds(policy, self.clock)
        key = rules, tuple(hold.is_over for hold in policy.holds), self.as_of, is_loose, tuple(life.tables)
        if key not in self.judges:
            self.judges[key] = life.judge(policy, rows, self.as_of, self.clock, is_loose)
        return self.judges[key]

    def store_bytes(self):
        found = []
        for end in ("", "-wal", "-journal"):
            if os.path.exists(path := f"{self.folder}/{self.file}{end}"):
                with open(path, "rb") as file:
                    found.append(file.read())
        # A process may leave an empty log.
        return [content for content in found if content]

    @property
    def able(self):
        """The stores that a run can take."""
        return [self]

    def take(self, *words):
        """The report of each store."""
        return {self: self.report(self.call(*words))}

    # A night

    def each_night(self, count):
        """Goes from night to night. Each is the instant of the one before it."""
        day = self.life.as_of
        for self.night in range(count):
            since = self.life.as_of
            day += self.chance.choice(self.life.gaps) * DAY
            self.life.as_of = self.as_of = self.clock = day + self.chance.randrange(3600) * SECOND
            yield since
            self.counts["nights"] += 1
            self.counts["days"] += (self.life.as_of - since) // DAY

    def nights(self, count):
        for since in self.each_night(count):
            self.life.feed(f"{self.folder}/{self.file}", since, self.night)
            self.change()
            if self.life.feature == "named" and self.waiting and self.chance.random() < 0.4:
                self.accept_one()
            when = self.chance.choices(["before", "after", None], [1, 1, 6])[0]
            if when == "before" and self.agreed:
                self.part(*self.some_part())
            self.carry_out(self.accepted())
            if when == "after":
                self.part(*self.some_part())

    def change(self):
        chance, life = self.chance, self.life
        if "policy_widened" in self.refused and self.good and chance.random() < 0.25:
            life.written, life.holds = copy.deepcopy((self.good.written, self.good.holds))
            life.holds = [hold for hold in life.holds if hold.table in life.tables]
            for rule in life.written:
                life.fit(rule)
            self.story.append(f"night {self.night}: people take their changes back")
        elif chance.random() < 0.25:
            for _ in range(chance.choice([1, 1, 2])):
                self.story.append(f"night {self.night}: somebody {(edit := life.edit())}")
            self.is_pattern_edited |= " name " in edit
            self.has_changed = True
            self.counts["edits"] += 1
        holds, tables = life.holds, life.tables
        if done := life.edit_store(self.folder):
            self.story.append(f"night {self.night}: {done}")
            # A table that appears is no change; a hold that ends with its table is one.
            # A table that a wider pattern names waits, however long ago that was.
            self.has_changed = self.has_changed or life.feature in ("ages", "named") or life.holds != holds or self.is_pattern_edited
            # After a month nothing is known of a table any more, or not of all its rules.
            self.went |= {table: life.as_of for table in tables if table not in life.tables}
            self.has_changed |= any(life.as_of - self.went.pop(table, life.as_of) > 25 * DAY for table in life.tables if table not in tables)
            # A table that appears may be one that is gone, which knows nothing of the changes since, or that of an undo, a hold or a rule.
            has_owner = self.went or self.restored or life.holds or any(not is_pattern(rule) for rule in life.written)
            self.has_changed |= bool(has_owner) and any(table not in tables for table in life.tables)
            # A rule whose table was missing is carried out as if it were new.
            self.has_changed |= any(rule.entity in life.tables and rule.entity not in tables for rule in life.written)
            self.counts["edits of the store"] += 1
        life.write(self.folder, life.written)
        if chance.random() < 0.02 and self.can_move:
            self.moves += 1
            os.rename(self.folder, folder := f"{self.base}/store-{self.moves}")
            self.folder = folder
            self.story.append(f"night {self.night}: the store is moved")
            self.counts["moves"] += 1

    def accepted(self):
        """What people accept of that which was refused."""
        odds = {"restored_rows": 0.25} if self.life.feature == "named" else {}
        return {code for code in sorted(self.refused) if code in BY_HAND and self.chance.random() < odds.get(code, 0.65)}

    def accept_one(self):
        """One of the rules that wait, because an undo has restored their rows, is carried out alone, and the rows are accepted."""
        name = self.chance.choice(sorted(self.waiting))
        if any(rule.name == name for rule in self.life.rules):
            self.part(["--rule", name], 0, {"restored_rows"})

    def carry_out(self, accept):
        before = self.look()
        judge = self.judge(before.rows)
        bytes_before = self.store_bytes()
        planned = self.report(self.call(*self.words(accept), "--dry-run"))
        require(self.store_bytes() == bytes_before, "the dry run changed the store")
        gone = self.life.compare(planned["rules"], judge, "the dry run")
        odds = 4 if len(gone) > 4 else 1
        way = self.chance.choices(["quiet", "killed", "full", "writer"], [20, odds, odds, odds])[0]
        if way != "quiet":
            self.story.append(f"night {self.night}: the run is disturbed ({way})")
            self.counts[way] += 1
        if way == "killed":
            before = self.killed(before, gone, accept)
        elif way == "full":
            before = self.full(before, gone, accept)
        elif way == "writer":
            return self.written(before, accept)
        after = self.quiet(before, accept, planned if way == "quiet" else None)
        after = self.again(after)
        if self.chance.random() < 0.05:
            self.set_back(after)
        if self.runs and self.chance.random() < (0.07 if self.life.feature != "named" else 0.2 if self.life.is_undone else 0):
            self.undo()

    def quiet(self, before, accept, planned):
        """A run that nothing disturbs. Returns what is there after it."""
        count = f"{self.base}/count"
        report = self.report(self.call(*self.words(accept), faults={"COUNT": count} if planned else None))
        if planned:
            with open(count) as file:
                self.last_count = int(file.read().split()[0])
        return self.check_whole(report, before, accept, planned)

    def check_whole(self, report, before, accept, planned):
        """The laws of a run of all rules and stores. Returns what is there after it."""
        after = self.check_run(report, before, accept, planned)
        self.agree(report["rules"], accept)
        return after

    def check_run(self, report, before, accept, planned, is_part=False):
        """The laws of a run that nothing disturbed. Returns what is there after it."""
        after = self.look()
        judge = self.judge(before.rows)
        rules = report["rules"]
        gone = self.life.compare(rules, judge, "the run")
        gone = broken("keep", gone, set(sorted(gone)[1:]))
        require(set(before.rows) - set(after.rows) <= gone, "gone and should stay:", sorted(set(before.rows) - set(after.rows) - gone)[:5])
        require(gone.isdisjoint(after.rows), "left and should go:", sorted(gone & set(after.rows))[:5])
        require(set(after.rows) <= set(before.rows), "the run adds rows")
        self.check_rest(before, after)
        if planned:
            self.check_planned(planned["rules"], rules)
        for said in rules:
            wanted = broken("report", 0, 1) if said["refusal"] else (said["expired"] or 0) + broken("report", 0, 1)
            require(said["outcome"] == "disabled" or said["deleted"] == wanted, said["name"], "deleted", said["deleted"], "of", said["expired"])
            if broken("tier", False, said["kept_by_tier"]):
                said["kept_by_tier"][0]["rows"] += 1
            self.life.check_kept(said, judge, after.rows)
        self.check_held(rules, judge, report["holds"], after)
        self.check_totals(report, before, after)
        self.check_guards(rules, judge, before, accept)
        self.remember(report, accept, is_part)
        self.keep_for_undo(report, before, after)
        return after

    def remember(self, report, accept, is_part=False):
        """What the next nights need to know of a run that was recorded."""
        rules = report["rules"]
        carried_out = {rule["name"] for rule in rules if rule["outcome"] == "completed"}
        self.counts["rows deleted"] += report["totals"]["deleted"]
        self.carried_out |= {rule["name"] for rule in rules if rule["outcome"] in ("completed", "interrupted", "failed")}
        if "restored_rows" in accept:
            for run in self.restored:
                run.accepted |= carried_out
            self.waiting -= carried_out
        if is_part:
            return
        self.refused = {rule["refusal"] for rule in rules} - {None}
        self.refused_rules = {rule["name"] for rule in rules if rule["refusal"]}
        self.waiting = {rule["name"] for rule in rules if rule["refusal"] == "restored_rows"}
        self.deleted = {rule["name"]: rule["deleted"] for rule in rules}
        self.counts.update(f"refused {code}" for code in self.refused)
        if "policy_widened" in accept:
            self.has_changed = False
        if not self.refused and all(rule["outcome"] != "failed" for rule in rules):
            self.good = self.life.snapshot()

    def agree(self, rules, accept, is_part=False):
        """What is agreed after a run that was recorded. A hold is agreed with the first run that has it, whatever waits."""
        policy, refused = self.life.snapshot(), {rule["refusal"] for rule in rules}
        if "hold_unusable" not in refused:
            self.agreed = [with_holds(former, policy.holds) for former in self.agreed]
        if "policy_widened" in accept and not is_part or not self.agreed:
            self.agreed = [policy]
        elif not is_part and not self.waits(rules):
            # A rule that is not compared may be wider, and one that is not carried out stays agreed as it was.
            left = self.agreed if "hold_unusable" in refused else [former for former in self.agreed if self.waits_alone(former)]
            self.agreed = [*(former for former in left if former is not policy), policy]

    def waits_alone(self, former):
        """Whether a rule that is disabled, or has no table, is not as it was in a former policy."""
        life = self.life
        live = {rule.family for rule in life.rules if rule.is_enabled}
        was = {rule.name: life.text(rule) for rule in former.written}
        return any(was.get(rule.name, "") != life.text(rule) for rule in life.written if rule not in live)

    @staticmethod
    def waits(rules):
        """Whether a rule is refused because it is wider, perhaps beside other reasons."""
        return any(refusal["code"] == "policy_widened" for rule in rules for refusal in rule["refusals"] or [])

    def keep_for_undo(self, report, before, after):
        if report["archive"] and set(before.rows) - set(after.rows):
            self.runs.append(Run(report["run"], self.as_of, before, after))

    def fix(self, rules):
        """Lets the judge of a disturbed run have the cutoffs that its plan computed from rows which are not known."""
        for said in rules:
            rule = self.life.named(said["name"])
            rule.fixed = datetime.datetime.fromisoformat(said["cutoff"].replace("Z", "+00:00")) if rule.bound else None

    def again(self, after):
        """The same run once more. A rule that was refused may be carried out if another rule has deleted what was in doubt."""
        refused = self.refused_rules
        after = self.quiet(after, set(), None)
        deleted = sum(count for name, count in self.deleted.items() if name not in refused) + broken("again", 0, 1)
        require(deleted == 0, "a second run deletes", deleted, "rows")
        return after

    # What disturbs a night

    def some_call(self, gone):
        """The number of a call that changes a file, of all or of those that delete rows: about 15 for a batch, after the first 100."""
        calls = 15 * -(-len(gone) // self.life.batch_rows)
        return self.chance.randint(1, self.last_count) if self.chance.random() < 0.4 else 100 + self.chance.randint(1, 20 + calls)

    def killed(self, before, gone, accept):
        at = self.some_call(gone)
        end = self.call(*self.words(accept), faults={"KILL_AT": at})
        after = self.stopped(before, gone, f"a run killed at change {at}")
        run = self.recorded(accept)
        can_be_undone = self.life.is_archived and self.life.is_undone and len(after.rows) < len(before.rows)
        if run and end.returncode == -9 and can_be_undone and self.chance.random() < 0.5:
            self.undo_run(Run(run["run"], self.as_of, before, after), after)
            after = self.look()
        return after

    def recorded(self, accept):
        """The run of a killed process: it may have been killed when it had recorded everything."""
        # Not if the ledger is in the middle of a change.
        is_hot = os.path.exists(f"{self.folder}/retention.ledger.sqlite-journal")
        log = [] if is_hot else json.loads(self.call("log").stdout)["runs"]
        of_tonight = [run for run in log if run["mode"] == "run" and run["as_of"] == f"{self.as_of:%Y-%m-%dT%H:%M:%SZ}"
                      and run["store"].endswith(f"/{self.file}")]
        run = max(of_tonight, key=lambda run: run["run"], default=None)
        if run and run["outcome"] not in ("crashed", "running"):
            self.remember(run, accept)
            self.agree(run["rules"], accept)
        return run

    def full(self, before, gone, accept):
        at = self.some_call(gone)
        end = self.call(*self.words(accept), faults={"FULL_FROM": at})
        require(end.returncode in (0, 65, 73, 74), "on a full disk the run ends with", end.returncode, end.stderr)
        after = self.stopped(before, gone, f"a disk that is full from change {at} on")
        if end.stdout:
            report = json.loads(end.stdout)
            count = len(before.rows) - len(after.rows)
            said = report["totals"]["deleted"] + broken("full", 0, 1)
            require(said == count, "the report says", said, "rows, gone are", count)
            # Whether the run was recorded is unknown.
            if "policy_widened" in accept or not self.waits(report["rules"]):
                self.agreed = self.agreed + [self.life.snapshot()]
        return after

    def stopped(self, before, gone, what):
        """What a run leaves that did not come to its end: only rows are gone that it would delete, and they are archived."""
        after = self.look(is_stopped=True)
        lost = set(before.rows) - set(after.rows)
        self.counts["stopped midway"] += 0 < len(lost) < len(gone)
        gone = broken("stopped", gone, set())
        require(lost <= gone, what, "deletes rows that should stay:", sorted(lost - gone)[:5])
        self.check_rest(before, after)
        if self.life.is_archived:
            shutil.rmtree(f"{self.base}/archives", ignore_errors=True)
            shutil.copytree(f"{self.folder}/archive", f"{self.base}/archives")
            missing = collections.Counter(before.whole[number] for number in lost) - self.archived(f"{self.base}/archives/*.sqlite")[0]
            require(not missing, what, "leaves rows neither in the store nor in an archive:", list(missing)[:3])
        return after

    def written(self, before, accept):
        """Another program writes between any two transactions of the run."""
        life = self.life
        life.denies = False
        writer = Writer(life, self.folder, True if life.children in ("CASCADE", "SET NULL") else None)
        writer.next = life.next
        self.clock += 60 * SECOND
        end = Turns(self.program, self.folder).run(writer, *self.words(accept), "--format", "json", clock=self.clock)
        writer.look()
        writer.store.close()
        life.next = writer.next
        require(end.returncode in (0, 65) and end.stdout, "beside a writer the run ends with", end.returncode, end.stderr)
        report = json.loads(end.stdout)
        self.fix(report["rules"])
        laws = Laws(life, {rule["name"] for rule in report["rules"] if rule["refusal"]})
        gone = 0
        for one, other in writer.steps:
            gone += laws.check(one, other)[0]
            if "policy_widened" not in accept:
                gone_now = set(one[0]) - set(other[0])
                self.check_widened(one[0], gone_now, Judge.reached)
        said = report["totals"]["deleted"] + broken("writer", 0, 1)
        require(said == gone, "the report says", said, "rows, gone are", gone)
        self.remember(report, accept)
        self.agree(report["rules"], accept)
        life.expand()

    def set_back(self, after):
        """The clock is set back: nobody accepts it, and nothing is deleted."""
        days = self.chance.choice([1, 20, 400])
        # A run whose clock was refused says nothing about the time.
        if "clock_jumped" in self.refused:
            return
        clock, self.clock = self.clock, self.clock - days * DAY
        as_of, self.as_of = self.as_of, self.clock
        report = self.report(self.call(*self.words(())))
        require(report["totals"]["deleted"] == broken("clock", 0, 1), "after the clock was set back, a run deletes", report["totals"]["deleted"], "rows")
        self.clock, self.as_of = clock, as_of
        self.check_same(after, self.look(), "a run whose clock was set back")
        self.counts["clocks"] += 1


def try_years(program, chance, folder, kind=Years):
    """One trial: a store for 30 to 400 nights."""
    count = chance.choice([30, 30, 40, 60, 60, 100, 200, 400])
    count = int(os.environ.get("YEARS_NIGHTS", count))
    years = kind(program, chance, folder)
    yield f"{count} nights from {years.life.as_of.date()}, {years.life}"
    try:
        years.nights(count)
        verified = program.run(years.folder, "log", "--verify", clock=years.clock)
        require(verified.returncode == 0, "the chain of the ledger is broken:", verified.stdout, verified.stderr)
    except Exception as error:
        if os.environ.get("YEARS_TRACE"):
            traceback.print_exc()
        kind = "" if isinstance(error, Broken) else f"{type(error).__name__}: "
        raise Broken(f"night {years.night} ({years.as_of}): {kind}{error}\n    " + "\n    ".join(years.story)) from error
    yield years.counts
