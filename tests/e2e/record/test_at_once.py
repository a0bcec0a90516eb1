# SPDX-License-Identifier: MIT
"""Threads that run Python at the same time: in free-threaded builds, which PYREEL_PYTHONS names, and in interpreters with locks
of their own. Each is exact, and the program keeps account of what they compute."""

import json
import math

import pytest

import stacks
from recording import CHANGES, collapsed, gaps_of, run_record, whole


@pytest.fixture
def recorded(python, program, tmp_path):
    """recorded(WHAT, COUNT): what info says, {function: its share of both}, the same by the account, and how the recorder ended."""
    def record(what, count):
        path = tmp_path / "a.pyreel"
        ended = run_record("-o", path, "--disturb", "10", "--", *python.command, program("at_once"), what, count,
                           prefix=python.prefix)
        assert ended.code == 0, ended
        account = json.loads(ended.text.splitlines()[-1])
        seen = stacks.merged(stacks.of_collapsed(collapsed(path, "--weight", "cpu")))
        functions = {name: stacks.samples(seen, name) for name in account}
        return whole(path), functions["large"] / sum(functions.values()), account["large"] / sum(account.values()), ended

    return record


def assert_exact(found, share, wanted, ended):
    assert found["failures"].keys() <= CHANGES
    assert found["exact_percent"] >= 80, ended  # 99 on a machine that does nothing else
    noise = math.sqrt(wanted * (1 - wanted) / found["ticks"])
    assert abs(share - wanted) <= 4 * noise + 0.03 + gaps_of(found), (share, wanted, ended)


@pytest.mark.pythons("each version", since="3.14")
@pytest.mark.parametrize("count", [1, 4])
def test_interpreters_with_locks_of_their_own(recorded, count):
    assert_exact(*recorded("interpreters", count))


@pytest.mark.parametrize("count", [1, 2, 4, 16])
def test_threads_without_a_lock(python, recorded, count):
    if python.at_once == 1:
        pytest.skip("it has a lock for all threads")
    assert_exact(*recorded("threads", count))
