# SPDX-License-Identifier: MIT
"""What a person sees of a recording in the Firefox Profiler, as its own command line tool tells it."""

import collections
import os
import subprocess

import pytest

import gecko_check
import stacks
from environment import CONVERTERS, TOOLS, as_root, need_viewer
from recording import ALL_TICKS, collapsed, gecko, run_record, succeed, whole
from viewers import handle, opened, tree_stacks

pytestmark = pytest.mark.pythons("oldest and newest")

SECONDS = 0.8
Shown = collections.namedtuple("Shown", "path output profile info viewer program")


def record(python, path, *command):
    ended = run_record(*ALL_TICKS, "-o", path, "--", *python.command, *command, prefix=as_root() if python.root else ())
    assert ended.code == 0, ended
    return ended


@pytest.fixture(scope="module")
def roles(python, program, tmp_path_factory):
    """programs/roles.py: two threads fight for the lock, one sleeps; then the main thread works alone."""
    path = tmp_path_factory.mktemp("roles") / "roles.pyreel"
    record(python, path, program("roles"), SECONDS)
    output = gecko(path)
    with opened(output) as viewer:
        yield Shown(path, output, gecko_check.load(output), whole(path), viewer, program("roles"))


def threads_of(viewer):
    return viewer.ask("thread", "list", "--limit", "0")["threads"]


def threads_that_call(roles, function):
    """The indexes of the threads that call the function."""
    return [index for index, thread in enumerate(roles.profile["threads"])
            if function in gecko_check.function_times(roles.profile, thread)]


# ---- threads and CPU time ----

def test_the_sums_are_those_of_the_recording(roles):
    assert gecko_check.compare(roles.profile, roles.info) == []


def test_each_thread_has_its_cpu_time(roles):
    """The first sample's CPU time is before the first step, and is not drawn."""
    known = {thread["tid"]: thread for thread in roles.info["threads"]}
    shown = threads_of(roles.viewer)
    assert len(shown) == len(known) == 4
    for thread in shown:
        first_ms = gecko_check.first_cpu_ms(roles.profile["threads"][thread["threadIndex"]])
        cpu_ms = known[thread["tid"]]["cpu_s"] * 1000
        assert cpu_ms - first_ms - 2 <= thread["cpuMs"] <= cpu_ms + 2, thread


def test_a_spinner_is_busy_and_a_sleeper_is_not(roles):
    (main,) = threads_that_call(roles, "work_alone")
    (sleeper,) = threads_that_call(roles, "sleep_on")
    fighters = threads_that_call(roles, "fight")
    cpu_ms = {thread["threadIndex"]: thread["cpuMs"] for thread in threads_of(roles.viewer)}
    assert len(fighters) == 2
    assert cpu_ms[sleeper] < 0.05 * sum(cpu_ms[fighter] for fighter in fighters)
    assert cpu_ms[main] > 10 * cpu_ms[sleeper]


def test_what_works_is_selected(roles):
    (main,) = threads_that_call(roles, "work_alone")
    assert roles.profile["meta"]["initialSelectedThreads"] == [main]
    assert [thread["threadIndex"] for thread in threads_of(roles.viewer) if thread["selected"]] == [main]


def test_each_call_tree_is_the_recording(roles):
    """The tree of each thread is its collapsed stacks, as a multiset."""
    known = stacks.of_collapsed(collapsed(roles.path, "--full-paths"))
    for thread in threads_of(roles.viewer):
        answer = roles.viewer.ask("thread", "samples-top-down", "--include-idle", "--max-lines", "1000000", "--thread",
                                  thread["threadHandle"])
        (mine,) = [seen for (_, tid), seen in known.items() if tid == thread["tid"]]
        assert tree_stacks(answer["regularCallTree"]) == stacks.functions(mine), thread


# ---- processes ----

def test_recordings_of_two_processes(roles, recorded, tmp_path):
    """Each is a process of its own, with its threads and its CPU time."""
    output = tmp_path / "both.json"
    succeed(CONVERTERS["gecko"], "-o", output, roles.path, recorded.path)
    with opened(output) as viewer:
        figures = viewer.ask("profile", "info", "--all")
    assert figures["processCount"] == 2
    shown = {process["pid"]: process for process in figures["processes"]}
    for one in (roles, recorded):
        (process,) = one.info["processes"]
        mine = shown[str(process["pid"])]
        assert os.path.basename(one.program) in mine["name"]
        cpu_ms = sum(thread["cpu_s"] for thread in one.info["threads"]) * 1000
        first_ms = sum(map(gecko_check.first_cpu_ms, gecko_check.load(gecko(one.path))["threads"]))
        assert cpu_ms - first_ms - 20 <= mine["cpuMs"] <= cpu_ms + 20


# ---- what our own tool prints ----

def test_gecko_look_shows_the_tracks(roles):
    need_viewer("profiler-cli")
    looked = subprocess.run([os.path.join(TOOLS, "gecko-look"), roles.output, "--width", "50"], capture_output=True,
                            text=True, timeout=60)
    assert looked.returncode == 0, looked.stderr
    lines = looked.stdout.splitlines()
    assert "4 of 4 tracks are visible" in lines
    assert len([line for line in lines if line.startswith("> ")]) == 1
    bars = [line for line in lines if line.startswith("  |") and len(line) == 54]
    assert len(bars) >= 8
    assert "work_alone" in looked.stdout
