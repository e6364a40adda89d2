"""Crashes, power losses and faults of a disk, at random instants of runs of the real program. See scripts/torture."""

import argparse
import collections
import concurrent.futures
import itertools
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time

import candles as feeds
import locks as servers
from many import Many
from powerloss import Disk, Recording
from rules import try_policy
from scenario import Broken, Program, Scenario, require
from server import Server
from together import try_rules
from writers import Turns, try_writer
from years import try_years

# So many trials share a store, which is made once.
TRIALS_PER_SCENARIO = 10


class Bench:
    """A scenario with a run of it that nothing disturbed: how long it took and how many calls it made."""

    def __init__(self, mode, seed, number, program, folder):
        self.mode = mode
        self.program = program
        self.folder = f"{folder}/{mode}-{number}"
        self.scenario = Scenario(f"{seed} {number}", f"{self.folder}/template", program)
        whole = self.trial_folder("whole")
        began = time.monotonic()
        self.recording = f"{self.folder}/calls"
        count = f"{self.folder}/count"
        faults = {"COUNT": count} | ({"LOG": self.recording} if mode == "power" else {})
        end = program.job(whole, *self.scenario.options(), faults=faults)
        self.seconds = time.monotonic() - began
        require(end.returncode == (65 if self.scenario.bad else 0), "the undisturbed run ends with", end.returncode, end.stderr)
        self.scenario.check_finished(whole)
        with open(count) as file:
            self.changes, self.reads = (int(word) for word in file.read().split())
        shutil.rmtree(whole)

    def trial_folder(self, name):
        folder = f"{self.folder}/{name}"
        self.scenario.copy(folder)
        return folder

    def remove(self):
        shutil.rmtree(self.folder, ignore_errors=True)


def kill(bench, chance, folder):
    """SIGKILL: half of the time in place of a call that changes a file, else at any instant."""
    scenario = bench.scenario
    bench.scenario.copy(folder)
    if chance.random() < 0.5:
        at = chance.randint(1, bench.changes)
        how = f"killed at change {at} of {bench.changes}"
        end = bench.program.job(folder, *scenario.options(), faults={"KILL_AT": at})
    else:
        after = chance.uniform(0, bench.seconds)
        how = f"killed after {after:.3f} s of {bench.seconds:.3f}"
        end = bench.program.job(folder, *scenario.options(), kill_after=after)
    yield how
    scenario.finish(folder, scenario.check(folder))
    scenario.undo(folder, chance)
    yield "killed" if end.returncode == -9 else "ended before"


def power(bench, chance, folder):
    """The disk as it is if power fails after a call, made of a recording."""
    scenario = bench.scenario
    calls = Recording(bench.recording).calls
    # Writes are many; what is between the other calls is where two files must agree.
    joints = [index + 1 for index, call in enumerate(calls) if call[0] != "write"]
    at = chance.choice(joints) if chance.random() < 0.5 else chance.randint(0, len(calls))
    # A file that SQLite cuts after a commit must not become shorter before the journal is gone: without order among the
    # two, only synchronous = EXTRA would see to that.
    is_ordered = scenario.vacuum == 1 or scenario.reclaim != "none" or chance.random() < 0.3
    yield f"power lost after call {at} of {len(calls)}, " + ("names in order" if is_ordered else "names in any order")
    disk = Disk(f"{bench.folder}/template")
    for call in calls[:at]:
        disk.do(call)
    disk.lose_power(chance, folder, is_ordered)
    scenario.finish(folder, scenario.check(folder))
    scenario.undo(folder, chance)
    yield "in order" if is_ordered else "in any order"


def fault(bench, chance, folder):
    """A disk that is full from some call on, or a write, sync or read that fails."""
    scenario = bench.scenario
    scenario.copy(folder)
    kind = chance.choice(["FULL_FROM", "FULL_FROM", "FAIL_AT", "READ_AT"])
    at = chance.randint(1, bench.reads if kind == "READ_AT" else bench.changes)
    yield f"{kind} {at} of {bench.reads if kind == 'READ_AT' else bench.changes}"
    end = bench.program.job(folder, *scenario.options(), faults={kind: at})
    # The log and the process id in the lock file are for people: a run does not end for them.
    require(end.returncode in (0, 65, 73, 74), "the run ends with", end.returncode, end.stderr)
    state = scenario.check(folder)
    tags = set(state["tags"])
    if end.returncode in (0, 65):
        require(tags == scenario.kept, "the run says that all is well, and rows are left")
    else:
        said = end.stderr.lower()
        if kind == "FULL_FROM":
            require("full" in said or "no space" in said, "nobody says that the disk is full:", end.stderr)
        if end.stdout:
            report = json.loads(end.stdout)
            # Nothing is deleted before all pending files are saved.
            all_saved = report["pending"]["saved"] == sum(len(rows) for rows in scenario.pending.values())
            gone = len(scenario.expired - tags) if all_saved else 0
            require(report["totals"]["deleted"] == gone, f"the report says {report['totals']['deleted']}, gone are {gone}")
            words = f"{gone:,} row" if gone else "nothing was deleted"
            require(words in end.stderr or report["totals"]["residue"] == 0, "the message does not say what is gone:", end.stderr)
    scenario.finish(folder, state | {"running": 0})
    scenario.undo(folder, chance)
    yield f"{kind} ends with {end.returncode}"


class Bare:
    """In place of a bench, where each trial makes a store of its own."""

    def __init__(self, mode, number, program, base):
        self.program = program
        self.folder = f"{base}/{mode}-{number}"
        self.scenario = ""
        os.makedirs(self.folder)

    def remove(self):
        shutil.rmtree(self.folder, ignore_errors=True)


