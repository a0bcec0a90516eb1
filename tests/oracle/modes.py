# SPDX-License-Identifier: MIT
"""What recordings tell of threads, beside what the threads themselves have noted: how long they were on a processor,
held the interpreter's lock, were in an `except`; see mode_programs/account.py."""

import bisect
import collections
import contextlib
import dataclasses
import functools
import glob
import math
import os
import shutil
import subprocess
import sys
import time

import oracle
import recording
import stacks

PROGRAMS = os.path.join(oracle.HERE, "mode_programs")
HELPERS = {"account", "tachyon_statuses"}
NAMES = sorted({os.path.basename(path)[:-3] for path in glob.glob(os.path.join(PROGRAMS, "*.py"))} - HELPERS)

MODES = ["wall", "cpu", "gil", "exception"]
RATE = 1000
EDGE_S = 0.01  # between our clock and the first and last look
# What a sample that a mode kept is not in, and how many looks may see it there: a thread changes its state on the way,
# and may stand ready there.
NOT_IN = {"cpu": {"nap"}, "gil": {"nap", "leave_lock"}, "exception": {"nap", "leave_lock", "compute", "collect"}}
WRONG_MOST = 0.02
TOLD = {"cpu": "cpu_percent", "gil": "gil_percent", "exception": "exception_percent", "gil wait": "gil_wait_percent"}


@functools.lru_cache(maxsize=None)
def beside():
    """Puts what looks at a program on another processor, ahead of all others where that is allowed: on a busy machine few
    looks take place otherwise."""
    ahead = ("chrt", "--fifo", "1")
    allowed = shutil.which("chrt") and recording.run(*ahead, "true").code == 0
    return (*oracle.on_processor(-1), *(ahead if allowed else ()))


# ---- what is true ----

@dataclasses.dataclass
class Truth:
    """Of a thread in the time of a recording: the least and the most that each share can have been."""
    shares: dict
    ready: float  # the share of the time in which it had no processor and wanted one
    length_s: float
    edge: float  # the share of it that is not known exactly


def rows_of(path):
    """The last line may be half written."""
    with open(path, encoding="ascii") as file:
        lines = file.read().rpartition("\n")[0].splitlines()
    return [tuple(map(int, line.split())) for line in lines]


def at(rows, time_ns):
    """The account at a time, and how long the round lasted in which that is: there it is as the clock is, in proportion."""
    place = min(max(bisect.bisect(rows, (time_ns,)), 1), len(rows) - 1)
    before, after = rows[place - 1], rows[place]
    part = (time_ns - before[0]) / (after[0] - before[0])
    return [a + (b - a) * part for a, b in zip(before, after)], (after[0] - before[0]) / 1e9


def truth_of(rows, begin_ns, end_ns, waited_s):
    """A thread that is ready counts as on a processor, and may have the lock: the kernel tells how long that was."""
    (begin, first_s), (end, last_s) = at(rows, begin_ns), at(rows, end_ns)
    length, used, locked, handling, collecting, wanted, slept = ((b - a) / 1e9 for a, b in zip(begin, end))
    spans = {"wall": (length, length), "cpu": (used + waited_s, used + waited_s), "gil": (locked, locked + waited_s),
             "exception": (handling, handling), "used": (used, used + waited_s), "gc": (collecting, collecting + waited_s),
             "gil wait": (length - used - waited_s - slept, length - used - wanted)}
    return Truth({mode: (least / length, most / length) for mode, (least, most) in spans.items()}, waited_s / length,
                 length, (first_s + last_s + EDGE_S) / length)


# ---- what was recorded ----

@dataclasses.dataclass
class Share:
    """A thread's share of a mode beside the truth."""
    thread: int
    mode: str
    looks: int
    share: float
    least: float
    most: float
    tolerance: float
    wrong: float = 0.0  # looks that were kept, in functions where that can't be
    wrong_most: float = WRONG_MOST

    @property
    def off(self):
        return max(self.least - self.share, self.share - self.most, 0.0)

    @property
    def broken(self):
        return self.off > self.tolerance or self.wrong > self.wrong_most


def tolerance(truth, mode, looks):
    """Of looks that did not take place nothing is known: all may have been the same."""
    least, most = truth.shares[mode]
    middle = min(max((least + most) / 2, 1 / looks), 1 - 1 / looks)
    return oracle.SIGMAS * math.sqrt(middle * (1 - middle) / looks) + truth.edge + unseen(truth, looks)


def unseen(truth, looks):
    return max(0.0, 1 - looks / (RATE * truth.length_s))


def wrong_samples(path, tid, mode, *options):
    """Samples whose leaf is in a function that the mode keeps nothing of."""
    threads = stacks.of_collapsed(recording.collapsed(path, *options))
    counted = next((seen for (_, number), seen in threads.items() if number == tid), {})
    return sum(count for stack, count in counted.items() if stands_in(stack) & NOT_IN.get(mode, set()))


def stands_in(stack):
    """Computing is part of handling: the function of ours that says what it is about."""
    names = [frame[0] for frame in stack]
    return {"handle_it"} if "handle_it" in names else set(names)


