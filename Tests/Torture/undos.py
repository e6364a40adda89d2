"""Undos of runs, for years.py: they restore the rows that the run deleted, and nothing else."""

import json
import os

from history import KEYS
from nights import BREAK, broken, different
from scenario import require


class Run:
    """A run that can be undone."""

    def __init__(self, identifier, as_of, before, after):
        self.identifier, self.as_of, self.rows = identifier, as_of, before.rows
        self.tables = before.tables
        gone = set(before.rows) - set(after.rows)
        self.gone = {number: before.whole[number] for number in gone}
        self.notes = {number: note for number, note in before.notes.items() if after.notes.get(number) != note}
        # The names of the rules that were carried out since with these rows accepted.
        self.accepted = set()

    def is_accepted(self, name, former_names):
        """Whether a rule was accepted, under this name or one that it had."""
        rule, colon, part = name.partition(":")
        while rule in former_names and rule + colon + part not in self.accepted:
            rule = former_names[rule]
        return rule + colon + part in self.accepted


class Undos:
    """The undos of a life."""

    def undo(self):
        """The last run, or an earlier one."""
        run = self.runs[-1] if self.chance.random() < 0.6 else self.chance.choice(self.runs)
        before = self.look()
        if not {run.rows[number]["table"] for number in run.gone} <= set(self.life.tables):
            end = self.call("undo", run.identifier)
            require(end.returncode == 65, "the undo into a table that is gone ends with", end.returncode, end.stderr)
            return self.check_same(before, self.look(), "an undo into a table that is gone")
        is_named = self.life.feature == "named"
        if run.tables != self.life.tables and not is_named:
            return
        is_unclear = KEYS[self.life.shape] != ["id"] and any(before.whole.get(number, row) != row for number, row in run.gone.items())
        # A row that was fed again may be in another table.
        is_unclear |= is_named and any(
            before.rows[number]["table"] != run.rows[number]["table"] for number in run.gone if number in before.rows)
        if not is_unclear:
            self.undo_run(run, before)

    def undo_run(self, run, before):
        self.story.append(f"night {self.night}: the run {run.identifier} of {run.as_of} is undone")
        self.counts["undos"] += 1
        words = ["undo", run.identifier] + (["--triggers", "skip"] if self.life.is_logged else [])
        bytes_before = self.store_bytes()
        # A reader cannot roll back what a killed program left.
        is_hot = os.path.exists(f"{self.folder}/{self.file}-journal")
        planned = None if is_hot else self.call(*words, "--dry-run")
        require(self.store_bytes() == bytes_before, "the dry run of an undo changed the store")
        if self.chance.random() < 0.2:
            self.call(*words, faults={"KILL_AT": self.chance.randint(1, 40)})
        middle = self.look(is_stopped=True)
        end = self.call(*words)
        after = self.look()
        require(end.stdout, "the undo ends with", end.returncode, end.stderr)
        require(is_hot or planned.stdout, "the dry run of the undo ends with", planned and planned.stderr)
        keys = {self.life.key(row) for row in before.rows.values()} if KEYS[self.life.shape] else set()
        rows = {number: row for number, row in run.gone.items() if number not in before.rows and self.life.key(run.rows[number]) not in keys}
        skipped = [number for number in run.gone if number not in rows and before.whole.get(number) != run.gone[number]]
        wanted = before.whole | rows
        if "undo" in BREAK:
            wanted.popitem()
        missing, more = set(wanted) - set(after.whole), set(after.whole) - set(wanted)
        require(not missing and not more, "after the undo", sorted(missing)[:5], "are missing, and too many are", sorted(more)[:5])
        wrong = [number for number in wanted if wanted[number] != after.whole[number]]
        require(not wrong, "the undo restores other values:", [(wanted[number], after.whole[number]) for number in wrong[:3]])
        if not skipped:
            require(end.returncode == 0, "the undo ends with", end.returncode, end.stderr, end.stdout)
            wanted = before.notes | run.notes
            require(after.notes == wanted, "the undo restores other related rows:", different(after.notes, wanted))
        else:
            require(end.returncode == 65, "the undo skips rows and ends with", end.returncode)
        said = json.loads(end.stdout)["undo"]
        told = said if is_hot else json.loads(planned.stdout)["undo"]
        require(told["archived"] == said["archived"], "the dry run of the undo finds", told["archived"], "rows, and the undo", said["archived"])
        if len(middle.rows) == len(before.rows):
            restored = said["restored"] + broken("undo_dry", 0, 1)
            require(told["restored"] == restored, "the dry run of the undo restores", told["restored"], "and the undo", restored)
        self.restored.append(run)
        if run in self.runs:
            self.runs.remove(run)
