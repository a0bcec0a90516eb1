# SPDX-License-Identifier: MIT
"""The CPU time of functions is what programs that keep account say of themselves, with the options that a user has by
default."""

import json

import pytest

import stacks
from recording import collapsed, gaps_of, run_record, whole

OLDEST_AND_NEWEST = pytest.mark.pythons("oldest and newest")


def functions_of(path):
    """Function -> seconds of CPU time, with that of what it called."""
    times = stacks.functions(stacks.merged(stacks.of_collapsed(collapsed(path, "--weight", "cpu"))))
    return lambda name: sum(time for stack, time in times.items() if name in stack) / 1e6


@pytest.fixture
def recorded_account(python, program, tmp_path):
    """recorded_account("beside_waiters", 150, "-r", "100"): the recording of the program, what it said of itself, and how it
    ended."""
    def record(what, argument, *options):
        path = tmp_path / "account.pyreel"
        ended = run_record("-o", path, *options, "--", *python.command, program("cpu_account"), what, argument,
                           prefix=python.prefix)
        assert ended.code == 0, ended
        return path, json.loads(ended.text.splitlines()[-1]), ended

    return record


@OLDEST_AND_NEWEST
@pytest.mark.parametrize("count", [150, 600])
def test_threads_that_wait_take_nothing_from_one_that_works(recorded_account, count):
    path, account, ended = recorded_account("beside_waiters", count)
    found, used = whole(path), functions_of(path)
    assert len(found["threads"]) == count + 1
    assert all(thread["cpu_s"] is not None for thread in found["threads"])
    gaps = gaps_of(found)
    total = sum(account.values())
    assert used("busy") + used("other") == pytest.approx(total, rel=0.1 + gaps), ended
    assert used("busy") / (used("busy") + used("other")) == pytest.approx(account["busy"] / total, abs=0.1 + gaps), ended


@OLDEST_AND_NEWEST
def test_the_time_of_a_thread_counts_from_its_birth(recorded_account):
    """Ten milliseconds pass between two looks, so a thread of 15 ms has a third of its time before the first one."""
    path, account, ended = recorded_account("short_threads", 15, "-r", "100")
    found, used = whole(path), functions_of(path)
    gaps = gaps_of(found)
    assert 0.4 - gaps < used("burn") / sum(account.values()) < 1.5, ended  # to begin and to end a thread takes time, too
