# SPDX-License-Identifier: MIT
"""Process trees: pyreel-record -f. What a recording says of each process is held against what the process says itself."""

import json
import os
import subprocess
import re
import signal

import pytest

from recording import PATIENCE, Recorder, collapsed, end, info, process_state, run_record, succeed, wait_until

BURN_SECONDS = 0.4


def told(text):
    """What the processes printed of themselves, by pid."""
    return {line["pid"]: line for line in map(json.loads, re.findall(r"^\{.*\}$", text, re.M))}


def record_family(command, program, path, *arguments, options=(), code=5):
    """`command`: a Python, or the command that starts one."""
    command = (command,) if isinstance(command, str) else command
    recorder = Recorder("-f", "-o", path, *options, "--", *command, program("family"), *arguments)
    try:
        ended, ended.waited = recorder.wait_and_watch()
    finally:
        recorder.close()
    assert ended.code == code, str(ended)
    return told(ended.text), info(path), ended


def seconds_in(path, function):
    """Wall-clock time in a function, by pid."""
    seconds = {}
    for line in collapsed(path, "--ids", "--functions", "--roots", "process", "--weight", "wall").splitlines():
        stack, _, microseconds = line.rpartition(" ")
        pid = int(re.match(r"pid (\d+)", stack).group(1))
        if re.search(rf";{function}( |$|;)", stack):
            seconds[pid] = seconds.get(pid, 0) + int(microseconds) / 1e6
    return seconds


def assert_same_times(path, said, waited):
    """The time of each process in burn(), within a fifth and what it takes to find a new process. A recorder that waits for
    a processor finds the process so much later."""
    found = seconds_in(path, "burn")
    for pid, line in said.items():
        seconds, slack = line["seconds"], 0.2 * line["seconds"] + 0.1
        assert seconds - slack - waited <= found.get(pid, 0) <= seconds + slack, (pid, found, said, waited)


# ---- children ----

@pytest.mark.parametrize("way", [("forked",), ("pooled", "spawn"), ("pooled", "forkserver"), ("in_turn",)], ids=" ".join)
def test_children_are_recorded(python3, program, tmp_path, way):
    path = tmp_path / "family.pyreel"
    said, found, ended = record_family(python3, program, path, *way, 3, BURN_SECONDS)
    assert len(said) == 3
    processes = {process["pid"]: process for process in found["processes"]}
    for pid, line in said.items():
        assert processes[pid]["parent"] == line["parent"]
    assert_same_times(path, said, ended.waited)


@pytest.mark.pythons("each version")
def test_each_version_has_children(python, program, tmp_path):
    """A forked child shares what is known of its parent."""
    path = tmp_path / "family.pyreel"
    said, found, ended = record_family(python.command, program, path, "forked", 2, BURN_SECONDS)
    recorded = {process["pid"] for process in found["processes"]}
    assert set(said) < recorded or ended.waited > BURN_SECONDS, (said, recorded)
    assert len({process["python"] for process in found["processes"]}) == 1
    assert_same_times(path, said, ended.waited)


def test_short_children_have_their_samples(python3, program, tmp_path):
    """Children of 30 ms, one after the other: their time is that of their samples, within chance."""
    path = tmp_path / "family.pyreel"
    said, found, _ = record_family(python3, program, path, "in_turn", 25, 0.03)
    recorded = {process["pid"] for process in found["processes"]} & set(said)
    assert len(recorded) >= 20
    seconds = sum(line["seconds"] for line in said.values())
    assert sum(seconds_in(path, "burn").values()) == pytest.approx(seconds, rel=0.4)


def test_many_children_at_once(python3, program, tmp_path):
    path = tmp_path / "family.pyreel"
    said, found, _ = record_family(python3, program, path, "at_once", 200, 1.5)
    assert len(said) == 200
    assert len(set(said) & {process["pid"] for process in found["processes"]}) >= 195


