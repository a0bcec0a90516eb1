# SPDX-License-Identifier: MIT
"""Without -f, the end of a recording names the child processes that run Python."""

import re

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


def test_children_that_are_there_are_named(start, python3, tmp_path):
    target = start(python3, "-c", FAMILY.replace("*pids", "os.getpid(), *pids"))
    children = {int(pid) for pid in target.said.split()[2:]}
    assert named(attach(target, tmp_path / "a.pyreel", samples=500)) == children


def test_programs_that_run_no_python_are_not_named(start, python3, tmp_path):
    ended = attach(start(python3, "-c", OTHERS), tmp_path / "a.pyreel", samples=500)
    assert not re.search(HINT, ended.messages), ended
