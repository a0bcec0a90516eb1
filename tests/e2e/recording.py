# SPDX-License-Identifier: MIT
"""Runs our programs and the programs they record. Every run is watched for sanitizers' reports and for time."""

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

PATIENCE = 60  # seconds: only a program that hangs takes so long
ALL_TICKS = ("--disturb", "100")  # so that none is left out
LIVE = ("--disturb", "0")  # nor any looked at from the program's processor
ENVIRONMENT = {**os.environ, "PYREEL_TEST_CACHE": CACHE, "LC_ALL": "C.UTF-8", "TZ": "UTC", "COLUMNS": "80", "PYTHONUNBUFFERED": "1"}
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


def run(*command, input=None, **more):
    """Runs a command to its end. Standard input is empty unless given."""
    how = {"input": input} if input is not None else {"stdin": subprocess.DEVNULL}
    done = subprocess.run(list(map(str, command)), capture_output=True, timeout=PATIENCE, env=ENVIRONMENT, **how, **more)
    if command[0] == CONVERTERS["gecko"] and done.returncode == 0:
        gecko_output.hold(command, more.get("cwd"))
    return Ended(command, done.returncode, done.stdout, done.stderr)


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


def attach(target, output, *options, seconds=0.3, prefix=()):
    """Records a running program for so long; it must work."""
    pid = getattr(target, "pid", target)
    ended = run_record("-p", pid, "-d", seconds, "-o", output, *options, prefix=prefix)
    assert ended.code == 0, ended
    return ended


class Recorder:
    """pyreel-record at work. It is ended with the test that started it, see the fixture start_recorder."""

    def __init__(self, *arguments, prefix=(), **more):
        self.command = [*map(str, prefix), RECORD, *map(str, with_plenty(arguments))]
        self.process = subprocess.Popen(self.command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, env=ENVIRONMENT, **more)

    @property
    def pid(self):
        return self.process.pid

    def wait_for_output(self, line=b"ready"):
        """Waits until the command that is recorded has printed a line with these words; returns the line."""
        for said in self.process.stdout:
            if line in said:
                return said.decode()
        raise AssertionError(f"it ended early: {self.process.stderr.read().decode()}")

    def signal(self, number):
        self.process.send_signal(number)

    def wait(self):
        output, errors = self.process.communicate(timeout=PATIENCE)
        return Ended(self.command, self.process.returncode, output, errors)

    def wait_and_watch(self):
        """How it ended, and for how long it had waited for a processor by then; what runs it is not sudo."""
        seconds, give_up = 0, time.monotonic() + PATIENCE
        while time.monotonic() < give_up:
            try:
                output, errors = self.process.communicate(timeout=0.05)
                return Ended(self.command, self.process.returncode, output, errors), seconds
            except subprocess.TimeoutExpired:
                seconds = max(seconds, waited(self.pid))
        raise AssertionError(f"it does not end: {self.command}")

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate()


# ---- programs to attach to ----

class Target:
    """A program that runs, and has said "ready PID"; PID as it sees itself, and as we do where nothing lies between."""

    def __init__(self, *command, **more):
        self.process = subprocess.Popen(list(map(str, command)), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, env=ENVIRONMENT, **more)
        self.pid = self.process.pid
        try:
            self.pid = self._wait_until_ready()
        except BaseException:  # nobody else knows of it yet
            self.close()
            raise

    def _wait_until_ready(self):
        for line in self.process.stdout:
            if line.startswith(b"ready"):
                return int(line.split()[1])
        end(self.process.pid)  # it may run on, and would hold its standard error open
        raise AssertionError(f"{self.process.args} did not start: {self.process.stderr.read().decode()}")

    @property
    def running(self):
        return self.process.poll() is None

    def read_line(self):
        return self.process.stdout.readline().decode()

    def close(self):
        end(self.process.pid)
        if self.pid != self.process.pid:
            end(self.pid)
        self.process.stdout.close()
        self.process.stderr.close()
        self.process.wait()


def end(pid):
    """Kills a process, also one of root's, and does not mind when it is gone."""
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    except PermissionError:
        subprocess.run([*(as_root() or ()), "kill", "-KILL", str(pid)], capture_output=True)


def process_state(pid):
    """Its letter in /proc: R, S, T, Z, ...; empty when it is gone."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return ""


def wait_until(condition, what, seconds=20):
    give_up = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < give_up, f"waited in vain: {what}"
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
    return json.loads(succeed(CONVERTERS["info"], "--json", *options, path).text)


def collapsed(path, *options):
    """With the numbers of processes, threads and tasks, which tests tell apart."""
    return succeed(CONVERTERS["collapsed"], "--ids", *options, path).text


def gecko(path):
    """The profile of a whole recording, which has the sums of the recording. Files of the standard library have the paths
    that other outputs show."""
    succeed(CONVERTERS["gecko"], "--full-paths", path)
    found = gecko_check.compare(gecko_check.load(f"{path}.json.gz"), info(path))
    assert found == [], found
    return f"{path}.json.gz"


def pprof(path):
    succeed(CONVERTERS["pprof"], path)
    return f"{path}.pb.gz"


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
