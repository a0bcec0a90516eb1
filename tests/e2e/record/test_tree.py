# SPDX-License-Identifier: MIT
"""Process trees: pyreel-record -f. What a recording says of each process is held against what the process says itself."""

import json
import math
import os
import re
import signal
import socket

import pytest

from environment import as_root, missing
from recording import Recorder, end, info, parent_of, pids_in, process_state, run_record, so_far, wait_until, whole

NETLINK_CONNECTOR = 11


def told(text):
    """What the processes printed of themselves, by pid."""
    return {line["pid"]: line for line in map(json.loads, re.findall(r"^\{.*\}$", text, re.M))}


class Family:
    """A recording of a family, whose members work until they are told to end."""

    def __init__(self, command, program, path, *arguments, options=(), prefix=()):
        self.path = path
        self.recorder = Recorder("-f", "-o", path, *options, "--", *command, program("family"), *arguments, prefix=prefix)

    def wait_for_burning(self, count):
        self.recorder.wait_for(self.path, lambda _: len(pids_in(self.path, "burn")) >= count, f"{count} processes that burn")
        return pids_in(self.path, "burn")

    def end(self, code=5):
        """What the processes say of themselves, and what the recording says."""
        ended = self.recorder.wait()
        assert ended.code == code, ended
        return told(ended.text), whole(self.path)


@pytest.fixture
def family(program, tmp_path):
    """family(command, "forked", 2, "told"): a Family, ended with the test."""
    made = []

    def make(command, *arguments, **more):
        made.append(Family(command, program, tmp_path / f"{len(made)}.pyreel", *arguments, **more))
        return made[-1]

    yield make
    for each in made:
        each.recorder.close()


# ---- children ----

@pytest.mark.parametrize("way", [("pooled", "spawn"), ("pooled", "forkserver"), ("at_once",)], ids=" ".join)
def test_children_are_recorded(family, python3, way):
    count = 100 if way == ("at_once",) else 3
    made = family([python3], *way, count, "told")
    if way == ("at_once",):  # these rest
        made.recorder.wait_for(made.path, lambda found: len(found["processes"]) > count, "all processes")
    else:
        made.wait_for_burning(count)
    said, found = made.end()
    assert len(said) == count
    processes = {process["pid"]: process for process in found["processes"]}
    assert {pid: processes[pid]["parent"] for pid in said} == {pid: line["parent"] for pid, line in said.items()}


def need_connector():
    """The kernel's: it tells of each process."""
    try:
        socket.socket(socket.AF_NETLINK, socket.SOCK_DGRAM, NETLINK_CONNECTOR).bind((0, 1))
    except OSError as why:
        missing(f"needs the kernel's process events: {why}")


def test_children_that_come_and_go_are_recorded_or_counted(python3, tmp_path):
    path, count = tmp_path / "short.pyreel", 300
    need_connector()
    code = f"import os\nfor _ in range({count}):\n  child = os.fork()\n  if not child: os._exit(0)\n  os.waitpid(child, 0)"
    ended = run_record("-f", "-o", path, "--", python3, "-c", code)
    assert ended.code == 0, ended
    found = whole(path)
    passed = found["figures"].get("processes_passed", 0)
    assert len(found["processes"]) - 1 + passed == count
    assert passed == 0 or f"{passed} process" in ended.messages


@pytest.mark.short
def test_recorder_and_readers_tell_the_same_rate(family, python3):
    """With a budget of nearly nothing, nearly all ticks of each process are left out."""
    made = family([python3], "forked", 2, "told", options=("-v", "--disturb", "0.2"))
    made.wait_for_burning(2)
    ended = made.recorder.wait()
    said = re.search(r"([\d.]+) of 1000 ticks per second of a process: more ticks would", ended.messages)
    found = whole(made.path)
    reached = found["reached_hz"]
    assert said and abs(float(said[1]) - reached) <= (0.5 if reached >= 10 else 0.05) + 1e-6, (ended.messages, reached)
    looks = re.search(r"each of the (\d+) processes was looked at ([\d.]+) times per second", ended.messages)
    lives = sum(process["end_s"] - process["start_s"] for process in found["processes"])
    assert looks and int(looks[1]) == len(found["processes"]) == 3, ended.messages
    assert math.isclose(float(looks[2]), found["ticks"] / lives, rel_tol=0.1), (ended.messages, found["ticks"], lives)


@pytest.mark.short
@pytest.mark.pythons("each version")
def test_each_version_has_children(python, family):
    """A forked child shares what is known of its parent."""
    made = family(python.command, "forked", 2, "told", prefix=as_root() if python.root else ())
    children = made.wait_for_burning(2)
    said, found = made.end()
    assert set(said) == children
    parent, *others = found["processes"]
    assert {process["pid"] for process in others} == children and {process["parent"] for process in others} == {parent["pid"]}
    assert {process["python"] for process in found["processes"]} == {python.full_version}


@pytest.mark.short
@pytest.mark.pythons("oldest and newest")
def test_children_that_are_started_anew_are_recorded(python, family):
    """One after the other."""
    made = family(python.command, "in_turn", 2, "told", prefix=as_root() if python.root else ())
    for count in (1, 2):
        children = made.wait_for_burning(count)
        made.recorder.tell(b"\n")
    said, found = made.end()
    assert set(said) == children and len(children) == 2
    assert {process["parent"] for process in found["processes"][1:]} == {found["processes"][0]["pid"]}


