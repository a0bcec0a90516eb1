# SPDX-License-Identifier: MIT
"""Runs our programs and the programs they record. Every run is watched for sanitizers' reports and for time."""

import contextlib
import ctypes
import glob
import json
import os
import re
import select
import signal
import subprocess
import time

import gecko_check
import gecko_output
from environment import CACHE, CONVERTERS, RECORD, as_root, missing

PATIENCE = 180  # seconds: only a program that hangs takes so long, on a machine that has much else to do, too
ALL_TICKS = ("--disturb", "100")  # so that none is left out
UNPROVED = ("--disturb", "0")  # as all samples are
# In what an unproved look may end, whichever: the frames, their code and whole interpreters may be freed in it.
CHANGES = {"changed while read", "memory unreadable", "code object unreadable", "list of threads unreadable"}
ENVIRONMENT = {**os.environ, "PYREEL_TEST_CACHE": CACHE, "LC_ALL": "C.UTF-8", "TZ": "UTC", "COLUMNS": "80", "PYTHONUNBUFFERED": "1"}
ENVIRONMENT.pop("NO_COLOR", None)  # the user's
SANITIZER = re.compile(rb"Sanitizer|runtime error:")


class Ended:
    """How a program ended and what it said."""

    def __init__(self, command, code, output, errors):
        self.command, self.code, self.output, self.errors = command, code, output, errors
        assert not SANITIZER.search(errors), f"{self}"

    @property
    def text(self):
        return self.output.decode()

    @property
    def messages(self):
        return self.errors.decode()

    def __str__(self):
        return (f"{' '.join(map(str, self.command))}\nexit code {self.code}\n"
                f"{self.output[:2000].decode(errors='replace')}\n{self.errors[-4000:].decode(errors='replace')}")

    __repr__ = __str__  # pytest shows it so


def run(*command, input=None, **more):
    """Runs a command to its end. Standard input is empty unless given."""
    talk = Talk(command, stdin=subprocess.DEVNULL if input is None else subprocess.PIPE, **more)
    try:
        ended = talk.wait(input)
    finally:
        talk.close()
    if command[0] == CONVERTERS["gecko"] and ended.code == 0:
        gecko_output.hold(command, more.get("cwd"))
    return ended


def succeed(*command, **more):
    ended = run(*command, **more)
    assert ended.code == 0, ended
    return ended


# ---- the recorder ----

# Tests that compare counts want a sample for each tick that they asked for, on a slow machine too: they allow it to
# take more from the program than the default. What the default does is for test_exact.py.
PLENTY = ALL_TICKS


def with_plenty(arguments):
    return arguments if "--disturb" in arguments else (*PLENTY, *arguments)


def run_record(*arguments, prefix=(), **more):
    """pyreel-record with these arguments, to its end."""
    return run(*prefix, RECORD, *with_plenty(arguments), **more)


def waited(pid):
    """For how many seconds the threads of a process wanted to run and other programs had the processors, by the kernel's
    count. What a test asks of the time of a program is asked of the time that the program was given."""
    nanoseconds = 0
    for path in glob.glob(f"/proc/{pid}/task/*/schedstat"):
        try:
            with open(path) as file:
                nanoseconds += int(file.read().split()[1])
        except (FileNotFoundError, ProcessLookupError):  # that thread has just ended
            pass
    return nanoseconds / 1e9


def so_far(path):
    """What is in a recording that may not be complete yet; None while there is nothing to read. A recorder writes about once
    a second."""
    if not os.path.exists(path) or os.path.getsize(path) == 0:
        return None
    told = run(CONVERTERS["info"], "--json", path)
    return json.loads(told.text) if told.code == 0 else None


def wait_for_samples(path):
    """Waits until a recording has samples. Its recorder may run anywhere: Recorder.wait_for_samples() knows when it ends."""
    wait_until(lambda: (so_far(path) or {"samples": 0})["samples"] > 0, f"samples in {path}")


def is_past_imports(path):
    """Whether a recording has samples in which Python neither begins nor imports."""
    return any("<frozen importlib" not in line and not re.search(r";<no Python frames> \d+$", line)
               for line in collapsed(path).splitlines())


