# SPDX-License-Identifier: MIT
"""The profilers that `compare` compares: how each is found, started and ended, and what its file tells.

All are started with options that make them as alike as they can be: all threads, idle ones too, the same rate, a file.
Each runs until ^C. What a file tells is told in one form, see Seen; a stack is the names of its Python functions, root first."""

import collections
import dataclasses
import json
import os
import re
import shutil
import subprocess

import bench

FOLDER = "/opt/peers/usr/bin"  # in a root folder of tests/tools/make-pythons, by tests/tools/make-peers
PYSPY_ROW = re.compile(r'process (\d+):')
COLOURS = re.compile(r"\x1b\[[0-9;]*m")
PERF_FRAME = re.compile(r"\s+[0-9a-f]+ py::(.*?):[^:]*(?:\+0x[0-9a-f]+)? \(")
MARKS = {"<GC>", "<native>"}  # frames that are no functions


@dataclasses.dataclass
class Seen:
    """What a file tells. None is what the profiler does not tell."""
    counts: collections.Counter = dataclasses.field(default_factory=collections.Counter)  # stack -> samples
    times: collections.Counter = None  # stack -> for how much time the samples stand; None: all for the same
    ticks: int = None  # looks at the program, each of all its threads
    samples: int = 0  # stacks of threads
    lost: int = 0  # stacks that were looked for and not found or refused
    processes: int = 1

    @property
    def weights(self):
        return self.counts if self.times is None else self.times


def number(text, pattern, default=None):
    """What a profiler said of itself."""
    found = re.search(pattern, COLOURS.sub("", text))
    return int(found[1].replace(",", "")) if found else default


def run(command, **more):
    """Its output; a fault that ends one measurement when it fails."""
    done = subprocess.run(command, capture_output=True, text=True, timeout=bench.PATIENCE, **more)
    if done.returncode:
        raise Fault(f"{os.path.basename(command[0])}: {(done.stderr or done.stdout).strip()[-200:]}")
    return done.stdout


class Fault(Exception):
    """A profiler did not do it, and why."""


def target_of(link):
    try:
        return os.readlink(link)
    except OSError:
        return ""


def names_of(text, name_of):
    """Of a collapsed line: its stack and its number."""
    path, _, count = text.rpartition(" ")
    frames = (name_of(frame) for frame in path.split(";"))
    return tuple(name for name in frames if name and name not in MARKS), int(count)


class Profiler:
    """One of them, with its options. `command` starts it, `python` is what it watches."""
    pythons = ("3.11", "3.12", "3.13", "3.14", "3.15")  # that it can watch
    tables = ("truth", "cost", "ends", "versions", "convert")  # in which it has rows
    setting = ()  # of the interpreter that it watches
    surroundings = {}  # variables for the same
    ready = None  # what it says when it begins; None: its file is there then
    settle_s = 0.2  # from then to the first measurement
    suffix = "out"

    def __init__(self, command):
        self.command = command

    def begun(self, pid, path, said):
        return self.ready in said if self.ready else os.path.exists(path)

    def attach(self, pid, rate, path):
        raise NotImplementedError

    def launch(self, program, path):
        raise NotImplementedError

    def read(self, path, said):
        raise NotImplementedError


class Pyreel(Profiler):
    name, suffix = "pyreel", "pyreel"

    def version(self):
        return run([bench.RECORD, "--version"]).split()[1]

    def attach(self, pid, rate, path):
        return [bench.RECORD, "-p", str(pid), "-r", str(rate), "-o", path]

    def launch(self, program, path):
        return [bench.RECORD, "-q", "-f", "-o", path, "--", *program]

    def collapsed(self, path, *options):
        def name_of(frame):
            return frame.partition(" (")[0]
        text = run([bench.environment.CONVERTERS["collapsed"], "-q", "--roots", "none", *options, path])
        found = collections.Counter()
        for line in text.splitlines():
            stack, count = names_of(line, name_of)
            found[stack] += count
        return found

    def read(self, path, said):
        told = bench.info(path)
        processes = sum(1 for process in told["processes"] if process["samples"])
        return Seen(self.collapsed(path, "--weight", "samples"), self.collapsed(path, "--weight", "wall"), told["ticks"], told["samples"],
                    told["failed"], processes)


