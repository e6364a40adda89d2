"""The laws of a night, for years.py: what a run leaves, what it says, and what guards let through.

They must complain when they are wrong: YEARS_BREAK in the environment falsifies what they see. Its words are in `broken(…)`."""

import collections
import glob
import os
import sqlite3

from families import is_pattern, matches
from scenario import require
from together import DAY, Judge

BREAK = os.environ.get("YEARS_BREAK", "").split(",")


def broken(word, value, other):
    """What a law sees: the value, or another one if the environment says so."""
    return other if word in BREAK else value


def different(one, other):
    """Some of what is in one of two dictionaries only, for a message."""
    return sorted(set(one.items()) ^ set(other.items()), key=str)[:4]


class NightLaws:
    """What must hold after a night, whatever has happened in it. It needs the life, the known policies and the restored runs."""

    def check_refusal(self, said):
        """No refusal without a reason."""
        life, code = self.life, said["refusal"]
        is_fine = code in (None, "clock_jumped", "clock_moved_back", "would_empty_entity") or {
            "feed_stopped": self.clock > self.began + 7 * DAY,
            # A wider pattern may match a table only later.
            "policy_widened": self.has_changed, "restored_rows": bool(self.restored),
            "rows_came_back": life.max_late is not None or life.feature in ("tables", "named"),
            "hold_unusable": life.children == "trigger" or life.feature in ("tables", "named")}.get(code, False)
        require(is_fine, said["name"], "is refused:", said["message"])

    def check_rest(self, before, after):
        """Rows that are left are as they were, and those that refer to rows go with them or lose their reference."""
        changed = [number for number in after.whole if after.whole[number] != before.whole.get(number)]
        require(not changed, "rows are changed:", changed[:5])
        wanted = {}
        for number, tick, kind in before.notes.values():
            is_gone = tick in before.rows and tick not in after.rows
            if not is_gone or self.life.children == "SET NULL":
                wanted[number] = number, None if is_gone else tick, kind
        require(after.notes == wanted, "rows that refer to others are not as they should be:", different(after.notes, wanted))
        if self.life.is_logged:
            logged = collections.Counter(after.log["gone"]) - collections.Counter(before.log["gone"])
            require(sorted(logged.elements()) == sorted(set(before.rows) - set(after.rows)), "the trigger saw other rows than are gone")

    def check_planned(self, planned, done):
        for one, other in zip(planned, done):
            figures = ["refusal", "expired", "kept_by_rule", "kept_by_tier", "kept_by_hold", "held", "late", "widened", "cutoff", "unreadable"]
            figures += [] if other["refusal"] else ["cascaded", "nullified"]
            for figure in figures:
                # What another rule would delete counts there, if that rule is carried out.
                if figure == "refusal" and {"feed_stopped", "clock_jumped"} & {one[figure], other[figure]}:
                    # The run is a minute later: by then the feed may be silent, or the last run past, for too long.
                    break
                seen = broken("dry", one[figure], -1)
                require(seen == other[figure], one["name"], figure, one[figure], "in the dry run and", other[figure], "in the run")

    def check_held(self, rules, judge, holds, after):
        """What a report says a hold keeps is there."""
        kept = collections.Counter()
        attributes = {rule.attribute for rule in judge.rules}
        for said in rules:
            rule = self.life.named(said["name"])
            if said["outcome"] == "disabled" or said["expired"] is None:
                continue
            held = judge.held_by_holds(rule)
            require(held <= set(after.rows), rule.name, "loses held rows:", sorted(held - set(after.rows))[:5])
            told = said["held"] + broken("hold", 0, 1)
            require(told == len(held), rule.name, "says that holds keep", told, "rows, and they keep", len(held))
            for hold in self.life.holds:
                kept[hold.name] += sum(hold.covers(judge.rows[number], attributes) for number in held)
        told = {hold["name"]: hold["kept"] for hold in holds if hold["state"] != "unusable"}
        require(all(kept[name] == count for name, count in told.items()), "holds keep", told, "and should keep", dict(kept))

    def check_totals(self, report, before, after):
        """Gone is reported is archived."""
        gone = {number: row for number, row in before.whole.items() if number not in after.whole}
        notes = {number: note for number, note in before.notes.items() if number not in after.notes}
        totals = report["totals"]
        require(totals["deleted"] == len(gone), "the report says", totals["deleted"], "rows, gone are", len(gone))
        said = totals["cascaded"] + totals["trigger_deleted"]
        require(said == len(notes), "the report says", said, "related rows, gone are", len(notes))
        wanted = len(gone) + len(notes) if self.life.is_archived else 0
        require(totals["archived"] == wanted, "the report says", totals["archived"], "archived rows, gone are", wanted)
        if self.life.is_archived and wanted:
            rows, related = self.archived(report["archive"]["path"])
            wanted = collections.Counter(gone.values())
            require(rows == wanted, "the archive has other rows than are gone:", list(rows - wanted)[:2], list(wanted - rows)[:2])
            require(related == collections.Counter(notes.values()), "the archive has other related rows than are gone")

    def archived(self, path):
        """What is in the archives of a path: whole rows, and the rows that refer to them."""
        rows, notes = collections.Counter(), collections.Counter()
        for file in glob.glob(path):
            archive = sqlite3.connect(file)
            try:
                if not archive.execute("SELECT 1 FROM sqlite_schema WHERE name = 'retention_tables'").fetchone():
                    continue
                tables = dict(archive.execute("SELECT store_table, archive_table FROM retention_tables WHERE kind = 'rows'").fetchall())
                for table in self.life.tables:
                    if table in tables:
                        found = archive.execute(f'SELECT {self.life.columns} FROM "{tables[table]}"').fetchall()
                        rows.update(map(repr, found))
                if "Note" in tables:
                    notes.update(archive.execute(f'SELECT id, tick, kind FROM "{tables["Note"]}"').fetchall())
            finally:
                archive.close()
        if "archive" in BREAK:
            rows -= collections.Counter(list(rows)[:1])
        return rows, notes

    def check_guards(self, rules, judge, before, accept):
        """No row is gone that only a change of the policy lets go, and none that an undo has restored."""
        by_rule, gone = {}, set()
        for said in rules:
            rule = self.life.named(said["name"])
            if said["outcome"] == "completed":
                by_rule[rule] = judge.deleted_by(rule) - gone
                gone |= by_rule[rule]
        if broken("widened", "policy_widened" not in accept, True):
            self.check_widened(before.rows, gone, Judge.deleted_by)
        if broken("restored", "restored_rows" not in accept, True) and any(by_rule.values()):
            for run in self.restored:
                # Their table may have another name now.
                now = {number: before.rows[number]["table"] for number in run.gone if before.whole.get(number) == run.gone[number]}
                then = self.life.judge(
                    self.life, run.rows | {number: dict(run.rows[number], table=now[number]) for number in now}, run.as_of, self.clock)
                for rule, rows in by_rule.items():
                    if not run.is_accepted(rule.name, self.life.former_names) or "restored" in BREAK:
                        wrong = rows & then.deleted_by(rule) & {number for number in now if self.is_protected(run, number, rule, now[number])}
                        require(not wrong, rule.name, "deletes rows that were restored:", sorted(wrong)[:5])

    def is_protected(self, run, number, rule, table):
        """Whether a restored row stays for a rule: in its table, or in one that has come to the rule since, while its own is gone."""
        former = run.rows[number]["table"]
        return former == table or former not in self.life.tables and not run.accepted and rule.name not in self.carried_out

    def check_widened(self, rows, gone, deleted_by):
        """Each row that is gone is one that an agreed policy deletes: the first one, and each that was accepted or that nothing refused."""
        if gone and self.agreed:
            allowed = set()
            for policy in {id(policy): policy for policy in self.agreed}.values():
                former = self.judge(rows, policy, is_loose=deleted_by is Judge.reached)
                allowed |= set().union(*(deleted_by(former, rule) for rule in former.rules))
            require(gone <= allowed, "only a change of the policy lets go:", sorted(gone - allowed)[:5])

    def check_same(self, one, other, what):
        is_same = one.whole == other.whole and one.notes == other.notes
        require(is_same, what, "changes rows:", different(one.whole, other.whole), different(one.notes, other.notes))