def attach(target, output, *options, seconds=None, samples=50, until=None, prefix=()):
    """Records a running program; it must work. Ends by itself after so many seconds, however few samples there are then;
    without `seconds`, it is ended when the file has so many samples, or when `until` holds of what info says of it."""
    pid = getattr(target, "pid", target)
    if seconds is not None:
        ended = run_record("-p", pid, "-d", seconds, "-o", output, *options, prefix=prefix)
    else:
        recorder = Recorder("-p", pid, "-o", output, *options, prefix=prefix)
        try:
            if until:
                recorder.wait_for(output, until, "what the test waits for")
            else:
                recorder.wait_for_samples(output, samples)
            recorder.signal(signal.SIGINT)
            ended = recorder.wait()
        finally:
            recorder.close()
    assert ended.code == 0, ended
    return ended


def record_told(path, *arguments, samples=50, function=None, prefix=(), **more):
    """Records a program that works until its standard input ends, which is when the file has so many samples, and the function if
    one is given."""
    recorder = Recorder("-o", path, *arguments, prefix=prefix, **more)
    try:
        recorder.wait_for_samples(path, samples)
        if function:
            recorder.wait_for_functions(path, function)
        return recorder.wait()
    finally:
        recorder.close()


class Talk:
    """A process of ours, and what it says. Its standard input is a pipe, which programs to record share: see tell()."""

    def __init__(self, command, stdin=subprocess.PIPE, **more):
        self.command, self.said, self.complained = list(map(str, command)), b"", b""
        self.process = subprocess.Popen(self.command, bufsize=0, stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                        env=ENVIRONMENT, **more)
        self.ahead = {self.process.stdout: bytearray(), self.process.stderr: bytearray()}  # what was read and is no line yet
        self.pid = self.process.pid

    @property
    def running(self):
        return self.process.poll() is None

    def read_line(self):
        line = self._read_line(self.process.stdout)
        self.said += line
        return line.decode()

    def read_message(self):
        line = self._read_line(self.process.stderr)
        self.complained += line
        return line.decode()

    def _read_line(self, file):
        """The next line, or what there is before the end. What comes behind the line is kept."""
        ahead = self.ahead[file]
        while b"\n" not in ahead:
            assert select.select([file], [], [], PATIENCE)[0], f"{self.command} says nothing: {self.said} {self.complained}"
            piece = file.read(65536)
            if not piece:
                break
            ahead += piece
        line, newline, rest = ahead.partition(b"\n")
        self.ahead[file] = rest
        return bytes(line + newline)

    def wait_for_output(self, words="ready"):
        """Waits until the process, or the command that it records, has printed a line with these words; returns the line."""
        return self._wait_for_line(self.read_line, words)

    def wait_for_message(self, words):
        """Waits for a line on standard error."""
        return self._wait_for_line(self.read_message, words)

    def _wait_for_line(self, read, words):
        while line := read():
            if words in line:
                return line
        end(self.process.pid)  # it may run on, and would hold its standard error open
        raise AssertionError(f"{self.command} does not say {words}: {self.said.decode()} {self.complained.decode()}"
                             f"{self.process.stderr.read().decode()}")

    def tell(self, line=None):
        """Gives the program a line, or the end, of standard input, which it waits for."""
        if line is not None:
            self.process.stdin.write(line)
        elif self.process.stdin:
            self.process.stdin.close()
            self.process.stdin = None

    def signal(self, number):
        send(self.pid, number)

    def wait(self, input=None):
        """How it ended. Standard input has an end by then, too."""
        return self._ended(*self.process.communicate(input, timeout=PATIENCE))

    def _ended(self, output, errors):
        said, complained = self.ahead.values()
        return Ended(self.command, self.process.returncode, self.said + said + output, self.complained + complained + errors)

    def exit_code(self):
        """Its exit code, when it ends. What it says is left, and standard input stays open."""
        return self.process.wait(timeout=PATIENCE)

    def close(self):
        for pid in [self.process.pid, *descendants(self.process.pid)] if self.running else ():
            end(pid)
        for file in (self.process.stdin, self.process.stdout, self.process.stderr):
            if file:
                file.close()
        self.process.wait()


