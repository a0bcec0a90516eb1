# SPDX-License-Identifier: MIT
"""Without -f, the end of a recording names the child processes that run Python."""

import re

import pytest

from recording import attach, run_record

# Two children of fork and one that is started anew live as long as their parent. `ls` is no Python.
FAMILY = """
import os, subprocess, sys, time
CHILD = "import os, time\\nparent = %d\\nwhile os.getppid() == parent: time.sleep(0.01)" % os.getpid()
pids = []
for _ in range(2):
    pids.append(os.fork())
    if pids[-1] == 0:
        exec(CHILD)
        os._exit(0)
subprocess.run(["ls", "/"], stdout=subprocess.DEVNULL)
pids.append(subprocess.Popen([sys.executable, "-c", CHILD]).pid)
print("ready", os.getpid(), flush=True)
time.sleep(float(sys.argv[1]))
"""
HINT = r"(\d+) child process\w* that runs? Python w\w+ not recorded \(pids? ([^)]*)\); -f records \w+ too"


def named(ended):
    assert ended.code == 0, ended
    found = re.search(HINT, ended.messages)
    assert found, ended
    pids = {int(pid) for pid in found[2].split(",")}
    assert len(pids) == int(found[1])
    return pids


@pytest.mark.pythons("oldest and newest")
def test_children_that_come_are_named(python, tmp_path):
    ended = run_record("-o", tmp_path / "a.pyreel", "--", *python.command, "-c", FAMILY, "1.5")
    assert len(named(ended)) == 3, ended
    assert not re.search(HINT, run_record("-q", "-o", tmp_path / "b.pyreel", "--", *python.command, "-c", FAMILY, "0.3").messages)


def test_children_that_are_there_are_named(start, python3, tmp_path):
    target = start(python3, "-c", FAMILY, "60")
    assert len(named(attach(target, tmp_path / "a.pyreel", seconds=1))) == 3


def test_programs_that_run_no_python_are_not_named(python3, tmp_path):
    ended = run_record("-o", tmp_path / "a.pyreel", "--", python3, "-c", "import subprocess; subprocess.run(['sleep', '0.3'])")
    assert ended.code == 0 and not re.search(HINT, ended.messages), ended
