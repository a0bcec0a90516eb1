# SPDX-License-Identifier: MIT
"""What the benchmarks share: the Pythons and targets they run, Tachyon beside our programs, and how figures are summed up.

A benchmark runs ours and the peer in turn, in one run, on the same running target, and prints ratios. A Python 3.15 in a
root folder needs /proc and /tmp there; the benchmark then runs itself again in a mount namespace of its own, which takes
these mounts with it when it ends."""

import bisect
import contextlib
import json
import os
import random
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.join(os.path.dirname(HERE), "e2e"))

try:
    import environment
except ImportError:  # it needs pytest, which may be there for the system's Python only
    if sys.executable == "/usr/bin/python3" or not os.path.exists("/usr/bin/python3"):
        sys.exit(f"{os.path.basename(sys.argv[0])}: needs pytest, as the helpers of the other tests do")
    os.execv("/usr/bin/python3", ["/usr/bin/python3", *sys.argv])

TARGETS = os.path.join(HERE, "targets")
BENCH_UNWIND = os.path.join(environment.BUILD, "tests", "bench", "bench-unwind")
NAPS = os.path.join(environment.BUILD, "tests", "bench", "naps")
RECORD = environment.RECORD
INSIDE = "PYREEL_BENCH_INSIDE"
PATIENCE = 60  # seconds: only a program that hangs takes so long

# Recorders are ended by ^C. A shell that runs us in the background has us, and all that we start, ignore it.
signal.signal(signal.SIGINT, signal.default_int_handler)


def die(reason):
    sys.exit(f"{os.path.basename(sys.argv[0])}: {reason}")


# ---- where it runs ----

def find_python(version):
    for python in environment.pythons():
        if python.version == version and "debug" not in python.name:
            return python
    return die(f"no Python {version} here: tests/tools/make-pythons makes one")


def enter(python):
    """Makes sure that programs of this Python can see all processes and /tmp. May start the benchmark anew."""
    for program in (RECORD, BENCH_UNWIND, NAPS):
        if not os.access(program, os.X_OK):
            die(f"not built: {program}; PYREEL_BUILD names the build folder")
    if not python.root:
        return
    if os.environ.get(INSIDE) != python.root:
        known = {"PYREEL_BUILD": environment.BUILD, "PYREEL_TEST_CACHE": environment.CACHE, INSIDE: python.root}
        settings = [f"{name}={value}" for name, value in known.items()]
        command = [*environment.as_root(), "env", *settings, "unshare", "--mount", sys.executable, *sys.argv]
        sys.stdout.flush()
        os.execvp(command[0], command)
    for folder in ("/proc", "/tmp"):
        subprocess.run(["mount", "--bind", folder, python.root + folder], check=True)


