# SPDX-License-Identifier: MIT
"""How much of a program's threads and processes is seen, and how exactly: chance and other work on the machine have a part
in it. That they are seen is for tests/e2e/record/test_tree.py and test_recorder.py."""

import json
import re

import pytest

from recording import Recorder, attach, collapsed, info, run_record, whole

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


@pytest.mark.parametrize("way", [("forked",), ("pooled", "spawn"), ("pooled", "forkserver"), ("in_turn",)], ids=" ".join)
def test_children_have_their_time(python3, program, tmp_path, way):
    path = tmp_path / "family.pyreel"
    said, _, ended = record_family(python3, program, path, *way, 3, BURN_SECONDS)
    assert len(said) == 3
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


def test_most_threads_that_come_and_go_are_seen(python3, program, tmp_path):
    ended = run_record("-o", tmp_path / "a.pyreel", "--", python3, program("churn"), 2)
    started, figures = int(ended.text), whole(tmp_path / "a.pyreel")
    assert figures["failed"] < 0.01 * figures["samples"], figures["failures"]
    workers = [thread for thread in figures["threads"] if not thread["main"]]
    assert 0.9 * started <= len(workers) <= started


def test_the_rate_is_what_was_asked_for(spinning, tmp_path):
    for rate, hz in (("100", 100), ("0.5k", 500), ("2khz", 2000)):
        attach(spinning, tmp_path / "a.pyreel", "-r", rate, seconds=0.5)
        figures = whole(tmp_path / "a.pyreel")
        assert figures["ticks"] + figures["missed"] == pytest.approx(hz * 0.5, rel=0.1)