class Run:
    """A program of a mode case, running under a Python."""

    def __init__(self, python, name, folder, results, command=()):
        self.python, self.name, self.results = python, name, results
        self.path = os.path.join(folder, f"{name}.py")
        self.target = recording.Target(*oracle.on_processor(0), *(command or python.command), self.path)
        recording.wait_until(self.all_have_begun, "accounts of all threads")

    def account_path(self, tid):
        return f"{self.python.root}{self.path}.{tid}"

    def threads(self):
        return [int(tid) for tid in os.listdir(f"/proc/{self.target.pid}/task")]

    def all_have_begun(self):
        return all(os.path.exists(self.account_path(tid)) and len(rows_of(self.account_path(tid))) > 1
                   for tid in self.threads())

    def waited_ns(self):
        """How long each has been ready to run and did not; 0 where the kernel does not tell."""
        waited = {}
        for tid in self.threads():
            waited[tid] = 0
            with contextlib.suppress(OSError, IndexError), open(f"/proc/{self.target.pid}/task/{tid}/schedstat",
                                                                encoding="ascii") as file:
                waited[tid] = int(file.read().split()[1])
        return waited

    def watch(self, look):
        """What look() brought, and the truth of it: {tid: Truth}."""
        before, begin_ns = self.waited_ns(), time.monotonic_ns()
        brought = look()
        end_ns, after = time.monotonic_ns(), self.waited_ns()
        rounds = {tid: len(rows_of(self.account_path(tid))) for tid in after}
        recording.wait_until(lambda: all(len(rows_of(self.account_path(tid))) > rounds[tid] for tid in after),
                             "the round in which the recording ended")
        return brought, {tid: truth_of(rows_of(self.account_path(tid)), begin_ns, end_ns,
                                       (after[tid] - before[tid]) / 1e9) for tid in after}

    def record(self, mode, seconds):
        path = os.path.join(self.results, f"{self.python.name}-{self.name}-{mode}.pyreel")
        prefix = (*beside(), *(oracle.environment.as_root() if self.python.root else ()))
        _, truths = self.watch(lambda: recording.attach(self.target, path, "-r", RATE, "-m", mode, seconds=seconds,
                                                        prefix=prefix))
        return Told(path, truths)

    def close(self):
        self.target.close()


def share_of(tid, truth, mode, kept, looks):
    looks = max(looks, 1)
    return Share(tid, mode, looks, kept / looks, *truth.shares[mode], tolerance(truth, mode, looks),
                 wrong_most=WRONG_MOST + truth.ready + truth.edge)


class Told:
    """A recording beside the truth of its threads."""

    def __init__(self, path, truths):
        self.path, self.truths = path, truths
        figures = recording.whole(path)
        self.threads, self.mode = figures["threads"], figures["mode"]

    def share(self, row, mode, kept, looks):
        return share_of(row["tid"], self.truths[row["tid"]], mode, kept, looks)

    def kept(self):
        """Of a recording with -m: what was kept of all looks."""
        for row in self.threads:
            looks = row["samples"] + row["left_out"]
            wrong = wrong_samples(self.path, row["tid"], self.mode) / max(looks, 1)
            yield dataclasses.replace(self.share(row, self.mode, row["samples"], looks), wrong=wrong)

    def kept_later(self):
        """Of a recording of all: what the converter keeps for each mode."""
        for mode in MODES[1:]:
            threads = stacks.of_collapsed(recording.collapsed(self.path, "--mode", mode))
            kept = {tid: sum(counted.values()) for (_, tid), counted in threads.items()}
            for row in self.threads:
                wrong = wrong_samples(self.path, row["tid"], mode, "--mode", mode) / row["samples"]
                share = self.share(row, mode, kept.get(row["tid"], 0), row["samples"])
                yield dataclasses.replace(share, mode=f"later {mode}", wrong=wrong)

    def told(self, python):
        """Of the same: what pyreel-info and <GC> tell. Who waits for the lock can be seen since 3.15, see record/python/layout.c."""
        collecting = self.collecting()
        for row in self.threads:
            samples = row["samples"]
            kept = {mode: row[name] / 100 * samples for mode, name in TOLD.items()} | {"gc": collecting[row["tid"]]}
            for mode in kept.keys() - (set() if python.minor >= 15 else {"gil wait"}):
                yield dataclasses.replace(self.share(row, mode, kept[mode], samples), mode=f"told {mode}")

    def collecting(self):
        """Samples with garbage collection in their stack."""
        threads = stacks.of_collapsed(recording.collapsed(self.path))
        return collections.Counter({tid: stacks.samples(counted, "<GC>") for (_, tid), counted in threads.items()})

    def used(self):
        """The same of the processor time; a look's share of it is known as exactly as the look is on time."""
        for row in self.threads:
            truth = self.truths[row["tid"]]
            yield dataclasses.replace(self.share(row, "used", row["cpu_s"], truth.length_s), mode="told cpu_s",
                                      looks=row["samples"],
                                      tolerance=truth.edge + unseen(truth, row["samples"]))

    def shares(self, python):
        yield from self.kept()
        if self.mode == "wall":
            for part in (self.kept_later(), self.told(python), self.used()):
                yield from part


@contextlib.contextmanager
def hog():
    """Wants the processor of the programs for itself."""
    process = subprocess.Popen([*oracle.on_processor(0), sys.executable, "-c", "while True: pass"])
    try:
        yield
    finally:
        process.kill()
        process.wait()


def running(*where):
    return contextlib.closing(Run(*where))
