# SPDX-License-Identifier: MIT
"""Records a program whose possible stacks are known, counts those that are not among them, and compares the shares of its
leaves with a reference that is independent of the recorder (see reference.c), and with the program's own account where
it keeps one (see programs/ledger.py)."""

import collections
import contextlib
import dataclasses
import functools
import glob
import json
import os
import shutil
import struct
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.join(os.path.dirname(HERE), "e2e"))

# pylint: disable=wrong-import-position
import environment  # noqa: E402
import recording  # noqa: E402
import shares  # noqa: E402
import stacks  # noqa: E402
from cases import VARIANTS, case_of  # noqa: E402
from rules import COLLECTING, NOTHING, Frame, Rules, is_between  # noqa: E402

recording.PLENTY = ()  # recordings are made with the default options
FROZEN = os.path.join(environment.BUILD, "tests", "oracle", "frozen")
REFERENCE = os.path.join(environment.BUILD, "tests", "oracle", "reference")
PROGRAMS = os.path.join(HERE, "programs")
HELPERS = {"ledger"}
FILES = {os.path.basename(path)[:-3] for path in glob.glob(os.path.join(PROGRAMS, "*.py"))} - HELPERS
NAMES = sorted((FILES - VARIANTS.keys()).union(*VARIANTS.values()))

RATES = {"100": "100", "1000": "1000", "10000": "10000", "max": "100000"}
DEFAULT_RATES = ("1000",)
ACCOUNT_RATES = ("100", "1000", "10000")  # of programs that keep account
SLOWER = {"100": 3}  # a recording takes so many times as long
UNPROVED = ("--disturb", "0")  # the recorder never touches the program

FAILED_MOST = 0.005  # of the samples of a reference that were to be taken

UNNOTED_MOST = 0.02  # stacks of a reference that can't be, before 3.13: the current frame is not noted yet for a moment

FUNCTION_MOST, LINE_MOST = 2.0, 3.0  # points that the distance of leaf shares may be above noise ...
FUNCTION_MEAN, LINE_MEAN = 1.0, 1.5  # ... and on average over all cases
ACCOUNT_MOST = 3.0  # points that a function may be off the program's own account, and noise
SPIN = "import os\nstarter = os.getppid()\nwhile os.getppid() == starter: pass"  # ends with us, however we do
LEDGER_HEAD = 1024  # bytes of an account that name its functions; then a number of seconds for each
SIGMAS = 5  # of tests that compare shares with what a thread has noted


def pythons(wanted=None):
    """One Python of each version, or all those that `wanted` names by version or name."""
    found = {}
    for python in environment.pythons():
        if wanted and python.name not in wanted and python.version not in wanted:
            continue
        found.setdefault(python.name if wanted and python.name in wanted else python.version, python)
    return [python for python in found.values() if wanted or "debug" not in python.name]


