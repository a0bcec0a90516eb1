# SPDX-License-Identifier: MIT
"""The cause of missed ticks is told when it is known: a quota of processor time that the recorder shares."""

import contextlib
import re

import pytest

import cgroups
from environment import RECORD
from recording import attach, convert, info, run


@pytest.fixture
def cgroup():
    """cgroup(quota, "a/b"): what to put before a command to run it in a cgroup of that name, below one with this quota of a
    processor."""
    with contextlib.ExitStack() as made:
        yield lambda quota, name: cgroups.joining(made.enter_context(cgroups.limited(quota, name)))


@pytest.mark.parametrize("name", ["own", "above/own"])
@pytest.mark.parametrize("options", [(), ("-f",)], ids=["", "tree"])
def test_a_quota_is_the_cause(name, options, cgroup, python3, program, tmp_path):
    ended = run(*cgroup(0.15, name), RECORD, "--no-priority", *options, "-o", tmp_path / "a.pyreel", "--", python3, program("spin"), "3")
    assert ended.code == 0, ended
    warned = re.search(r"warning: (\d+) % of the time was missed: (.*)", ended.messages)
    assert warned and int(warned[1]) > 5, ended
    missed_s = int(warned[1]) / 100 * info(tmp_path / "a.pyreel")["duration_s"]
    if cgroups.throttled_s() < 0.6 * missed_s:  # by the kernel, other programs took most of the time
        return
    said = re.match(r"the quota of pyreel-record's cgroup \(15 % of a processor\) was used up in (\d+) of (\d+) periods; ", warned[2])
    assert said and 0 < int(said[1]) <= int(said[2]) and "other programs" not in ended.messages, ended


def test_a_quota_that_is_not_used_up_is_no_cause(cgroup, python3, program, tmp_path):
    ended = run(*cgroup(64, "own"), RECORD, "-o", tmp_path / "a.pyreel", "--", python3, program("spin"), "1")
    assert ended.code == 0 and "the quota of" not in ended.messages, ended


def test_a_quota_of_the_program_is_told(cgroup, start, python3, program, tmp_path):
    """The recorder is not in the cgroup, so that it misses no more ticks than ever."""
    target = start(*cgroup(0.1, "own"), python3, program("spin"))
    ended = attach(target, tmp_path / "a.pyreel", seconds=3)
    said = re.search(r"the quota of the program's cgroup was used up in (\d+) of (\d+) periods", ended.messages)
    assert said and 0 < int(said[1]) <= int(said[2]), ended
    counters = info(tmp_path / "a.pyreel")["figures"]
    assert 0 < counters["quota_used_up"] <= counters["quota_periods"]
    assert "\nthrottled   the quota of the program's cgroup was used up in " in convert("info", tmp_path / "a.pyreel").text
    target.close()
