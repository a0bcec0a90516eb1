# SPDX-License-Identifier: MIT
"""Threads that run Python at the same time: in free-threaded builds, which PYREEL_PYTHONS names, and in interpreters with locks
of their own. Each is exact, and the program keeps account of what they compute."""

import json
import math

import pytest

import stacks
from recording import CHANGES, collapsed, gaps_of, is_starved, run_record, whole

RATE = 1000


@pytest.fixture
def recorded(python, program, tmp_path):
    """recorded(WHAT, COUNT): what info says, the share of one of two functions, the same by the account, by how many looks that
    saw them run, and how the recorder ended."""
    def record(what, count):
        path = tmp_path / "a.pyreel"
        ended = run_record("-o", path, "--disturb", "10", "--", *python.command, program("at_once"), what, count,
                           prefix=python.prefix)
        assert ended.code == 0, ended
        account = json.loads(ended.text.splitlines()[-1])
        seen = stacks.merged(stacks.of_collapsed(collapsed(path, "--weight", "cpu")))
        functions = {name: stacks.samples(seen, name) for name in account}
        found, used = whole(path), sum(account.values())
        looks = min(found["ticks"], RATE * used)  # on a busy machine the program has little time
        return found, functions["large"] / sum(functions.values()), account["large"] / used, looks, ended

    return record


def assert_exact(found, share, wanted, looks, ended):
    assert found["failures"].keys() <= CHANGES
    assert found["exact_percent"] >= 80 or is_starved(found), ended  # 99 on a machine that does nothing else
    noise = math.sqrt(wanted * (1 - wanted) / looks)
    assert abs(share - wanted) <= 4 * noise + 0.03 + gaps_of(found), (share, wanted, looks, ended)


@pytest.mark.pythons("each version", since="3.14")
@pytest.mark.parametrize("count", [1, 4])
def test_interpreters_with_locks_of_their_own(recorded, count):
    assert_exact(*recorded("interpreters", count))


@pytest.mark.parametrize("count", [1, 2, 4, 16])
def test_threads_without_a_lock(python, recorded, count):
    if python.at_once == 1:
        pytest.skip("it has a lock for all threads")
    assert_exact(*recorded("threads", count))


@pytest.mark.pythons("each version")
@pytest.mark.parametrize("count", [1, 4])
def test_threads_that_come_and_go(recorded, count):
    """They spoil the proof of no other thread, and are none that Python does not know."""
    found, *shares, ended = recorded("newcomers", count)
    assert_exact(found, *shares, ended)
    assert not [thread["name"] for thread in found["threads"] if "native thread" in thread["name"]]
    assert found["cpu_native_s"] < 0.05 * found["cpu_s"]


@pytest.mark.pythons("each version")
def test_collections_of_garbage(python, program, tmp_path):
    """The thread that collects is seen to do so, and the threads that compute have their CPU time: in a free-threaded build, the
    collection stops them for a part of it. Before 3.15, such a build shows no more than this part (thread_list.h)."""
    path = tmp_path / "a.pyreel"
    ended = run_record("-o", path, "--disturb", "10", "--", *python.command, program("at_once"), "collections", 1, prefix=python.prefix)
    assert ended.code == 0, ended
    found, told = whole(path), json.loads(ended.text.splitlines()[-1])
    (main,) = [stacks.functions(seen) for (_, tid), seen in stacks.of_collapsed(collapsed(path, "--weight", "cpu")).items()
               if tid == found["processes"][0]["pid"]]
    at_it = {stack: n for stack, n in main.items() if "in_collections" in stack}
    part = sum(n for stack, n in at_it.items() if stack[-1] == "<GC>") / sum(at_it.values())
    noise = math.sqrt(told["part"] * (1 - told["part"]) / found["ticks"])
    most = 4 * noise + 0.03 + gaps_of(found)
    assert 0.02 < part < told["part"] + most, (told, ended)
    if python.at_once == 1 or python.version >= "3.15":
        assert part > told["part"] - most, (told, ended)
    cpu_s = sum(thread["cpu_s"] for thread in found["threads"] if not thread["main"])
    assert cpu_s == pytest.approx(sum(told["cpu"]), rel=0.03 + gaps_of(found), abs=0.02), (told, ended)