def test_blocking_does_not_hold_children(family, python3):
    """Threads that stop are no ends of processes, even if they stop late."""
    made = family([python3], "in_turn", 10, "told", options=("--blocking",))
    made.wait_for_burning(1)
    made.recorder.tell(b"\n" * 10)  # the others end at once
    said, _ = made.end()
    assert len(said) == 10


# ---- how processes begin and end ----

@pytest.mark.parametrize("way", ["orphaned", "left"])
def test_a_child_outlives_its_parents(family, python3, way):
    made = family([python3], way, "told")
    (child,) = made.wait_for_burning(1)
    wait_until(lambda: parent_of(child) == made.recorder.pid, "its parent ends")
    said, found = made.end()
    assert set(said) == {child}
    assert child in {process["pid"] for process in found["processes"]}


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP], ids=lambda number: number.name)
def test_signals_end_the_recording_of_orphans(start_recorder, python3, program, tmp_path, number):
    """The command has ended, and only a process lives that it left. The signal ends the recording, and is for nobody else."""
    path = tmp_path / "a.pyreel"
    recorder = start_recorder("-f", "-o", path, "--", "sh", "-c", f"'{python3}' '{program('spin')}' & exit 3")
    orphan = int(recorder.wait_for_output().split()[1])
    try:
        wait_until(lambda: parent_of(orphan) == recorder.pid, "the command ends")
        for ignored in signal.SIGUSR1, signal.SIGUSR2:
            recorder.signal(ignored)
        recorder.process.stdout.close()  # the orphan holds it open
        wait_until(lambda: (so_far(path) or {"processes": []})["processes"], "it is recorded")
        recorder.signal(number)
        assert recorder.exit_code() == 3
        assert process_state(orphan) in ("R", "S")
    finally:
        end(orphan)
    found = info(path, "--verify")
    assert found["complete"] and found["ended"] == "stopped by a signal"
    assert [process["pid"] for process in found["processes"]] == [orphan]


@pytest.mark.short
def test_the_ends_of_processes_are_known(family, python3):
    made = family([python3], "ends", "told")
    children = made.wait_for_burning(2)
    _, found = made.end()
    ends = [(process["exit_code"], process["signal"]) for process in found["processes"] if process["pid"] in children]
    assert len(ends) == 2
    assert all(process["fate"] in ("exited", "killed") for process in found["processes"])
    known = [end for end in ends if end != (None, None)]  # kernels before 6.15 tell only who may listen to all processes
    assert all(end in [(3, None), (None, signal.SIGKILL)] for end in known)
    if os.geteuid() == 0:
        assert len(set(known)) == 2


@pytest.mark.short
@pytest.mark.pythons("oldest and newest")
def test_exec_into_other_programs(python, program, start_recorder, tmp_path):
    """A Python, a shell, and a Python again, all one process."""
    path = tmp_path / "exec.pyreel"
    executable = python.command[-1]
    shell = ("/bin/sh", "-c", f"echo ready; read line; exec {executable} {program('dies')} 5 told")
    recorder = start_recorder("-f", "-o", path, "--", *python.command, program("becomes"), "told", *shell,
                              prefix=as_root() if python.root else ())
    recorder.wait_for_functions(path, "before")
    recorder.read_line()  # "ready" of the first
    recorder.tell(b"\n")
    recorder.wait_for_output()  # of the shell
    recorder.tell(b"\n")
    recorder.wait_for_functions(path, "work")
    assert recorder.wait().code == 5
    first, second = info(path)["processes"]
    assert first["pid"] == second["pid"] and first["fate"] == "execed" and second["fate"] == "exited"
    assert first["end_s"] <= second["start_s"]


@pytest.mark.parametrize("command", [("true",), ("false",), ("sh", "-c", "exit 3")], ids=" ".join)
def test_a_tree_without_python_ends(tmp_path, command):
    path = tmp_path / "nothing.pyreel"
    ended = run_record("-f", "-o", path, "--", *command)
    assert ended.code == {"true": 0, "false": 1, "sh": 3}[command[0]]
    assert "no Python was seen" in ended.messages and not path.exists()


# ---- attaching ----

def test_attaching_follows_what_is_there_and_what_comes(start, start_recorder, python3, program, tmp_path):
    path = tmp_path / "attached.pyreel"
    family = start(python3, program("family"), "served", "2")
    recorder = start_recorder("-f", "-p", family.pid, "-o", path)
    recorder.wait_for(path, lambda _: len(pids_in(path, "burn")) == 2, "both children")
    family.tell(b"\n")
    recorder.wait_for(path, lambda _: len(pids_in(path, "burn")) == 3, "one more")
    family.tell()
    ended = recorder.wait()
    assert ended.code == 0, ended
    said = family.wait()
    assert said.code == 5 and pids_in(path, "burn") == set(told(said.text))
    assert {process["pid"] for process in whole(path)["processes"]} == {family.pid, *told(said.text)}
