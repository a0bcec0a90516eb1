# SPDX-License-Identifier: MIT
"""A Python that cannot be read is a line that names it, and a process that is none says which of its children is."""

import os
import platform
import re
import shlex
import shutil
import struct
import subprocess

import pytest

from environment import DUMP, missing, old_python
from recording import run, run_record, wait_until

# Starts programs, prints their numbers, and works until its standard input ends. They end with it.
STARTER = """
import ctypes, os, select, shlex, signal, subprocess, sys
def die_with_us():
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)
pids = [subprocess.Popen(shlex.split(command), stdin=subprocess.DEVNULL, preexec_fn=die_with_us).pid for command in sys.argv[1:]]
print("ready", os.getpid(), *pids, flush=True)
while not select.select([0], [], [], 0)[0]:
    pass
"""
WAITER = "import os, sys\nprint('ready', os.getpid(), flush=True)\nsys.stdin.read()"
# The jobs of a shell have no standard input, and write their lines at the same time.
SLEEPER = "import os, time\nos.write(1, b'ready %d\\n' % os.getpid())\ntime.sleep(600)"
READ = "this version of pyreel reads CPython 3.11 to 3.15, and 3.16 as of alpha 0"
NOT_FOUND = "it seems to run CPython 3.13, but in none of the"


def narrow_program():
    """A 32-bit program for x86: pause(), for ever."""
    code, start = b"\xb8\x1d\0\0\0\xcd\x80\xeb\xf7", 0x08048000
    size = 52 + 32 + len(code)
    return (b"\x7fELF\x01\x01\x01" + bytes(9)
            + struct.pack("<HHIIIIIHHHHHH", 2, 3, 1, start + 52 + 32, 52, 0, 0, 52, 32, 1, 0, 0, 0)
            + struct.pack("<IIIIIIII", 1, 0, start, start, size, size, 5, 0x1000) + code)


@pytest.fixture
def stand_in(tmp_path_factory):
    """stand_in("python3.9"): the path of a program of that name that sleeps, which is all that a recorder can see of it."""
    def make(name, narrow=False):
        path = os.path.join(tmp_path_factory.mktemp("stand-in"), name)
        if narrow:
            with open(path, "wb") as file:
                file.write(narrow_program())
            os.chmod(path, 0o755)
            try:
                subprocess.Popen([path]).kill()
            except OSError:
                missing("a kernel that runs 32-bit programs")
            return path
        shutil.copy(shutil.which("sleep"), path)
        return f"{path} 600"
    return make


def of_kind(kind, stand_in):
    """A command that is a Python of this kind, and what the recorder says of it."""
    if kind == "old":
        old = old_python() or missing("CPython 3.10 or older")
        return shlex.join([*old.command, "-c", "import time; time.sleep(600)"]), f"it seems to run CPython {old.version}, and {READ}"
    return {"narrow": lambda: (stand_in("python3.12", narrow=True), "it seems to run a 32-bit CPython 3.12, and this version"),
            "oldest": lambda: (stand_in("python3.6"), f"it seems to run CPython 3.6, and {READ}"),
            "python2": lambda: (stand_in("python2.7"), f"it runs Python 2; {READ}"),
            "pypy": lambda: (stand_in("pypy3.10"), f"it runs PyPy; {READ}"),
            "no runtime": lambda: (stand_in("python3.13"), NOT_FOUND)}[kind]()


KINDS = ["old", "oldest", "python2", "pypy", "no runtime"] + (["narrow"] if platform.machine() == "x86_64" else [])


def lines_of(ended, pid):
    return [line for line in ended.messages.splitlines() if re.search(rf"process {pid}\b", line)]


@pytest.mark.short
@pytest.mark.parametrize("kind", KINDS)
def test_a_tree_names_pythons_that_cannot_be_read(kind, stand_in, start_recorder, python3, tmp_path):
    command, words = of_kind(kind, stand_in)
    recorder = start_recorder("-f", "-o", tmp_path / "a.pyreel", "--", python3, "-c", STARTER, command)
    pid = int(recorder.wait_for_output().split()[2])
    line = recorder.wait_for_message(f"process {pid}")  # while the tree runs on
    assert words in line
    ended = recorder.wait()
    assert ended.code == 0 and lines_of(ended, pid) == [line.rstrip()], ended


def test_others_of_a_tree_are_not_named(stand_in, start_recorder, python3, tmp_path):
    """Nor is a 32-bit program that is no Python, nor one with `python` in its path."""
    commands = [stand_in("sleeper"), stand_in("python3-config"), *([stand_in("narrow", True)] if platform.machine() == "x86_64" else [])]
    path = tmp_path / "a.pyreel"
    recorder = start_recorder("-f", "-o", path, "--", python3, "-c", STARTER, *commands)
    recorder.wait_for_output()
    recorder.wait_for(path, lambda found: found["duration_s"] > 2, "two seconds")
    ended = recorder.wait()
    assert ended.code == 0 and "CPython" not in ended.messages, ended


def test_of_many_the_end_has_the_number(stand_in, start_recorder, python3, tmp_path):
    command, words = stand_in("python3.8"), "it seems to run CPython 3.8"
    recorder = start_recorder("-f", "-o", tmp_path / "a.pyreel", "--", python3, "-c", STARTER, *[command] * 12)
    recorder.wait_for_output()
    for _ in range(5):
        recorder.wait_for_message(words)
    recorder.wait_for(tmp_path / "a.pyreel", lambda found: found["duration_s"] > 2, "two seconds")
    ended = recorder.wait()
    assert ended.messages.count(words) == 5 and "7 more processes that run Python could not be read" in ended.messages, ended


# ---- attaching to what is no Python ----

