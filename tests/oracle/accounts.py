# SPDX-License-Identifier: MIT
"""CPU time in recordings beside what the programs of account_programs/ say of themselves: the shares of functions in the
default outputs, and what the kernel counted for the processes. See run-accounts."""

import collections
import contextlib
import dataclasses
import json
import math
import os
import re
import subprocess
import sys

import oracle
import cgroups
import recording

PROGRAMS = os.path.join(oracle.HERE, "account_programs")
LIBRARY = os.path.join(oracle.environment.BUILD, "tests", "libcallbacks.so")

SHARE_MOST = 3.0  # points that a share may be off, beyond noise ...
QUOTA_SHARE_MOST = 5.0  # ... and that of a program in a quota
SIGMAS = 3  # of noise
LEAST_HZ = 50  # looks for each second of CPU time, at least: with fewer, noise is no excuse
TOTAL_PART, TOTAL_S = 0.01, 0.01  # that a total may be off, whichever is more
ELSEWHERE = ""  # in the place of a function's name


@dataclasses.dataclass(frozen=True)
class Case:
    name: str
    program: str
    arguments: tuple = ()
    cpu_s: float = 4.0  # that the program is to use, more or less
    options: tuple = ()  # of the recorder
    quota: float = 0.0  # the part of a processor that the program may have; 0: no quota
    busy: bool = False  # all processors have other work, too

    def __str__(self):
        return self.name

    @property
    def share_most(self):
        return QUOTA_SHARE_MOST if self.quota else SHARE_MOST


OF_C = "LIBRARY"  # of an argument: where the library of C is
CASES = [
    Case("requests-3-ms", "request_threads", ("3",)),
    Case("requests-30-ms", "request_threads", ("30",)),
    Case("pool", "pool"),
    Case("callbacks", "callbacks_of_c", (OF_C, "1"), cpu_s=7),
    Case("states", "callbacks_of_c", (OF_C, "3"), cpu_s=7),
    Case("threads-of-c", "threads_of_c", (OF_C,)),
    Case("sleepers", "sleepers"),
    Case("quota-20", "throttled", ("15",), cpu_s=1.6, quota=0.2),
    Case("quota-50", "throttled", ("37.5",), cpu_s=3, quota=0.5),
    Case("busy", "two_parts", cpu_s=3, busy=True),
    Case("busy-requests", "request_threads", ("3",), cpu_s=3, busy=True),
    Case("busy-sleepers", "sleepers", cpu_s=3, busy=True),
    Case("fork-of-c", "fork_of_c", options=("-f",)),
    Case("forked", "short_processes", ("forked",), options=("-f",)),
    Case("started", "short_processes", ("started",), options=("-f",)),
    Case("beside-children", "beside_children", cpu_s=3, options=("-f",)),
    Case("no-first-thread", "no_first_thread"),
    Case("deep-moments", "deep_moments"),
]


# ---- one recording ----

@dataclasses.dataclass
class Account:
    """What a program says of itself."""
    functions: collections.Counter = dataclasses.field(default_factory=collections.Counter)  # name -> seconds
    processes: dict = dataclasses.field(default_factory=dict)  # pid -> seconds

    @property
    def cpu_s(self):
        return sum(self.processes.values())


def account_of(text):
    """Of the line that each process writes. What its parent says of a process is newer, and has its end in it."""
    account = Account()
    for line in re.findall(r"^\{.*\}$", text, re.M):
        told = json.loads(line)
        account.functions.update(told["functions"])
        account.processes.update({int(pid): cpu_s for pid, cpu_s in told["processes"].items()})
    assert account.processes, text
    return account


@dataclasses.dataclass
class Measured:
    """A recording beside the account."""
    account: Account
    seconds: collections.Counter  # function of the account, or ELSEWHERE -> CPU time while it was the innermost one
    looks: float  # that its shares rest on
    info: dict
    report: dict

    @property
    def cpu_s(self):
        return sum(self.seconds.values())


def by_function(text, functions):
    """Of collapsed stacks. A thread may have the name, too, that the account has."""
    found = collections.Counter()
    for line in text.splitlines():
        path, _, number = line.rpartition(" ")
        names = [frame.partition(" (")[0] for frame in path.split(";")]
        found[next((name for name in reversed(names) if name in functions), ELSEWHERE)] += int(number)
    return found


def collapsed(path, *options):
    return recording.succeed(oracle.environment.CONVERTERS["collapsed"], "--functions", *options, path).text


