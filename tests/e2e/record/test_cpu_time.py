# SPDX-License-Identifier: MIT
"""The CPU time of functions is what programs that keep account say of themselves, with the options that a user has by
default."""

import json

import pytest

import stacks
from recording import collapsed, run_record, whole

OLDEST_AND_NEWEST = pytest.mark.pythons("oldest and newest")


def functions_of(path):
    """Function -> seconds of CPU time, with that of what it called."""
    times = stacks.functions(stacks.merged(stacks.of_collapsed(collapsed(path, "--weight", "cpu"))))
    return lambda name: sum(time for stack, time in times.items() if name in stack) / 1e6


@OLDEST_AND_NEWEST
@pytest.mark.parametrize("count", [150, 600])
def test_threads_that_wait_take_nothing_from_one_that_works(python, program, tmp_path, count):
    path = tmp_path / "accounts.pyreel"
    ended = run_record("-o", path, "--", *python.command, program("accounts"), "beside_waiters", count, prefix=python.prefix)
    assert ended.code == 0, ended
    account = json.loads(ended.text.splitlines()[-1])
    found, used = whole(path), functions_of(path)
    assert len(found["threads"]) == count + 1
    assert all(thread["cpu_s"] is not None for thread in found["threads"])
    gaps = 2 * found["missed"] / (found["missed"] + found["ticks"])
    total = sum(account.values())
    assert used("busy") + used("other") == pytest.approx(total, rel=0.1 + gaps), ended
    assert used("busy") / (used("busy") + used("other")) == pytest.approx(account["busy"] / total, abs=0.1 + gaps), ended