class Tachyon(Profiler):
    name, suffix, pythons, more = "Tachyon", "bin", ("3.15",), ()

    def version(self):
        return run([*self.command, "--version"]).split()[1]

    def sampling(self, *arguments):
        return [*self.command, "-m", "profiling.sampling", *arguments]

    def attach(self, pid, rate, path):
        return self.sampling("attach", "-a", *self.more, "-r", str(rate), "-d", "600", "--binary", "-o", path, str(pid))

    def launch(self, program, path):
        own = program[len(self.command):]  # it starts the program by its own interpreter
        return self.sampling("run", "-a", "--subprocesses", *self.more, "--binary", "-o", path, *own)

    def read(self, path, said):
        seen = Seen(ticks=number(said, r"Captured ([\d,]+) samples"))
        stem = path.rpartition(".")[0]
        folder = os.path.dirname(path)
        seen.processes += sum(name.startswith(os.path.basename(stem) + "_") for name in os.listdir(folder))
        run(self.sampling("replay", "--collapsed", "-o", f"{path}.txt", path))
        with open(f"{path}.txt", encoding="utf-8") as file:
            for line in file:
                stack, count = names_of(line, lambda frame: frame if frame in MARKS or frame.startswith("tid:")
                                        else frame.rsplit(":", 2)[1])
                seen.counts[stack[1:]] += count
        seen.samples = sum(seen.counts.values())
        rate = re.search(r"Error rate: ([\d.]+)", said)
        seen.lost = round((seen.ticks or 0) * float(rate[1]) / 100) if rate else 0
        return seen


class TachyonBlocking(Tachyon):
    name, more, tables = "Tachyon --blocking", ("--blocking",), ("truth", "cost")


class PySpy(Profiler):
    """Its manual and sources: `raw` is a line for each stack, at the end; "process PID" is the root with --subprocesses."""
    name, suffix, ready, more = "py-spy", "txt", "Sampling process", ()
    pythons = ("3.11", "3.12", "3.13", "3.14")

    def version(self):
        return run([*self.command, "--version"]).split()[1]

    def attach(self, pid, rate, path):
        return [*self.command, "record", *self.more, "-f", "raw", "-i", "-r", str(rate), "-o", path, "-p", str(pid)]

    def launch(self, program, path):
        return [*self.command, "record", *self.more, "-f", "raw", "-s", "-o", path, "--", *program]

    def read(self, path, said):
        seen, processes = Seen(), set()
        with open(path, encoding="utf-8") as file:
            for line in file:
                processes.update(PYSPY_ROW.findall(line))
                stack, count = names_of(line, lambda frame: "" if PYSPY_ROW.match(frame) else frame.partition(" (")[0])
                seen.counts[stack] += count
        seen.samples = sum(seen.counts.values())
        seen.ticks = number(said, r"Samples: (\d+)")
        seen.lost = number(said, r"Errors: (\d+)", 0)
        seen.processes = max(1, len(processes))
        return seen


class PySpyNonblocking(PySpy):
    name, more, tables = "py-spy --nonblocking", ("--nonblocking",), ("truth", "cost")