def child_of(pid):
    """The last one of a line of children."""
    with open(f"/proc/{pid}/task/{pid}/children") as file:
        children = file.read().split()
    return child_of(int(children[0])) if children else pid


def started_by(start, python3, *before, behind=""):
    """A Python behind other programs: the program that was started, and the Python."""
    python = start(*before, behind.format(f"{shlex.quote(python3)} -c {shlex.quote(WAITER)}")) if behind else \
        start(*before, python3, "-c", WAITER)
    return python.process.pid, python.pid


@pytest.mark.short
@pytest.mark.parametrize("before, behind, kinship", [
    (("sh", "-c"), "{}; true", "child"),
    (("timeout", "600"), "", "child"),
    (("timeout", "600", "sh", "-c"), "{}; true", "descendant"),
    (("setsid", "--fork", "--wait"), "", "child"),
], ids=["shell", "timeout", "timeout shell", "setsid"])
def test_a_process_that_is_no_python_names_its_child(before, behind, kinship, start, python3, tmp_path):
    if not shutil.which(before[0]):
        missing(before[0])
    parent, python = started_by(start, python3, *before, behind=behind)
    ended = run_record("-p", parent, cwd=tmp_path)
    assert (ended.code, os.listdir(tmp_path)) == (125, []), ended
    name = os.path.basename(os.readlink(f"/proc/{python}/exe"))
    assert re.fullmatch(rf"pyreel-record: process {parent} \({before[0]}\) is no Python; its {kinship} {python} \({name}\) is: "
                        rf"use -p {python}, or -f to record the whole tree\n", ended.messages), ended
    ended = run(DUMP, parent)
    assert ended.code == 1 and f"use pyreel-dump {python}, or -f to dump the whole tree" in ended.messages, ended


def test_several_children_are_one_line(start, python3, tmp_path):
    command = f"{shlex.quote(python3)} -c {shlex.quote(SLEEPER)}"
    target = start("sh", "-c", f"{command} & {command} & {command}; wait")
    for _ in range(2):
        target.wait_for_output()
    ended = run_record("-p", target.process.pid, cwd=tmp_path)
    assert ended.code == 125 and ended.messages.count("\n") == 1 and "and so are 2 more of its tree" in ended.messages, ended


def test_an_old_python_names_its_child(start, python3, tmp_path):
    old = old_python() or missing("CPython 3.10 or older")
    run_it = "import subprocess, sys; subprocess.run(sys.argv[1:])"
    parent, python = started_by(start, python3, *old.command, "-c", run_it)
    ended = run_record("-p", parent, cwd=tmp_path)
    assert ended.code == 125 and f"it seems to run CPython {old.version}" in ended.messages, ended
    assert f"its child {python} (" in ended.messages and f"is one that can: use -p {python}, or -f" in ended.messages, ended
    ended = run_record("-f", "-d", "1", "-o", tmp_path / "a.pyreel", "-p", parent)
    assert ended.code == 0 and len(lines_of(ended, parent)) == 1, ended


def test_a_child_that_cannot_be_read_is_named(start, stand_in, tmp_path):
    shell = start("sh", "-c", f"echo ready $$; {stand_in('python3.7')}; true")
    wait_until(lambda: child_of(shell.pid) != shell.pid and "python" in os.readlink(f"/proc/{child_of(shell.pid)}/exe"), "the child")
    ended = run_record("-p", shell.pid, cwd=tmp_path)
    assert ended.code == 125 and "(python3.7) is a Python that cannot be read" in ended.messages and "use -p" not in ended.messages, ended


# ---- a Python whose state is not found ----

def sleeper(stand_in, name, start):
    """A stand-in that sleeps."""
    return start("sh", "-c", f"echo ready $$; exec {stand_in(name)}").pid


def test_a_python_without_a_state_is_not_called_none(stand_in, start, tmp_path):
    pid = sleeper(stand_in, "python3.13", start)
    wait_until(lambda: "python" in os.readlink(f"/proc/{pid}/exe"), "the program")
    ended = run_record("-p", pid, cwd=tmp_path)
    assert (ended.code, os.listdir(tmp_path)) == (125, []), ended
    assert ended.messages.startswith(f"pyreel-record: cannot read process {pid}: {NOT_FOUND}"), ended
    ended = run(DUMP, pid)
    assert ended.code == 1 and f"cannot read process {pid}: {NOT_FOUND}" in ended.messages, ended
    ended = run(DUMP, "-f", pid)
    assert ended.code == 1 and f"cannot read process {pid}: {NOT_FOUND}" in ended.messages, ended


def test_a_python_without_a_state_names_its_child(stand_in, start, python3, tmp_path):
    """A copy of the shell under the name of a Python, which starts one that can be read."""
    shell = tmp_path / "python3.13"
    shutil.copy(shutil.which("sh"), shell)
    parent, python = started_by(start, python3, shell, "-c", behind="{}; true")
    for command, words in [((run_record, "-p", parent), f"use -p {python}, or -f"), ((run, DUMP, parent), f"use pyreel-dump {python}, or -f")]:
        ended = command[0](*command[1:])
        assert ended.code and NOT_FOUND in ended.messages and "is no Python" not in ended.messages, ended
        assert f"its child {python} (" in ended.messages and f"is one that can: {words}" in ended.messages, ended


def test_a_command_without_a_state_is_named(stand_in, tmp_path):
    ended = run_record("-d", 3, "--kill", "-o", tmp_path / "a.pyreel", "--", *stand_in("python3.13").split())
    assert f"cannot be read so far: {NOT_FOUND}" in ended.messages, ended
    assert "no Python could be read, so there is no recording" in ended.messages, ended