@contextlib.contextmanager
def workshop(where=None):
    """A folder with the programs to run, at the same place for all Pythons; results may lie there, too."""
    folder = tempfile.mkdtemp(prefix="pyreel-bench-", dir=where or "/tmp")
    os.chmod(folder, 0o755)
    try:
        shutil.copytree(TARGETS, folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copy(os.path.join(HERE, "tachyon_driver.py"), folder)
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


# ---- programs at work ----

class Target:
    """A program that runs, and has said "ready PID". What it says later is kept in `lines`."""

    def __init__(self, python, folder, name, *arguments):
        command = [*python.command, os.path.join(folder, f"{name}.py"), *map(str, arguments)]
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
        said = self.process.stdout.readline().split()
        if said[:1] != ["ready"]:
            die(f"{' '.join(command)} did not start")
        self.pid = int(said[1])
        self.lines = []
        self.reader = threading.Thread(target=self.listen, daemon=True)
        self.reader.start()

    def listen(self):
        for line in self.process.stdout:
            self.lines.append(line)

    def finish(self):
        """Asks it to end. Returns all it said."""
        self.process.terminate()
        self.process.wait()
        self.reader.join()
        return self.lines

    def close(self):
        self.process.kill()
        self.process.wait()
        self.reader.join()
        self.process.stdout.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class Tachyon:
    """The peer: an interpreter with _remote_debugging that waits for what to do."""

    def __init__(self, python, folder):
        self.process = subprocess.Popen([*python.command, os.path.join(folder, "tachyon_driver.py")],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(self, **wish):
        """The answer has "error" in it when it could not be done."""
        self.process.stdin.write(json.dumps(wish) + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        return json.loads(answer) if answer else die("Tachyon's interpreter ended")

    def close(self):
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def peer(python, folder):
    """Tachyon; None where it can't look at the target, in a with statement, too."""
    return Tachyon(python, folder) if python.version == "3.15" else contextlib.nullcontext()


def bench_unwind(pid, seconds, threads, *options):
    """The figures of bench-unwind. They have "error" in them when it could not be done."""
    command = [BENCH_UNWIND, "--pid", str(pid), "--seconds", str(seconds), "--threads", threads, "--json", *options]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE + seconds)
    return json.loads(done.stdout) if done.returncode == 0 else {"error": done.stderr.split("\n", maxsplit=1)[0]}


def record_command(pid, rate, path, *options):
    return [RECORD, "-q", "-p", str(pid), "-r", rate, "-o", path, *options]


def tachyon_command(python, pid, rate, path, *options):
    return [*python.command, "-m", "profiling.sampling", "attach", "-a", "-r", rate, "--binary", "-o", path, *options,
            str(pid)]


def info(path):
    command = [environment.CONVERTERS["info"], "--json", path]
    return json.loads(subprocess.run(command, capture_output=True, check=True).stdout)


# ---- the program's speed ----

class Progress:
    """What the program noted: at which time it had used how much processor time, and done how many rounds."""

    def __init__(self, lines):
        self.rows = [tuple(map(int, line.split())) for line in lines]

    def speed(self, times):
        """Rounds by the clock's and by the processor's nanosecond, from the first to the last note between two times."""
        first = bisect.bisect_left(self.rows, (times[0],))
        last = bisect.bisect_right(self.rows, (times[1],)) - 1
        if last - first < 3:
            return None
        passed, used, done = (after - before for before, after in zip(self.rows[first], self.rows[last]))
        return done / passed, done / used


def window(seconds):
    began = time.monotonic_ns()
    time.sleep(seconds)
    return began, time.monotonic_ns()


# ---- processor time ----

def processor_ns(pid):
    """What all threads of a process have used so far."""
    total = 0
    for thread in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{thread}/schedstat", encoding="ascii") as file:
            total += int(file.read().split()[0])
    return total


def ended(pid):
    """Whether a process of ours has ended; it stays there to be waited for."""
    return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


class Spent:
    """A program that was run to its end: what it said and used."""

    def __init__(self, command):
        self.began_ns = time.monotonic_ns()
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                        stderr=subprocess.STDOUT, text=True)
        self.pid = self.process.pid
        self.output, self.code, self.usage = "", None, None

    def wait(self):
        """Like Popen.wait(), which does not tell the resource usage."""
        self.output = self.process.stdout.read()
        self.process.stdout.close()
        _, status, self.usage = os.wait4(self.pid, 0)
        self.code = self.process.returncode = os.waitstatus_to_exitcode(status)
        return self

    @property
    def processor_s(self):
        return self.usage.ru_utime + self.usage.ru_stime


# ---- figures ----

def median(values):
    return statistics.median(values) if values else None


def quotient(a, b):
    return a / b if a is not None and b else None


def in_turn(number, *parts):
    """The parts of a round: forwards in one round, backwards in the next, so that what grows or warms up favours none."""
    return parts if number % 2 == 0 else tuple(reversed(parts))


def median_interval(values, share=0.95, draws=2000):
    """Where the median lies with this confidence, by drawing from the values again and again."""
    dice = random.Random(1)
    medians = sorted(statistics.median(dice.choices(values, k=len(values))) for _ in range(draws))
    outside = int(draws * (1 - share) / 2)
    return medians[outside], medians[-1 - outside]


def shown(value, decimals=1, unit=""):
    return "-" if value is None else f"{value:,.{decimals}f}{unit}"


def print_row(widths, cells):
    """Words to the left, figures to the right."""
    line = "  ".join(f"{cell:<{width}}" if width > 0 else f"{cell:>{-width}}" for width, cell in zip(widths, cells))
    print(line.rstrip(), flush=True)


def print_json(python, **figures):
    print(json.dumps({"python": python and python.full_version, **figures}, indent=2))


def add_rounds(parser, rounds):
    parser.add_argument("--rounds", type=int, default=rounds, metavar="N", help=f"times that all is measured ({rounds})")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON, at the end")


def add_seconds(parser, seconds):
    """Tachyon takes whole seconds only, where that is what is given."""
    parser.add_argument("--seconds", type=type(seconds), default=seconds, metavar="N",
                        help=f"length of one measurement ({seconds})")


def add_python(parser):
    parser.add_argument("--python", default="3.15", metavar="VERSION", help="that the target runs under (3.15)")


def add_targets(parser, names, default):
    parser.add_argument("--target", action="append", choices=names, metavar="NAME",
                        help=f"of {', '.join(names)} ({' and '.join(default)}); may be given again")