def test_samples_of_children_are_exact(python3, program, tmp_path):
    """The recorder steps aside for one process, and still may use all processors for the next."""
    path = tmp_path / "family.pyreel"
    _, found, _ = record_family(python3, program, path, "forked", 2, 1, options=("--disturb", "1"))
    assert found["exact_percent"] > 50  # a machine that is busy with something else has late samples


def test_blocking_does_not_hold_children(python3, program, tmp_path):
    """Threads that stop are no ends of processes, even if they stop late."""
    path = tmp_path / "family.pyreel"
    said, found, _ = record_family(python3, program, path, "in_turn", 10, 0.05, options=("--blocking",))
    assert len(said) == 10 and found["complete"]


# ---- how processes begin and end ----

def parent_of(pid):
    with open(f"/proc/{pid}/stat") as file:
        return int(file.read().rpartition(")")[2].split()[1])


def test_a_child_outlives_its_parents(python3, program, tmp_path):
    path = tmp_path / "family.pyreel"
    for way in "orphaned", "left":
        said, found, ended = record_family(python3, program, path, way, BURN_SECONDS, options=("--force",))
        assert_same_times(path, said, ended.waited)
        assert found["duration_s"] > BURN_SECONDS


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
        wait_until(lambda: path.stat().st_size > 0 and info(path)["processes"], "it is recorded")
        recorder.signal(number)
        assert recorder.process.wait(timeout=PATIENCE) == 3
        assert process_state(orphan) in ("R", "S")
    finally:
        end(orphan)
    found = info(path, "--verify")
    assert found["complete"] and found["ended"] == "stopped by a signal"
    assert [process["pid"] for process in found["processes"]] == [orphan]


def test_the_ends_of_processes_are_known(python3, program, tmp_path):
    path = tmp_path / "family.pyreel"
    said, found, _ = record_family(python3, program, path, "ends", 0.1)
    ends = sorted(((process["exit_code"], process["signal"]) for process in found["processes"] if process["pid"] in said), key=str)
    assert len(ends) == 2
    assert all(process["fate"] in ("exited", "killed") for process in found["processes"])
    known = [end for end in ends if end != (None, None)]  # kernels before 6.15 tell only who may listen to all processes
    assert all(end in [(3, None), (None, signal.SIGKILL)] for end in known)
    if os.geteuid() == 0:
        assert len(known) == 2


def test_exec_into_other_programs(python3, program, tmp_path):
    """A Python, a shell, and a Python again, all one process."""
    path = tmp_path / "exec.pyreel"
    inner = f"import os; [i for i in range(2_000_000)]; os.execv('/bin/sh', ['sh', '-c', 'sleep 0.1; exec {python3} -c \"[i for i in range(2_000_000)]\"'])"
    ended = run_record("-f", "-o", path, "--", python3, "-c", inner)
    assert ended.code == 0, ended
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
    family = subprocess.Popen([python3, program("family"), "served", "2", "3"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        assert b"ready" in family.stdout.readline()
        recorder = start_recorder("-f", "-v", "-p", family.pid, "-o", path)
        line = b""
        while b"runs CPython" not in line:
            line = recorder.process.stderr.readline()
        family.stdin.write(b"\n")
        family.stdin.close()
        ended = recorder.wait()
        assert ended.code == 0, ended
        said = told(family.stdout.read().decode())
        assert family.wait(20) == 5
    finally:
        family.kill()
    found = {process["pid"] for process in info(path)["processes"]}
    assert family.pid in found and len(found) == 4
    assert set(said) <= found


# ---- without -f ----

def test_children_that_were_not_recorded_are_told(python3, program, tmp_path):
    path = tmp_path / "alone.pyreel"
    ended = run_record("-o", path, "--", python3, program("family"), "forked", 2, 1)
    assert ended.code == 5, ended
    children = told(ended.text)
    sentence = next(line for line in ended.messages.splitlines() if "not recorded" in line)
    assert sentence.startswith("pyreel-record: 2 child processes that run Python were not recorded")
    assert all(str(pid) in sentence for pid in children) and "-f" in sentence
