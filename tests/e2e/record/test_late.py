# SPDX-License-Identifier: MIT
"""The beginning of a recording is that of the program, as the user sees it: roots that are no Python are attached to at once,
and a Python that begins late in a process is seen at once. What is missed all the same is told. The programs keep account."""

import glob
import json
import os
import re

import pytest

from environment import BUILD, missing
from recording import Recorder, collapsed, info, parent_of, run_record, whole

LATE = os.path.join(BUILD, "tests", "late")
PRELOADED = os.path.join(BUILD, "tests", "libpreloaded.so")
# For so long, the recorder once waited for a Python in the root.
WAITED = 1
# The CPU time of a window of looks is shared among those that saw the thread run. Where a function begins within a window, it may
# have so much too little or too much: 0.43 and 0.37 of 0.4 s were seen on a busy machine.
SPREAD = 0.1

ROOTS = {
    "sh": ("sh", "-c", '"$@"; true', "sh"),
    "sh in sh": ("sh", "-c", '"$@"; true', "sh", "sh", "-c", '"$@"; true', "sh"),
    "timeout": ("timeout", "--foreground", "1000"),
    "env -i": ("env", "-i", "sh", "-c", '"$@"; true', "sh"),
    "a C program": (LATE, "fork"),
}


def seconds_of(path, function, weight):
    """The weight of stacks with this function."""
    lines = collapsed(path, "--functions", "--weight", weight, "--roots", "none").splitlines()
    return sum(int(line.rpartition(" ")[2]) for line in lines if re.search(rf"(^|;){function}( |$|;)", line)) / 1e6


# ---- roots that are no Python ----

@pytest.mark.parametrize("root", ROOTS)
def test_a_root_that_is_no_python_is_recorded_from_the_moment_of_attaching(start, python3, program, tmp_path, root):
    path = tmp_path / "root.pyreel"
    tree = start(*ROOTS[root], python3, program("phases"), str(WAITED))
    ready = tree if ROOTS[root][0] != LATE else None
    child = tree.pid if ready else int(tree.wait_for_output("ready").split()[1])
    top = parent_of(child)
    while parent_of(top) != os.getpid():
        top = parent_of(top)
    recorder = Recorder("-f", "-d", WAITED, "-p", top, "-o", path)
    try:
        tree.tell(b"\n")
        ended, busy = recorder.wait_and_watch()
    finally:
        recorder.close()
    assert ended.code == 0, ended
    switched = json.loads(tree.wait_for_output('{"pid"'))["ended"]
    tree.tell()
    found = whole(path)
    begun = found["start_unix_ns"] / 1e9
    assert [process["pid"] for process in found["processes"]] == [child]
    assert abs(found["duration_s"] - WAITED) < 0.1 + busy
    # first() began when the recorder did, and worked as long as the recorder once waited.
    assert begun < switched - WAITED / 2 + busy, f"it began {switched - begun} s before the end of first()"
    assert seconds_of(path, "first", "wall") > 0.7 * (min(switched, begun + WAITED) - begun) - busy


def test_a_root_that_is_not_there_is_told_at_once(tmp_path):
    """Also with -f: this is no absence of Python."""
    path = tmp_path / "nothing.pyreel"
    ended = run_record("-f", "-d", "1", "-p", 1 << 22, "-o", path)
    assert ended.code == 125 and not path.exists(), ended


def test_a_tree_in_which_no_python_comes(start, tmp_path):
    path = tmp_path / "nothing.pyreel"
    shell = start("sh", "-c", "echo ready $$; read line")
    ended = run_record("-f", "-d", "0.2", "-p", shell.pid, "-o", path)
    assert ended.code == 0 and "no Python was seen" in ended.messages, ended


# ---- Pythons that begin late ----

WORK = """
import json, os, time
def work(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass
work(0.4)
os.write(1, (json.dumps({"pid": os.getpid(), "used": time.process_time()}) + "\\n").encode())
"""


def check_work(path, text, busy, before):
    """work() used 0.4 s of CPU time. What of it is in no sample is told, or not sampled: most of all where the machine was busy."""
    found = whole(path)
    told = found["figures"].get("before_looks_ns", 0) / 1e9
    work = seconds_of(path, "work", "cpu")
    lost = max(told, found["cpu_not_sampled_s"])
    assert work + lost > 0.4 - SPREAD, f"work {work} s, told {told} s, lost {lost} s, busy {busy} s"
    assert told < 0.1 + busy, f"work {work} s, told {told} s, busy {busy} s"
    assert work < 0.4 + SPREAD
    used = json.loads(re.search(r"^\{.*\}$", text, re.M)[0])["used"]
    assert used > before + 0.4  # the program did as the test thinks


@pytest.mark.parametrize("ways", [("begins", ()), ("below a shell", ("sh", "-c", '"$@"; true', "sh"))], ids=lambda ways: ways[0])
def test_a_python_that_begins_late_in_its_process(python3, tmp_path, ways):
    """Before main(), a library that was loaded first works for a second."""
    path = tmp_path / "late.pyreel"
    wanted = ("env", f"LD_PRELOAD={PRELOADED}", "LATE_SECONDS=1", python3, "-c", WORK)
    recorder = Recorder("-f", "-o", path, "--", *ways[1], *wanted)
    ended, busy = recorder.wait_and_watch()
    recorder.close()
    assert ended.code == 0, ended
    check_work(path, ended.text, busy, 1)


def libpython():
    """A library that a program can load, of a version that is read."""
    patterns = ["/usr/lib/*/libpython3.1[1-5].so.1.0", os.path.expanduser("~/.pyenv/versions/3.1[1-5].*/lib/libpython3.1?.so.1.0")]
    found = sorted(path for pattern in patterns for path in glob.glob(pattern))
    return found[0] if found else missing("a libpython that can be loaded")


@pytest.mark.parametrize("steps", [("use", "1"), ("load", "use", "1"), ("sleep", "1"), ("use", "0.5", "sleep", "1", "load", "sleep", "0.5")],
                         ids=" ".join)
@pytest.mark.parametrize("options", [(), ("-f",)], ids=["alone", "-f"])
def test_a_program_that_embeds_python_late(tmp_path, steps, options):
    path = tmp_path / "embeds.pyreel"
    recorder = Recorder(*options, "-o", path, "--", LATE, "embed", libpython(), WORK, *steps)
    ended, busy = recorder.wait_and_watch()
    recorder.close()
    assert ended.code == 0, ended
    check_work(path, ended.text, busy, sum(float(b) for a, b in zip(steps, steps[1:]) if a == "use"))


def test_a_python_that_ran_before_missed_nothing(start, python3, program, tmp_path):
    """What it used before the recording is none of the recording's."""
    path = tmp_path / "before.pyreel"
    target = start(python3, program("phases"), "0")
    target.tell(b"\n")
    target.wait_for_output('{"pid"')
    recorder = Recorder("-f", "-d", "0.5", "-p", target.pid, "-o", path)
    ended, busy = recorder.wait_and_watch()
    recorder.close()
    assert ended.code == 0, ended
    assert info(path)["figures"].get("before_looks_ns", 0) / 1e9 < 0.1 + busy