class Recorder(Talk):
    """pyreel-record at work. It is ended with the test that started it, see the fixture start_recorder."""

    def __init__(self, *arguments, prefix=(), program=RECORD, **more):
        super().__init__([*prefix, program, *with_plenty(arguments)], **more)

    def wait_for(self, path, condition, what):
        """Waits until what the file has so far meets a condition; returns it."""
        def meets():
            nonlocal size, found
            over = not self.running  # before the look at the file: nothing comes behind it
            if os.path.exists(path) and os.path.getsize(path) != size:
                size, found = os.path.getsize(path), so_far(path)
                if found and condition(found):
                    return True
            assert not over, f"it ended before {what}: {self.wait()}"
        size, found = 0, None
        wait_until(meets, lambda: f"{what}; so far: {found}; {states_of(self.process.pid)}")
        return found

    def wait_for_samples(self, path, count=50):
        """Of a program that the recorder starts, some of them are of its own code: on a busy machine, all else may be of the
        time in which Python begins."""
        return self.wait_for(path, lambda found: found["samples"] >= count and ("-p" in self.command or is_past_imports(path)),
                             f"{count} samples")

    def wait_for_later_samples(self, path):
        """Waits for samples of what happens from now on: they are in the second block that comes."""
        for _ in range(2):
            self.wait_for_samples(path, so_far(path)["samples"] + 1)

    def wait_for_functions(self, path, *names):
        """Waits until each of these functions is in the file."""
        return self.wait_for(path, lambda _: all(f";{name} (" in ";" + collapsed(path) for name in names), f"samples in {names}")

    def wait_and_watch(self):
        """How it ended, and for how long it had waited for a processor by then; what runs it is not sudo."""
        seconds, give_up = 0, time.monotonic() + PATIENCE
        while time.monotonic() < give_up:
            try:
                return self._ended(*self.process.communicate(timeout=0.05)), seconds
            except subprocess.TimeoutExpired:
                seconds = max(seconds, waited(self.pid))
        raise AssertionError(f"it does not end: {self.command}")


# ---- programs to attach to ----

class Target(Talk):
    """A program that runs, and has said "ready PID"; PID as it sees itself, and as we do where nothing lies between."""

    def __init__(self, *command, **more):
        super().__init__(command, **more)
        try:
            self.pid = int(self.wait_for_output("ready").split()[1])
        except BaseException:  # nobody else knows of it yet
            self.close()
            raise

    def close(self):
        if self.pid != self.process.pid:
            end(self.pid)
        super().close()


def send(pid, number):
    """Sends a signal, also to a process of root's, and does not mind when the process is gone."""
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        pass
    except PermissionError:
        subprocess.run([*(as_root() or ()), "kill", f"-{int(number)}", str(pid)], capture_output=True)


def end(pid):
    send(pid, signal.SIGKILL)


def descendants(pid):
    found = []
    for path in glob.glob(f"/proc/{pid}/task/*/children"):
        try:
            with open(path) as file:
                children = [int(child) for child in file.read().split()]
        except (FileNotFoundError, ProcessLookupError):
            continue
        for child in children:
            found += [child, *descendants(child)]
    return found


