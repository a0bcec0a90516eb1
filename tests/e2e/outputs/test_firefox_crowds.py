# SPDX-License-Identifier: MIT
"""Programs with very many threads and tasks, as a person sees them in the Firefox Profiler: a handful of tracks."""

import collections
import json

import pytest

import gecko_check
import stacks
from environment import as_root
from recording import ALL_TICKS, collapsed, gecko, info, run_record, whole
from viewers import opened, tree_stacks

pytestmark = pytest.mark.pythons("newest")

TASKS, SECONDS = 3000, 1.5
Shown = collections.namedtuple("Shown", "path profile info viewer said")


def shown(python, path, *command, options=()):
    """Records a program, and opens the profile in the viewer."""
    ended = run_record(*ALL_TICKS, *options, "-o", path, "--", *python.command, *command,
                       prefix=as_root() if python.root else ())
    assert ended.code == 0, ended
    return ended.text, gecko(path)


def threads_of(viewer):
    return viewer.ask("thread", "list", "--limit", "0")["threads"]


# ---- many threads ----

@pytest.fixture(scope="module")
def brief(python, program, tmp_path_factory):
    """programs/brief.py: 188 threads, of which three live at a time."""
    path = tmp_path_factory.mktemp("brief") / "brief.pyreel"
    said, output = shown(python, path, program("brief"), 189, 3)
    with opened(output) as viewer:
        yield Shown(path, gecko_check.load(output), whole(path), viewer, said)


def test_short_lived_threads_are_a_handful_of_tracks(brief):
    assert len(brief.info["threads"]) > 150
    figures = brief.viewer.ask("profile", "info", "--all")
    assert figures["threadCount"] <= 10
    assert gecko_check.compare(brief.profile, brief.info) == []


def test_lanes_hold_all_samples_of_their_threads(brief):
    known = stacks.merged(stacks.of_collapsed(collapsed(brief.path, "--full-paths")))
    found = collections.Counter()
    for thread in threads_of(brief.viewer):
        found += tree_stacks(brief.viewer.ask("thread", "samples-top-down", "--include-idle", "--max-lines", "1000000",
                                              "--thread", thread["threadHandle"])["regularCallTree"])
    assert found == stacks.functions(known)


# ---- many tasks ----

@pytest.fixture(scope="module")
def tasks(python, program, tmp_path_factory):
    """programs/many_tasks.py: 3,000 tasks, some hundreds of them at a time."""
    path = tmp_path_factory.mktemp("tasks") / "tasks.pyreel"
    said, output = shown(python, path, program("many_tasks"), TASKS, SECONDS, options=["--async", "all", "-r", "500"])
    with opened(output) as viewer:
        yield Shown(path, gecko_check.load(output), info(path), viewer, json.loads(said))


def lives_of(profile):
    """{task: (start, end)} of the markers, in seconds of the monotonic clock."""
    zero = profile["meta"]["startTimeAsClockMonotonicNanosecondsSinceBoot"] / 1e9
    strings, lives = profile["shared"]["stringArray"], {}
    for thread in profile["threads"]:
        markers = thread["markers"]
        for data, start, end in zip(markers["data"], markers["startTime"], markers["endTime"]):
            if data["type"] == "Task":
                lives[strings[data["label"]]] = zero + start / 1000, zero + end / 1000
    return lives


def test_thousands_of_tasks_are_one_track(tasks):
    figures = tasks.viewer.ask("profile", "info", "--all")
    assert (figures["threadCount"], figures["processCount"]) == (1, 1)
    (thread,) = threads_of(tasks.viewer)
    assert thread["markerCount"] > 0.9 * TASKS


def test_each_task_is_a_marker_as_long_as_its_life(tasks):
    """From the first look at it to the last. Most tasks are asked for: on a busy machine the recorder misses looks, and a
    task that has done its work has to wait until its loop notes that it is done."""
    lives = lives_of(tasks.profile)
    jobs = {name: life for name, life in lives.items() if name in tasks.said}
    assert len(jobs) > 0.9 * TASKS
    look = 2 * tasks.profile["meta"]["interval"] / 1000
    right = [name for name, (start, end) in jobs.items()
             if tasks.said[name][0] - look <= start <= end <= tasks.said[name][1] + look
             and end - start > 0.8 * (tasks.said[name][1] - tasks.said[name][0])]
    assert len(right) > 0.8 * len(jobs)


def test_tasks_of_one_kind_have_one_name(tasks):
    """So the viewer packs them into the rows of one name."""
    (thread,) = threads_of(tasks.viewer)
    groups = tasks.viewer.ask("thread", "markers", "--thread", thread["threadHandle"])["byType"]
    counts = {group["markerName"]: group["count"] for group in groups}
    assert counts["job"] > 0.9 * TASKS


def test_a_loop_works_and_waits(tasks):
    """Tasks that wait are idle; the thread runs the code of tasks."""
    (thread,) = threads_of(tasks.viewer)
    answer = tasks.viewer.ask("thread", "samples", "--include-idle", "--thread", thread["threadHandle"])
    shares = {category["name"]: category["samples"] for category in answer["categoryBreakdown"]["categories"]}
    assert shares["Your code"] > 0
    assert sum(shares.values()) == tasks.profile["threads"][0]["samples"]["length"]