def looks_at(path, account, info):
    """How many looks saw the program use CPU time: of those that may have, no more than fell into that time."""
    may = sum(by_function(collapsed(path, "--weight", "samples", "--mode", "cpu"), ()).values())
    return min(may, (info["reached_hz"] or 0) * account.cpu_s)


def read(path, account):
    spent = by_function(collapsed(path, "--weight", "cpu"), account.functions)
    info, report = (json.loads(recording.succeed(oracle.environment.CONVERTERS[name], "--json", path).text)
                    for name in ("info", "report"))  # as they are: what is wrong in them is shown, see totals()
    return Measured(account, collections.Counter({name: us / 1e6 for name, us in spent.items()}),
                    looks_at(path, account, info), info, report)


@contextlib.contextmanager
def all_processors_busy():
    spinners = [subprocess.Popen([sys.executable, "-c", oracle.SPIN]) for _ in os.sched_getaffinity(0)]
    try:
        yield
    finally:
        for spinner in spinners:
            spinner.kill()
            spinner.wait()


def programs_folder(roots):
    """The folder with the programs and the library."""
    return oracle.programs_folder(roots, PROGRAMS, LIBRARY)


def measure(case, python, folder, path, busy=False, options=()):
    """Records the program of a case. `busy`, `options`: in addition to what the case has."""
    arguments = [os.path.join(folder, os.path.basename(LIBRARY)) if argument == OF_C else argument
                 for argument in case.arguments]
    command = [*python.command, os.path.join(folder, f"{case.program}.py"), case.cpu_s, *arguments]
    with contextlib.ExitStack() as around:
        if case.quota:
            command = [*cgroups.joining(around.enter_context(cgroups.limited(case.quota))), *command]
        if case.busy or busy:
            around.enter_context(all_processors_busy())
        ended = recording.run_record("--force", "-o", path, *case.options, *options, "--", *command, prefix=python.prefix)
    assert ended.code == 0, ended
    return read(path, account_of(ended.text))


# ---- what is right ----

@dataclasses.dataclass
class Row:
    """A number of a recording beside the account's. `got` is None where the recording does not tell."""
    what: str
    want: float
    got: float
    limit: float  # by how much it may be off
    unit: str

    @property
    def off(self):
        return math.inf if self.got is None else abs(self.got - self.want)

    @property
    def right(self):
        return self.off <= self.limit

    def __str__(self):
        got = "not told" if self.got is None else f"{self.got:.3f}"
        return f"{self.what}: {got} for {self.want:.3f} {self.unit}, may be off by {self.limit:.3f}"


def noise(share, looks):
    """Standard deviation of a share of so many looks, in points."""
    return math.sqrt(max(share * (1 - share), 1 / looks) / looks) * 100


def shares(case, several):
    """The share of each function in the CPU time of all processes, and of what is in none of them, of one or several recordings
    of a case."""
    want, got = collections.Counter(), collections.Counter()
    for measured in several:
        want.update(measured.account.functions)
        got.update(measured.seconds)
    cpu_s, shown_s = sum(measured.account.cpu_s for measured in several), sum(got.values())
    looks = max(sum(measured.looks for measured in several), LEAST_HZ * cpu_s)
    want[ELSEWHERE] = cpu_s - sum(want.values())
    for name, seconds in want.items():
        yield Row(name or "elsewhere", 100 * seconds / cpu_s, 100 * got[name] / shown_s if shown_s else None,
                  case.share_most + SIGMAS * noise(seconds / cpu_s, looks), "%")


def total(what, want, got):
    return Row(what, want, got, max(TOTAL_PART * want, TOTAL_S), "s")


def parts(what, told):
    """What was placed and what is named as missing make the whole."""
    named = [told.get(part) for part in ("cpu_placed_s", "cpu_native_s", "cpu_not_sampled_s")]
    return total(what, told.get("cpu_s") or 0, None if None in named else sum(named))


def totals(measured):
    """What a recording tells as a whole and of each process, beside the kernel's count."""
    account, told = measured.account, measured.info
    yield total("cpu_s", account.cpu_s, told.get("cpu_s"))
    yield total("collapsed", account.cpu_s, measured.cpu_s)
    yield total("report", account.cpu_s, measured.report["totals"]["cpu_s"])
    yield total("report's head", account.cpu_s, measured.report["recording"].get("cpu_s"))
    yield parts("parts of cpu_s", told)
    processes = {row["pid"]: row for row in told["processes"]}
    for pid, cpu_s in account.processes.items():
        yield total(f"cpu_s of process {pid}", cpu_s, processes.get(pid, {}).get("cpu_s"))
        yield parts(f"parts of process {pid}", processes.get(pid, {}))
