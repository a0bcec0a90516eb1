# SPDX-License-Identifier: MIT
"""C functions in the stacks (--native): where they stand among the Python functions, what they are called, their time by
their own account, and what the program notices."""
import collections
import json
import os
import subprocess

import pytest

from environment import BUILD
from recording import attach, collapsed, run_record, so_far, succeed, trace, whole

LIBRARY = os.path.join(BUILD, "tests", "libwork.so")


@pytest.fixture
def command(python, programs, program):
    """command("account", 2): the command of c_work.py."""
    subprocess.run([*python.prefix, "cp", LIBRARY, python.root + programs], check=True)
    return lambda what, seconds: [*python.command, program("c_work"), what, seconds, os.path.join(programs, "libwork.so")]


def stacks_of(path):
    """[(names of the functions and of their files, microseconds)], root first."""
    found = []
    for line in collapsed(path, "--functions", "--weight", "wall").splitlines():
        stack, _, value = line.rpartition(" ")
        found.append((stack.split(";")[1:], int(value)))
    return found


def assert_merged(told):
    """Nearly each stack that was captured has its place; how many are captured depends on who else has the processors."""
    figures = told["figures"]
    assert figures["c_samples"] > 50 and figures["c_samples"] <= told["samples"], figures
    assert figures.get("c_stacks_unmerged", 0) <= 2 + 0.01 * figures["c_stacks"], figures
    assert figures.get("c_stacks_holes", 0) <= 5 + 0.05 * figures["c_stacks"], figures
    return figures


@pytest.mark.short
def test_c_functions_stand_between_those_who_call_and_who_are_called(python, command, tmp_path):
    path = tmp_path / "a.pyreel"
    ended = run_record("-o", path, "--native", "--disturb", "10", "--", *command("calls", 3), prefix=python.prefix)
    assert ended.code == 0 and "% of the samples have their C functions" in ended.messages, ended
    figures = assert_merged(whole(path))
    packing = hashing = sorting = 0
    wrong = []
    for stack, _ in stacks_of(path):
        c = [" (c_work.py)" not in frame for frame in stack]
        names = [frame.partition(" (")[0] for frame in stack]
        if "key" in names:  # C code calls key()
            at = names.index("key")
            by_c = at > 0 and (names[at - 1] == "<native>" or c[at - 1])
            if not by_c or "sorts" not in names[:at] or any(c[:names.index("sorts") + 1]):
                wrong.append(stack)
            sorting += by_c and names[at - 1] != "<native>"
        for name, where in (("packs", "(libz"), ("hashes", "(libcrypto")):
            if name in names:
                below = stack[names.index(name) + 1:]
                wrong += [stack] if not all(c[names.index(name) + 1:]) else []
                packing += name == "packs" and any(where in frame for frame in below)
                hashing += name == "hashes" and any(where in frame or "sha" in frame.lower() for frame in below)
    assert len(wrong) <= figures["samples_live"], wrong  # none of a proved look
    assert packing and hashing and sorting


def test_c_functions_have_the_time_that_they_count(python, command, tmp_path):
    path = tmp_path / "a.pyreel"
    ended = run_record("-o", path, "--native", "--disturb", "10", "--", *command("account", 4), prefix=python.prefix)
    assert ended.code == 0, ended
    figures = assert_merged(whole(path))
    counted = json.loads(ended.text.splitlines()[-1])
    seen = collections.Counter()
    for stack, value in stacks_of(path):
        for name, symbol in (("alpha", "alpha"), ("beta", "beta"), ("gamma", "gamma_calls")):
            seen[name] += value * stack[-1].startswith(symbol + " (")
    total, wanted = sum(seen.values()), sum(counted.values())
    for name, ticks in counted.items():
        share, noise = ticks / wanted, (0.25 / figures["c_samples"]) ** 0.5
        assert abs(seen[name] / total - share) <= 4 * noise + 0.02, (name, seen, counted)


def test_threads_that_wait_are_not_interrupted(python, command, tmp_path):
    path = tmp_path / "a.pyreel"
    ended = run_record("-o", path, "--native", "--disturb", "10", "--", *command("waits", 3), prefix=python.prefix)
    assert ended.code == 0, ended
    assert json.loads(ended.text.splitlines()[-1]) == {"interrupted": [0, 0, 0]}
    waiting = sum(value for stack, value in stacks_of(path) if any("epoll_wait" in frame for frame in stack))
    below = sum(value for stack, value in stacks_of(path) if any(frame.startswith("wait_in_c ") for frame in stack))
    assert waiting > 0.2 * below  # a wait of a millisecond may be over when the sample is made


@pytest.mark.pythons("newest")
def test_a_program_that_is_traced_is_recorded_without(python, command, start, tmp_path):
    target = start(*command("account", 60))
    tasks = succeed("ls", f"/proc/{target.pid}/task").text.split()
    for task in tasks:
        trace("seize", int(task))
    ended = attach(target, tmp_path / "a.pyreel", "--native", prefix=python.prefix)
    assert "another program may trace them" in ended.messages, ended
    told = whole(tmp_path / "a.pyreel")
    assert told["figures"]["c_samples"] == 0 and told["figures"]["c_stacks_refused"] > 0 and told["samples"] >= 50


@pytest.mark.pythons("oldest and newest")
def test_a_program_that_is_stopped_in_the_middle_of_execve_runs_on(python, program, tmp_path):
    ended = run_record("-o", tmp_path / "a.pyreel", "--native", "--disturb", "50", "-r", "10khz", "--",
                       *python.command, program("execs_often"), 30, prefix=python.prefix)
    assert (ended.code, ended.text) == (7, "ended\n"), ended
    assert so_far(tmp_path / "a.pyreel")["figures"]["c_samples"] > 0