def process_state(pid):
    """Its letter in /proc: R, S, T, Z, ...; empty when it is gone."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return ""


def parent_of(pid):
    with open(f"/proc/{pid}/stat") as file:
        return int(file.read().rpartition(")")[2].split()[1])


def states_of(pid):
    """What the threads of a process and its descendants do, for the message of a test that waited in vain."""
    said = []
    for process in (pid, *descendants(pid)):
        for status in glob.glob(f"/proc/{process}/task/*/status"):
            with contextlib.suppress(OSError), open(status) as file:
                fields = dict(line.split(":\t", 1) for line in file.read().splitlines() if ":\t" in line)
                said.append(f"{process}/{fields['Pid']} {fields['Name']} {fields['State']}")
    return "; ".join(said)


def wait_until(condition, what, seconds=PATIENCE):
    """`what`: a text for who waited in vain, or a function that returns it. Not only the clock decides, for a machine may have
    stood still meanwhile: a quarter of the time is spent with waiting."""
    give_up, naps = time.monotonic() + seconds, 0
    while not condition():
        naps += 1
        assert time.monotonic() < give_up or naps < 25 * seconds, f"waited in vain: {what() if callable(what) else what}"
        time.sleep(0.01)


def trace(request, pid):
    """Does as a debugger: "seize", "interrupt" (the process stands stopped behind a waitpid), "detach"."""
    ptrace = ctypes.CDLL(None, use_errno=True).ptrace
    ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
    number = {"seize": 0x4206, "interrupt": 0x4207, "detach": 17}[request]
    if ptrace(number, pid, None, None) != 0:
        missing(f"ptrace({request}): {os.strerror(ctypes.get_errno())}")


# ---- the converters ----

def convert(name, path, *options, **more):
    return run(CONVERTERS[name], *options, path, **more)


def info(path, *options):
    found = json.loads(succeed(CONVERTERS["info"], "--json", *options, path).text)
    check_account(found)
    return found


def check_account(found):
    """Each command that the suite records to its end: the account of CPU time adds up, of each process and of all."""
    if not found.get("figures", {}).get("command_cpu_ns") or not found["complete"]:
        return
    for row in [found, *found["processes"]]:
        if row["cpu_s"] is not None:
            parts = row["cpu_placed_s"] + row["cpu_native_s"] + row["cpu_not_sampled_s"]
            assert abs(parts - row["cpu_s"]) <= max(0.01 * row["cpu_s"], 0.01), (parts, row["cpu_s"], row["pid"] if "pid" in row else "all")
    options = found["recorder_command"].split(" -- ")[0].split()
    if {"-f", "--subprocesses"} & set(options) and found["threads_option"] == "all" and not found["part"]:
        kernel_s = found["figures"]["command_cpu_ns"] / 1e9
        assert found["cpu_s"] >= kernel_s - max(0.01 * kernel_s, 0.01), (found["cpu_s"], kernel_s)


def cpu_s_of(threads):
    """CPU time of rows of pyreel-info. It is not known of a thread that has no sample, as one that comes at the very end."""
    return sum(thread["cpu_s"] or 0 for thread in threads)


def gaps_of(found):
    """The part of the time that may stand in a wrong place: that of missed ticks, for what has it too much and what lacks it.
    A busy machine misses ticks."""
    return 2 * found["missed"] / (found["missed"] + found["ticks"])


# Tests compare numbers of samples, which every output has, unless they name another weight.
COUNTS = ("--weight", "samples")


def counting(options):
    return options if "--weight" in options else (*COUNTS, *options)


def collapsed(path, *options):
    """With the numbers of processes, threads and tasks, which tests tell apart."""
    return succeed(CONVERTERS["collapsed"], "--ids", *counting(options), path).text


def pids_in(path, function):
    """The processes that were seen in a function."""
    lines = collapsed(path, "--functions", "--roots", "process").splitlines()
    return {int(re.match(r"pid (\d+)", line)[1]) for line in lines if re.search(rf";{function}( |$|;)", line)}


def gecko(path, weight="samples"):
    """The profile of a whole recording, which has the sums of the recording. Files of the standard library have the paths
    that other outputs show."""
    succeed(CONVERTERS["gecko"], "--full-paths", "--weight", weight, path)
    found = gecko_check.compare(gecko_check.load(f"{path}.json.gz"), info(path))
    assert found == [], found
    return f"{path}.json.gz"


def pprof(path):
    succeed(CONVERTERS["pprof"], path)
    return f"{path}.pb.gz"


def is_starved(found):
    """Whether other programs had the processors for a tenth of the time or more, those of the recorder or those that the
    program wanted: then few looks are proved."""
    wanted = sum((thread["cpu_percent"] or 0) / 100 * thread["wall_s"] for thread in found["threads"])
    had = sum(thread["cpu_s"] or 0 for thread in found["threads"])
    return found["missed"] > 0.1 * (found["ticks"] + found["missed"]) or had < 0.9 * wanted


def whole(path):
    """What is in a recording, which must be complete and without damage."""
    figures = info(path, "--verify")
    assert figures["complete"] is True
    assert figures["damage"]["blocks"] == figures["damage"]["bytes"] == 0
    return figures


def read_terminal(terminal, until=None):
    """What comes from a terminal, up to some words or to its end."""
    said = b""
    give_up = time.monotonic() + PATIENCE
    while until is None or until not in said:
        assert select.select([terminal], [], [], max(0, give_up - time.monotonic()))[0], said
        try:
            piece = os.read(terminal, 65536)
        except OSError:  # the other side was closed
            piece = b""
        if not piece:
            return said
        said += piece
    return said