class Austin(Profiler):
    """Its text format, one line a sample: P1;T0:1;FILE:FUNCTION:LINE;... MICROSECONDS."""
    name, suffix = "austin", "txt"
    pythons = ("3.11", "3.12", "3.13")

    def version(self):
        return run([*self.command, "--version"]).split()[1]

    def attach(self, pid, rate, path):
        return [*self.command, "-i", str(1000000 // int(rate)), "-o", path, "-p", str(pid)]

    def launch(self, program, path):
        return [*self.command, "-C", "-o", path, *program]

    def read(self, path, said):
        seen, processes, per_thread = Seen(times=collections.Counter()), set(), collections.Counter()
        with open(path, encoding="utf-8", errors="replace") as file:
            for line in filter(lambda line: line.startswith("P") and line.endswith("\n"), file):
                stack, microseconds = names_of(line, lambda frame: frame.rsplit(":", 2)[-2] if frame.count(":") > 1 else "")
                process, thread = line.split(";", 2)[:2]
                processes.add(process)
                per_thread[thread.split()[0]] += 1
                seen.counts[stack] += 1
                seen.times[stack] += microseconds
        seen.samples = sum(seen.counts.values())
        seen.ticks = max(per_thread.values(), default=0)
        seen.lost = number(said, r"Error rate : (\d+)/", 0)
        seen.processes = max(1, len(processes))
        return seen


class AustinBinary(Austin):
    """Its compact format, for what that costs: stacks are counted as austin counts them."""
    name, tables = "austin --binary", ("cost",)

    def attach(self, pid, rate, path):
        return [*self.command, "-b", *super().attach(pid, rate, path)[len(self.command):]]

    def read(self, path, said):
        return Seen(counts=None, samples=number(said, r"Error rate : \d+/(\d+)", 0), lost=number(said, r"Error rate : (\d+)/", 0))


class Perf(Profiler):
    """Sees Python's functions in programs that were started with -X perf; it looks at threads that run, and at no others."""
    name, suffix, setting, surroundings = "perf", "data", ("-X", "perf"), {"PYTHONPERFSUPPORT": "1"}
    pythons = ("3.12", "3.13", "3.14", "3.15")
    settle_s = 1.0  # it goes through all processes before it samples

    def version(self):
        return run([*self.command, "version"]).split()[2]

    def begun(self, pid, path, said):
        """Its file is there long before it samples."""
        folder = f"/proc/{pid}/fd"
        return any("perf_event" in target_of(os.path.join(folder, name)) for name in os.listdir(folder))

    def attach(self, pid, rate, path):
        return [*self.command, "record", "-F", str(rate), "-g", "-o", path, "-p", str(pid)]

    def launch(self, program, path):
        return [*self.command, "record", "-F", "1000", "-g", "-o", path, "--", *program]

    def read(self, path, said):
        seen, processes = Seen(), set()
        told = run([*self.command, "script", "-i", path, "-F", "pid,ip,sym,dso"])
        for block in told.split("\n\n"):
            stack = tuple(reversed(PERF_FRAME.findall(block)))
            if stack:
                seen.counts[stack] += 1
                processes.add(block.split()[0])
            elif block.strip():
                seen.lost += 1
        seen.samples = seen.ticks = sum(seen.counts.values())
        seen.processes = max(1, len(processes))
        return seen


class Samply(Profiler):
    """Its file holds addresses; names are found by its viewer, so that stacks are not judged here."""
    name, suffix, ready, setting = "samply", "json", "Recording process", ("-X", "perf")
    surroundings = {"PYTHONPERFSUPPORT": "1"}
    pythons = ("3.12", "3.13", "3.14", "3.15")

    def version(self):
        return run([*self.command, "--version"]).split()[1]

    def attach(self, pid, rate, path):
        return [*self.command, "record", "-s", "-r", str(rate), "-o", path, "-p", str(pid)]

    def launch(self, program, path):
        return [*self.command, "record", "-s", "-o", path, "--", *program]

    def read(self, path, said):
        with open(path, encoding="utf-8") as file:
            threads = json.load(file)["threads"]
        seen = Seen(counts=None)
        seen.samples = sum(thread["samples"]["length"] for thread in threads)
        seen.ticks = max((thread["samples"]["length"] for thread in threads), default=0)
        seen.processes = max(1, len({thread["pid"] for thread in threads if thread["samples"]["length"]}))
        return seen


KINDS = {kind.name: kind for kind in (Pyreel, Tachyon, TachyonBlocking, PySpy, PySpyNonblocking, Austin, AustinBinary, Samply, Perf)}
PROGRAMS = {"py-spy": "py-spy", "py-spy --nonblocking": "py-spy", "austin": "austin", "austin --binary": "austin",
            "samply": "samply", "perf": "perf"}
HOW = {
    "Tachyon": "needs a Python 3.15: tests/tools/make-pythons makes one",
    "py-spy": "pip install py-spy, or cargo install py-spy",
    "austin": "tests/tools/make-peers, or pip install austin-dist",
    "samply": "tests/tools/make-peers, or cargo install samply",
    "perf": "apt-get install linux-perf",
}


def program_of(name, root, given):
    """What starts it: as given, in PATH, or in the root folder of the Pythons."""
    own = given.get(name) or shutil.which(name)
    if own:
        return [own]
    for folder in (FOLDER, "/usr/bin"):
        if root and os.access(root + os.path.join(folder, name), os.X_OK):
            return ["chroot", root, os.path.join(folder, name)]
    return None


def find(root, tachyon, given):
    """(profilers by name, why the others are missing). `tachyon` is the Python that has it, or None."""
    found, missing = {"pyreel": Pyreel([bench.RECORD])}, {}
    for name, kind in KINDS.items():
        if name in found:
            continue
        program = PROGRAMS.get(name)
        command = program_of(program, root, given) if program else tachyon and list(tachyon.command)
        if command:
            found[name] = kind(command)
        else:
            base = program or "Tachyon"
            missing[base] = HOW[base]
    return found, missing
