# SPDX-License-Identifier: MIT
"""Records a program whose possible stacks are known, counts those that are not among them, and compares how often each
kind of stack was seen with a reference that was taken while the program was stopped."""

import collections
import contextlib
import dataclasses
import glob
import json
import math
import os
import shutil
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.join(os.path.dirname(HERE), "e2e"))

# pylint: disable=wrong-import-position
import environment  # noqa: E402
import recording  # noqa: E402
import stacks  # noqa: E402
from cases import case_of  # noqa: E402
from rules import Rules  # noqa: E402

FROZEN = os.path.join(environment.BUILD, "tests", "oracle", "frozen")
PROGRAMS = os.path.join(HERE, "programs")
NAMES = sorted(os.path.basename(path)[:-3] for path in glob.glob(os.path.join(PROGRAMS, "*.py")))

RATES = {"1000": "1000", "10000": "10000", "max": "100000"}
DEFAULT_RATES = ("10000", "max")
IMPOSSIBLE_MOST = 0.0001  # of the samples
FAILED_MOST = 0.005  # of the samples that were to be taken
SIGMAS = 5  # a share may differ by so many times its sampling error ...
SLACK = 0.01  # ... and this: samples that follow each other closely are not independent ...
SLOW_SLACK = 0.1  # ... least of all in programs that say that they are slow


def pythons(wanted=None):
    """One Python of each version, or all those that `wanted` names by version or name."""
    found = {}
    for python in environment.pythons():
        if wanted and python.name not in wanted and python.version not in wanted:
            continue
        found.setdefault(python.name if wanted and python.name in wanted else python.version, python)
    return [python for python in found.values() if wanted or "debug" not in python.name]


@contextlib.contextmanager
def programs_folder(roots, programs=PROGRAMS):
    """A folder with the programs. It has the same name in each root folder."""
    folder = tempfile.mkdtemp(prefix="pyreel-oracle-", dir="/tmp")
    shutil.copytree(programs, folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))
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


# ---- one recording ----

@dataclasses.dataclass
class Judged:
    """What is in a recording."""
    samples: int
    failed: int
    missed: int
    reasons: collections.Counter  # why a stack is impossible -> samples
    examples: dict  # the same -> one such stack
    kinds: collections.Counter  # see Rules.kind()
    waited: float = 0.0  # the share of its time that the program was ready to run while another had its processor

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
        if self.impossible > max(1, IMPOSSIBLE_MOST * self.samples):
            found.append("impossible stacks")
        if self.failed > max(3, FAILED_MOST * self.wanted):
            found.append("failed samples")
        if self.samples == 0:
            found.append("no samples")
        return found


def judge(path, rules):
    threads = stacks.of_collapsed(recording.collapsed(path, "--full-paths"))
    figures = recording.whole(path)
    judged = Judged(figures["samples"], figures["failed"], figures["missed"], collections.Counter(), {},
                    collections.Counter())
    tids = collections.Counter(thread["tid"] for thread in figures["threads"])
    for (_, tid), seen in threads.items():
        for stack, count in seen.items():
            why = rules.impossible(stack)
            if why:
                note_impossible(judged, why, stack, count)
            elif kind := rules.kind(stack):
                judged.kinds[kind] += count
        if rules.one_root and tids[tid] == 1:  # else the kernel has begun its numbers anew
            judge_roots(judged, rules, seen)
    return judged


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
class Difference:
    """The share of a kind of stack that differs most from the reference's, measured by what may be."""
    kind: tuple
    share: float
    reference: float
    tolerance: float

    @property
    def size(self):
        return abs(self.share - self.reference)

    @property
    def too_large(self):
        return self.size > self.tolerance


def largest_difference(judged, reference, slow):
    """Where a program waits for its processor it is seen again and again, so the waiting is added to what may be."""
    n, m = sum(judged.kinds.values()), sum(reference.kinds.values())
    found = []
    for kind in judged.kinds.keys() | reference.kinds.keys():
        a, b = judged.kinds[kind] / max(n, 1), reference.kinds[kind] / max(m, 1)
        pooled = (judged.kinds[kind] + reference.kinds[kind] + 1) / (n + m + 2)
        error = math.sqrt(pooled * (1 - pooled) * (1 / max(n, 1) + 1 / max(m, 1)))
        found.append(Difference(kind, a, b, SIGMAS * error + (SLOW_SLACK if slow else SLACK) + judged.waited))
    return max(found, key=lambda difference: difference.size / difference.tolerance, default=None)


# ---- a program at work ----

def on_processor(which):
    """Puts a command on one processor: a program and its recorder get one each, as nothing races on a shared one."""
    allowed = sorted(os.sched_getaffinity(0))
    return ("taskset", "-c", str(allowed[which])) if len(allowed) > 1 and shutil.which("taskset") else ()


class Run:
    """A program of a case, running under a Python, and its rules."""

    def __init__(self, python, name, folder, results):
        self.python, self.name, self.results = python, name, results
        self.path = os.path.join(folder, f"{name}.py")
        with open(self.path, encoding="utf-8") as file:
            source = file.read()
        self.rules = Rules(self.path, source, self.look_up, case_of(name))
        self.target = recording.Target(*on_processor(0), *python.command, self.path)

    def look_up(self, files):
        with open(os.path.join(HERE, "codes.py"), encoding="utf-8") as file:
            script = file.read()
        return json.loads(recording.succeed(*self.python.command, "-c", script, *files).text)

    @property
    def prefix(self):
        return environment.as_root() if self.python.root else ()

    def waited_ns(self):
        """How long its main thread has been ready to run and did not; 0 where the kernel does not tell."""
        try:
            with open(f"/proc/{self.target.pid}/schedstat", encoding="ascii") as file:
                return int(file.read().split()[1])
        except (OSError, IndexError, ValueError):
            return 0

    def result(self, what):
        return os.path.join(self.results, f"{self.python.name}-{self.name}-{what}.pyreel")

    def record(self, rate, seconds, *more):
        path = self.result("".join((rate, *more)))
        prefix = (*on_processor(-1), *self.prefix)
        waited_ns, started_ns = self.waited_ns(), time.monotonic_ns()
        recording.attach(self.target, path, "-r", RATES[rate], *more, seconds=seconds, prefix=prefix)
        waited = (self.waited_ns() - waited_ns) / (time.monotonic_ns() - started_ns)
        assert self.target.running, f"{self.name} ended"
        return dataclasses.replace(judge(path, self.rules), waited=max(waited, 0.0))

    def reference(self, count):
        return self.frozen("reference", count)

    def steps(self, count, steps):
        return self.frozen("steps", count, steps)

    def frozen(self, what, *numbers):
        path = self.result(what)
        count, *steps = numbers
        recording.succeed(*self.prefix, FROZEN, self.target.pid, count, path, *steps)
        assert self.target.running, f"{self.name} ended"
        return judge(path, self.rules)

    def close(self):
        self.target.close()


def running(*where):
    return contextlib.closing(Run(*where))