@contextlib.contextmanager
def programs_folder(roots, programs=PROGRAMS, *more):
    """A folder with the programs, and with more files. It has the same name in each root folder."""
    folder = tempfile.mkdtemp(prefix="pyreel-oracle-", dir="/tmp")
    shutil.copytree(programs, folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__", "*.account"))
    for name, variants in VARIANTS.items() if programs == PROGRAMS else ():
        for variant in variants:
            shutil.copy(os.path.join(folder, f"{name}.py"), os.path.join(folder, f"{variant}.py"))
    for path in more:
        shutil.copy(path, folder)
    os.chmod(folder, 0o755)
    prefix = environment.as_root() or ()
    try:
        for root in roots:
            subprocess.run([*prefix, "cp", "-rT", folder, root + folder], check=True)
        yield folder
    finally:
        shutil.rmtree(folder)
        for root in roots:
            subprocess.run([*prefix, "rm", "-rf", "--one-file-system", root + folder], check=True)


@functools.lru_cache(maxsize=None)
def knows_exact():
    """Whether the recorder samples from the program's processor unless it is told not to."""
    return UNPROVED[0] in recording.succeed(environment.RECORD, "--help").text


# ---- one recording ----

@dataclasses.dataclass
class Judged:
    """What is in a recording, or in a reference."""
    samples: int
    failed: int
    missed: int
    reasons: collections.Counter  # why a stack is impossible -> samples
    examples: dict  # the same -> one such stack
    seen: shares.Draw  # leaves, as (function, file, line)
    within: collections.Counter  # function of the account -> the share of the time in which it was on the stack
    waited: float = 0.0  # the share of its time that the program was ready to run while another had its processor
    wait_s: float = 0.0  # how long each time
    account: dict = None  # function -> its share of the time by the program's own account
    exact: bool = False  # it was recorded from the program's processor

    @property
    def impossible(self):
        return sum(self.reasons.values())

    @property
    def wanted(self):
        """Samples that were to be taken."""
        return self.samples + self.failed

    def broken(self):
        """Which limits are broken, in words."""
        found = []
        if self.exact and self.impossible:
            found.append("impossible stacks")
        if self.exact and self.failed:
            found.append("failed samples")
        if self.samples == 0:
            found.append("no samples")
        return found


def judge(path, rules, accounted=()):
    threads = stacks.of_collapsed(recording.collapsed(path, "--full-paths"))
    weighed = stacks.of_collapsed(recording.collapsed(path, "--full-paths", "--weight", "wall"))
    figures = recording.whole(path)
    tids = collections.Counter(thread["tid"] for thread in figures["threads"])
    judged = judge_threads(threads, weighed, rules, tids, accounted)
    judged.seen.seconds = figures["duration_s"]
    return dataclasses.replace(judged, samples=figures["samples"], failed=figures["failed"], missed=figures["missed"])


def judge_reference(path, rules, accounted=()):
    with open(path, encoding="utf-8") as file:
        told = json.load(file)
    threads, weighed = collections.defaultdict(collections.Counter), collections.defaultdict(collections.Counter)
    for tid, looks, moments, frames in told["stacks"]:
        stack = tuple(tuple(told["frames"][frame]) for frame in frames) or (NOTHING,)
        threads["", tid][stack] += looks
        weighed["", tid][stack] += moments
    # What can't be is left out: before 3.13 the current frame is not noted yet for a moment. Numbers of threads are used
    # again, so one may have several roots.
    judged = judge_threads(threads, weighed, rules, {}, accounted)
    judged.seen.seconds = told["seconds"]
    judged.seen.worth = told["worth"] / told["looks"]
    return dataclasses.replace(judged, samples=stacks.total(threads), failed=told["unread"])


def judge_threads(threads, weighed, rules, tids, accounted):
    """`threads` counts samples, `weighed` how long these stand for; `tids` how many threads had one, empty: not known."""
    judged = Judged(0, 0, 0, collections.Counter(), {}, shares.Draw(), collections.Counter())
    for who, seen in threads.items():
        for stack, count in seen.items():
            why = rules.impossible(stack)
            if why:
                note_impossible(judged, why, stack, count)
            if why and not tids:
                continue
            judged.seen.add(who[1], leaf_of(stack, rules), weighed.get(who, {}).get(stack, 0), count)
        if rules.one_root and tids.get(who[1]) == 1:  # else the kernel has begun its numbers anew
            judge_roots(judged, rules, seen)
    if accounted:
        note_accounted(judged, weighed, accounted)
    return judged


def leaf_of(stack, rules):
    """(function, file, line). A collection of garbage belongs to where it began."""
    rows = [row for row in stack if row != COLLECTING and not is_between(row)]
    if not rows or len(rows[-1]) != 3:
        return (rows[-1] if rows else NOTHING) + ("", 0)
    return tuple(rules.case.frame(rules, Frame(*rows[-1]))[0])


def note_accounted(judged, weighed, accounted):
    """Of each function of the account the share of the time in which it was the innermost of these."""
    whole = max((sum(seen.values()) for seen in weighed.values()), default=0)
    for seen in weighed.values():
        for stack, weight in seen.items():
            innermost = next((row[0] for row in reversed(stack) if row[0] in accounted), None)
            if innermost:
                judged.within[innermost] += weight / whole if whole else 0


def note_impossible(judged, why, stack, count):
    judged.reasons[why] += count
    judged.examples.setdefault(why, stack)


def judge_roots(judged, rules, seen):
    """The stacks of one thread must begin with the same function of the program."""
    roots = collections.defaultdict(collections.Counter)
    for stack, count in seen.items():
        own = [frame for frame in stack if len(frame) == 3 and frame[1] == rules.path]
        if own:
            roots[own[0][0]][stack] += count
    for root, mixed in sorted(roots.items(), key=lambda item: sum(item[1].values()))[:-1]:
        for stack, count in mixed.items():
            note_impossible(judged, f"a thread with another root: {root}", stack, count)


# ---- comparing shares ----

@dataclasses.dataclass
class Compared:
    """How far the shares of a recording are from the reference's, in points, and what noise that has."""
    function: float
    function_noise: float
    line: float
    line_noise: float
    moved: float  # by how much the program's own account differs in the times of the two
    largest: list  # (points, function), those that differ most

    @property
    def above(self):
        """Points above noise, by function and by line, that the program itself does not explain."""
        both = self.function - self.function_noise, self.line - self.line_noise
        return tuple(max(points - self.moved, min(points, 0)) for points in both)

    def broken(self):
        function, line = self.above
        return (["shares by function"] if function > FUNCTION_MOST else []) + (
            ["shares by line"] if line > LINE_MOST else [])


def compare(judged, reference, stay_ms):
    one, other = judged.seen, reference.seen
    functions = shares.by_function(one), shares.by_function(other)
    apart = sorted(((points, leaf[0]) for leaf, points in shares.differences(*functions).items()),
                   key=lambda row: -abs(row[0]))
    return Compared(shares.distance(*functions), shares.noise(*functions, stay_ms), shares.distance(one, other),
                    shares.noise(one, other, stay_ms), moved(judged, reference), apart[:3])


def moved(judged, reference):
    """How far the program's account of the one time is from that of the other, in points; what it keeps no account of is
    one thing more."""
    if not judged.account or not reference.account:
        return 0.0
    apart = [share - reference.account[name] for name, share in judged.account.items()]
    return (sum(map(abs, apart)) + abs(sum(apart))) / 2 / max(len(judged.seen.looks), 1) * 100


@dataclasses.dataclass
class Off:
    """A function's share beside the program's own account of it, in points."""
    name: str
    share: float
    account: float
    noise: float

    @property
    def points(self):
        return abs(self.share - self.account)

    @property
    def too_large(self):
        return self.points > ACCOUNT_MOST + self.noise


def off_account(judged):
    """The function that is furthest from the account; None without one."""
    looks = max(judged.seen.looks.values(), default=0) * judged.seen.worth
    rows = [Off(name, judged.within[name] * 100, share * 100, shares.noise_of_share(share, looks))
            for name, share in (judged.account or {}).items()]
    return max(rows, key=lambda row: row.points - row.noise, default=None)


# ---- a program at work ----

def on_processor(which):
    """Puts a command on one processor: a program and its recorder get one each, as nothing races on a shared one."""
    allowed = sorted(os.sched_getaffinity(0))
    return ("taskset", "-c", str(allowed[which])) if len(allowed) > 1 and shutil.which("taskset") else ()


class Run:
    """A program of a case, running under a Python, and its rules."""

    def __init__(self, python, name, folder, results, pin=False):
        self.python, self.name, self.results, self.pin = python, name, results, pin
        self.path = os.path.join(folder, f"{name}.py")
        with open(self.path, encoding="utf-8") as file:
            source = file.read()
        self.rules = Rules(self.path, source, self.look_up, case_of(name))
        self.spinners = [subprocess.Popen([sys.executable, "-c", SPIN]) for _ in range(self.rules.spinners)]
        try:
            where = on_processor(0) if pin or self.rules.one_processor else ()
            self.target = recording.Target(*where, *python.command, self.path)
        except BaseException:
            self.end_spinners()
            raise

    def look_up(self, files):
        with open(os.path.join(HERE, "codes.py"), encoding="utf-8") as file:
            script = file.read()
        return json.loads(recording.succeed(*self.python.command, "-c", script, *files).text)

    @property
    def prefix(self):
        return environment.as_root() if self.python.root else ()

    def waits(self):
        """How long its main thread has been ready to run and did not, in seconds, and how often it ran; 0 where the
        kernel does not tell."""
        try:
            with open(f"/proc/{self.target.pid}/schedstat", encoding="ascii") as file:
                _, waited_ns, times = map(int, file.read().split())
                return waited_ns / 1e9, times
        except (OSError, ValueError):
            return 0, 0

    @functools.cached_property
    def ledger(self):
        """Where its account is, and of which functions. See programs/ledger.py."""
        path = f"{self.python.root}{self.path}.{self.target.pid}.account"
        if not os.path.exists(path):
            return None, ()
        with open(path, "rb") as file:
            return path, tuple(file.read(LEDGER_HEAD).split(b"\0")[0].decode().split())

    @property
    def keeps_account(self):
        return self.ledger[0] is not None

    def read_account(self):
        path, names = self.ledger
        if not path:
            return {}
        with open(path, "rb") as file:
            file.seek(LEDGER_HEAD)
            return dict(zip(names, struct.unpack(f"{len(names)}d", file.read(len(names) * 8))))

    @contextlib.contextmanager
    def observing(self, judged):
        """Fills in how long the program waited meanwhile, and what its own account says."""
        (waited, times), account, started = self.waits(), self.read_account(), time.monotonic()
        yield
        seconds = time.monotonic() - started
        assert self.target.running, f"{self.name} ended"
        waits = [max(now - before, 0) for now, before in zip(self.waits(), (waited, times))]
        judged["waited"], judged["wait_s"] = waits[0] / seconds, waits[0] / max(waits[1], 1)
        judged["account"] = {name: (value - account[name]) / seconds for name, value in self.read_account().items()}

    def result(self, what, ending="pyreel"):
        return os.path.join(self.results, f"{self.python.name}-{self.name}-{what}.{ending}")

    def record(self, rate, seconds, *more):
        path = self.result("".join((rate, *more)))
        live = not knows_exact() or "--blocking" in more or more[:2] == UNPROVED
        prefix = (*(on_processor(-1) if live and self.pin else ()), *self.prefix)
        found = {"exact": not live}
        with self.observing(found):
            recording.attach(self.target, path, "-r", RATES[rate], *more, seconds=seconds * SLOWER.get(rate, 1),
                             prefix=prefix)
        judged = dataclasses.replace(judge(path, self.rules, self.ledger[1]), **found)
        reached_s = judged.seen.seconds / max(judged.seen.looks.values(), default=1)
        judged.seen.worth = shares.worth_of_waiting(min(judged.waited, 1), judged.wait_s, reached_s)
        return judged

    def reference(self, count, what="reference"):
        path = self.result(what, "json")
        found = {}
        with self.observing(found):
            recording.succeed(*self.prefix, REFERENCE, self.target.pid, count, path, self.rules.distance_us)
        return dataclasses.replace(judge_reference(path, self.rules, self.ledger[1]), **found)

    def steps(self, count, steps):
        path = self.result("steps")
        recording.succeed(*self.prefix, FROZEN, self.target.pid, count, path, steps)
        assert self.target.running, f"{self.name} ended"
        return judge(path, self.rules)

    def end_spinners(self):
        for spinner in self.spinners:
            spinner.kill()
            spinner.wait()

    def close(self):
        self.end_spinners()
        self.target.close()


def both(one, other):
    """Two references of one program as one."""
    account = {name: (share + other.account[name]) / 2 for name, share in (one.account or {}).items()}
    within = collections.Counter({name: (one.within[name] + other.within[name]) / 2 for name in one.within | other.within})
    return Judged(one.samples + other.samples, one.failed + other.failed, 0, one.reasons + other.reasons,
                  {**one.examples, **other.examples}, shares.together([one.seen, other.seen]), within,
                  max(one.waited, other.waited), 0.0, account)


def running(*where, **more):
    return contextlib.closing(Run(*where, **more))
