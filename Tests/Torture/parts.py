"""Runs of a part, for years.py and many.py: of one rule, of one store, or of an earlier instant.

Such a run obeys the laws of any run. Only a run of all rules and stores agrees to a policy, and a run of a part says nothing about
what it has not carried out: tonight's dry run has the same reasons against it before and after."""

from nights import broken
from scenario import require
from together import DAY

# Refusals that come from what past runs have left, not from the rows of other rules.
FROM_THE_PAST = {"policy_widened", "restored_rows", "rows_came_back", "feed_stopped"}


def codes(said):
    """Why a rule of a report is refused."""
    return {said["refusal"], *(refusal["code"] for refusal in said["refusals"] or [])} - {None}


class Parts:
    """Runs of a part. They need what takes a report of each store, and the stores."""

    def some_part(self):
        """What people may ask for, and what they accept in it."""
        chance = self.chance
        words, days, rules = [], 0, self.life.rules
        if rules and chance.random() < 0.6:
            rule = chance.choice(rules)
            words = ["--rule", chance.choice([rule.name, rule.family.name])]
        if not words or chance.random() < 0.3:
            days = chance.choice([1, 3, 10, 40, 200])
        accept = self.accepted() | ({"policy_widened"} if chance.random() < 0.4 else set())
        return words, days, accept

    def part(self, words, days, accept):
        """A run of some words, so many days ago."""
        what = " ".join([*words, *([f"{days} days ago"] if days else []), *sorted(accept)])
        self.story.append(f"night {self.night}: a run of a part ({what})")
        self.counts["runs of a part"] += 1
        before = {store: store.look() for store in self.able}
        tonight = self.take(*self.words(()), "--dry-run")
        self.as_of -= days * DAY
        planned = self.take(*self.words(accept), *words, "--dry-run")
        for store, report in planned.items():
            if "--rule" in words:
                name = words[words.index("--rule") + 1]
                wanted = {rule.name for rule in self.life.rules if name in (rule.name, rule.family.name)}
                require({said["name"] for said in report["rules"]} == wanted, "--rule", name, "carries out", report["rules"])
            self.life.compare(report["rules"], store.judge(before[store].rows), "the dry run of a part")
        done = self.take(*self.words(accept), *words)
        for store in before:
            if store in done:
                store.check_run(done[store], before[store], accept, planned[store], is_part=True)
            else:
                store.check_same(before[store], store.look(), "a run of another store")
        self.as_of = self.life.as_of
        agrees = not words and "policy_widened" in accept
        self.agree([rule for report in done.values() for rule in report["rules"]], accept, is_part=not agrees)
        after = self.take(*self.words(()), "--dry-run")
        for store in before:
            carried_out = {rule["name"] for rule in done[store]["rules"] if rule["outcome"] == "completed"} if store in done else set()
            self.check_unmoved(tonight[store]["rules"], after[store]["rules"], carried_out, accept, agrees)

    def check_unmoved(self, one, other, carried_out, accept, agrees):
        """What a run of a part has not carried out is as refused as before it."""
        for said, then in zip(one, other):
            name = said["name"]
            before, after = codes(said) & FROM_THE_PAST, codes(then) & FROM_THE_PAST
            # A new table, an age in a table of the store, and what a hold has kept wait by their rows.
            waits_by_rows = self.life.feature in ("ages", "tables", "named") or self.has_lost_hold()
            is_wider = "policy_widened" in before and not agrees and not waits_by_rows
            require(not is_wider or "policy_widened" in broken("part", after, set()), name, "waits no more after a run of a part")
            if said["expired"] != then["expired"] or said["outcome"] == "disabled":
                continue
            lost = before - after - (accept if agrees or name in carried_out else set())
            is_beside = any(rule["name"] in carried_out and rule["entity"] == said["entity"] for rule in one)
            if "restored_rows" in accept and (is_beside or "with a new name" in str(said)):
                # The rows for which it waits were accepted, by a rule of the same table or of the one with the former name.
                lost -= {"restored_rows"}
            require(not lost, name, "is not refused any more after a run of a part:", lost)
            # The feed may be silent for too long by now.
            more = after - before - {"feed_stopped"}
            require(not more, name, "is refused only after a run of a part:", then["message"])
            # Which rows the agreed rules would delete depends on what they have accepted of an undo.
            for figure in ("late", *["widened"] * (not agrees and "restored_rows" not in accept)):
                # After the first run of a rule with a table it is known that none is late.
                is_same = then[figure] == said[figure] or (said[figure] is None and then[figure] == 0 and name in carried_out)
                require(is_same, name, figure, said[figure], "before a run of a part and", then[figure], "after it")

    def has_lost_hold(self):
        """Whether somebody has removed a hold that is agreed."""
        known = {hold.policy() for hold in self.life.holds}
        return any(hold.policy() not in known for former in self.agreed for hold in former.holds)
