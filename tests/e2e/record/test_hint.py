# SPDX-License-Identifier: MIT
"""Without -f, the first child process that runs Python is told when it comes, and the end of a recording has the number."""

import re
import shlex

import pytest

from environment import as_root
from recording import attach

# Two children of fork and one that is started anew live as long as their parent, which works. `ls` is no Python.
FAMILY = """
import os, select, subprocess, sys, time
CHILD = "import os, time\\nparent = %d\\nwhile os.getppid() == parent: time.sleep(0.01)" % os.getpid()
pids = []
for _ in range(2):
    pids.append(os.fork())
    if pids[-1] == 0:
        exec(CHILD)
        os._exit(0)
subprocess.run(["ls", "/"], stdout=subprocess.DEVNULL)
pids.append(subprocess.Popen([sys.executable, "-c", CHILD]).pid)
print("ready", *pids, flush=True)
while not select.select([0], [], [], 0)[0]:
    pass
"""
OTHERS = "import os, subprocess\nprint('ready', os.getpid(), flush=True)\nsubprocess.run('cat')"  # until standard input ends
HINT = r"(\d+) child process\w* that runs? Python w\w+ not recorded \(pids? ([^)]*)\); -f records \w+ too"

FIRST = r"process (\d+) \(.*\), which the program has started, runs Python and is not recorded: -f records it, too"
WAITER = "import os, sys\nprint('ready', os.getpid(), flush=True)\nsys.stdin.read()"
# Forks twice, as a daemon does: the child of the child is nobody's that is known. The program ends when it is there.
DAEMON = """
import os, sys, time
there, tell = os.pipe()
if os.fork():
    os.read(there, 1)
    os._exit(0)
os.setsid()
between = os.getpid()
if os.fork():
    os._exit(0)
while os.getppid() == between:
    time.sleep(0.001)
os.write(tell, b"x")
print("ready", os.getpid(), flush=True)
sys.stdin.read()
"""


def named(ended):
    assert ended.code == 0, ended
    found = re.search(HINT, ended.messages)
    assert found, ended
    pids = {int(pid) for pid in found[2].split(",")}
    assert len(pids) == int(found[1])
    return pids


@pytest.mark.pythons("oldest and newest")
@pytest.mark.parametrize("quiet", [(), ("-q",)], ids=["", "quiet"])
def test_children_that_come_are_named(python, start_recorder, tmp_path, quiet):
    path = tmp_path / "a.pyreel"
    recorder = start_recorder(*quiet, "-o", path, "--", *python.command, "-c", FAMILY, prefix=as_root() if python.root else ())
    children = {int(pid) for pid in recorder.wait_for_output().split()[1:]}
    before = recorder.wait_for_samples(path)["samples"]
    recorder.wait_for_samples(path, before + 500)  # it looks at new children some times in that time
    ended = recorder.wait()
    if quiet:
        assert ended.messages == ""
    else:
        assert named(ended) == children
        firsts = re.findall(FIRST, ended.messages)
        assert len(firsts) == 1 and int(firsts[0]) in children


def test_children_that_are_there_are_named(start, python3, tmp_path):
    target = start(python3, "-c", FAMILY.replace("*pids", "os.getpid(), *pids"))
    children = {int(pid) for pid in target.said.split()[2:]}
    assert named(attach(target, tmp_path / "a.pyreel", samples=500)) == children


def test_programs_that_run_no_python_are_not_named(start, python3, tmp_path):
    ended = attach(start(python3, "-c", OTHERS), tmp_path / "a.pyreel", samples=500)
    assert not re.search(HINT, ended.messages) and not re.search(FIRST, ended.messages), ended


@pytest.mark.short
@pytest.mark.parametrize("before, behind", [(("sh", "-c"), "{}; true"), (("timeout", "600"), ""), (("timeout", "600", "env", "A=b"), ""),
                                            (("setsid", "--fork", "--wait"), "")], ids=["shell", "timeout", "env", "setsid"])
def test_the_child_of_a_program_that_is_no_python_is_told_at_once(before, behind, start_recorder, python3, tmp_path):
    command = [*before, behind.format(f"{python3} -c {shlex.quote(WAITER)}")] if behind else [*before, python3, "-c", WAITER]
    recorder = start_recorder("-o", tmp_path / "a.pyreel", "--", *command)
    python = int(recorder.wait_for_output().split()[1])
    line = recorder.wait_for_message("-f records it, too")  # while the child runs on
    assert int(re.search(FIRST, line)[1]) == python
    ended = recorder.wait()
    assert ended.code == 0 and ended.messages.count(str(python)) == 1, ended


def test_a_daemon_is_named(start_recorder, python3, tmp_path):
    recorder = start_recorder("-o", tmp_path / "a.pyreel", "--", python3, "-c", DAEMON)
    daemon = int(recorder.wait_for_output().split()[1])
    recorder.exit_code()  # the daemon lives on
    ended = recorder.wait()
    assert named(ended) == {daemon}, ended