def rules(bench, chance, folder):
    """Random policies on random rows, against a judge."""
    yield from try_policy(bench.program, chance, folder)


def candles(bench, chance, folder):
    """Random feeds that become candles, against a judge."""
    yield from feeds.try_feed(bench.program, chance, folder)


def together(bench, chance, folder):
    """Several random rules on one table, against a judge."""
    yield from try_rules(bench.program, chance, folder)


def writers(bench, chance, folder):
    """The same while another program changes the rows, between any two transactions of the run."""
    yield from try_writer(bench.program, chance, folder)


def locks(bench, chance, folder):
    """Runs on a server beside sessions that lock rows, and runs that get a signal, against a judge."""
    yield from servers.try_locks(bench.program, chance, folder)


def years(bench, chance, folder):
    """Stores for many nights, and what happens to them, against a judge of each night."""
    yield from try_years(bench.program, chance, folder)


def many(bench, chance, folder):
    """The same for a folder of stores with one policy."""
    yield from try_years(bench.program, chance, folder, Many)


def nights_on_servers(bench, chance, folder):
    """Nights of stores on a server, against the judge of years."""
    yield from try_years(bench.program, chance, folder, Server)


MODES = {"rules": rules, "together": together, "writers": writers, "candles": candles, "locks": locks, "years": years, "many": many, "servers": nights_on_servers, "kills": kill,
         "power": power, "faults": fault}
# Their trials make stores of their own.
BARE = ["rules", "together", "writers", "candles", "locks", "years", "many", "servers"]


def portion(mode, seed, numbers, program, base):
    """Carries out trials on one scenario. Returns what they came to, and what is broken."""
    results, broken = collections.Counter(), []
    first = numbers[0]
    scenario_number = first // TRIALS_PER_SCENARIO
    bench = None
    for number in numbers:
        how = "making the store"
        try:
            if not bench:
                bench = Bare(mode, scenario_number, program, base) if mode in BARE else Bench(mode, seed, scenario_number, program, base)
            # The store remembers files by their whole path, and so must a trial that is made of a recording.
            folder = f"{bench.folder}/" + ("whole" if mode == "power" else f"trial-{number}")
            trial = MODES[mode](bench, random.Random(f"{seed} {mode} {number}"), folder)
            how = next(trial)
            found = next(trial)
            results.update(found if isinstance(found, dict) else [found])
            shutil.rmtree(folder)
        except Exception as error:
            story = f"\n    {bench.scenario}" if bench else ""
            kind = "" if isinstance(error, Broken) else f"{type(error).__name__}: "
            broken.append(
                f"--{mode} 1 --seed {seed} --first {number}: {how}: {kind}{error}{story}"
                + (f"\n    left in {folder}" if bench else ""))
            if not bench or mode == "power":
                break
    if bench and bench.scenario and not broken:
        candles = " with candles" if bench.scenario.is_rolled else ""
        results[f"method {bench.scenario.found_method}{candles}"] += len(numbers)
    if bench and not broken:
        bench.remove()
    return results, broken


def main():
    arguments = argparse.ArgumentParser(add_help=False)
    for mode in MODES:
        arguments.add_argument(f"--{mode}", type=int, default=0)
    arguments.add_argument("--seed", type=int, default=1)
    arguments.add_argument("--first", type=int, default=0)
    arguments.add_argument("--program", required=True)
    arguments.add_argument("--prices")
    arguments.add_argument("--jobs", type=int, default=os.cpu_count())
    options = arguments.parse_args()

    base = tempfile.mkdtemp(prefix="retention-torture-", dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None)
    sources = os.path.dirname(os.path.abspath(__file__))
    faults, Turns.library, clock = f"{base}/faults.so", f"{base}/turns.so", f"{base}/clock.so"
    for library in (faults, Turns.library, clock):
        source = os.path.join(sources, os.path.basename(library).replace(".so", ".c"))
        subprocess.run(["clang", "-shared", "-fPIC", "-O1", "-Wall", "-Werror", "-o", library, source], check=True)
    # A build may replace the program during a long run.
    program = Program(shutil.copy2(options.program, f"{base}/retention"), faults, clock)
    all_broken = []
    if (options.candles or options.prices) and not feeds.pandas:
        print("candles: SKIPPED, because python3 has no pandas; pip install pandas")
        options.candles, options.prices = 0, None
    if options.prices:
        print(f"prices: {feeds.try_prices(program, options.prices, f'{base}/prices')} candles of real prices compared")
    if (options.locks or options.servers) and not servers.is_installed():
        print("locks, servers: SKIPPED, because PostgreSQL is not installed; apt-get install postgresql")
        options.locks = options.servers = 0
    for mode in MODES:
        count = getattr(options, mode)
        if not count:
            continue
        numbers = range(options.first, options.first + count)
        groups = [list(group) for _, group in itertools.groupby(numbers, key=lambda number: number // TRIALS_PER_SCENARIO)]
        results, began = collections.Counter(), time.monotonic()
        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            for found, broken in pool.map(lambda group: portion(mode, options.seed, group, program, base), groups):
                results += found
                all_broken += broken
                for line in broken:
                    print("BROKEN", line, flush=True)
        said = ", ".join(f"{value} {key}" for key, value in sorted(results.items()))
        print(f"{mode}: {count} trials with seed {options.seed} from {options.first} on, in {time.monotonic() - began:.0f} s: {said}")
    servers.stop()
    if all_broken:
        sys.exit(f"{len(all_broken)} trials broke a law")
    shutil.rmtree(base)


main()
