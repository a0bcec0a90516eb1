# SPDX-License-Identifier: MIT
"""Sub-interpreters: many at once, entered by turns, made and destroyed, with locks of their own. The program says which
interpreter did which work. A thread is one entry, and its stack goes from one interpreter into the next."""

import collections
import re

import pytest

import plain_stream
from environment import as_root
from recording import CHANGES, attach, collapsed, cpu_s_of, info

ROLE = re.compile(r"(?:role|leaf)_(\d+) \(")

OLDEST_AND_NEWEST = pytest.mark.pythons("oldest and newest")
OWN_LOCKS = pytest.mark.pythons("each version", since="3.12")  # before, all interpreters have one lock
Inside = collections.namedtuple("Inside", "path info lines roles cpu")  # roles: number -> its interpreters


def roles_in(path):
    return {int(number) for number in ROLE.findall(collapsed(path))}


@pytest.fixture
def inside(python, program, tmp_path, record_until):
    """inside("turns", is_seen): what was recorded of a program that works in interpreters in this way, until
    is_seen(path, found) holds."""
    def record(what, is_seen, *options):
        path = tmp_path / f"{what}.pyreel"
        done = record_until(path, lambda found: is_seen(path, found), *options, "--", *python.command,
                            program("in_interpreters"), what, prefix=python.prefix)
        roles = collections.defaultdict(set)
        for number, interpreter in re.findall(r"^role (\d+) (\d+)$", done.text, re.MULTILINE):
            roles[int(number)].add(int(interpreter))
        cpu = float(re.search(r"^cpu (\S+)$", done.text, re.MULTILINE)[1])
        return Inside(path, done.info, collapsed(path).splitlines(), roles, cpu)

    return record


def seen_in(done):
    """Role -> {thread: samples}. No stack has two roles, and the work is below the call that entered the interpreter. Where
    a look is not proved, a thread may leave an interpreter, and end, in one."""
    seen, alone = collections.defaultdict(collections.Counter), 0
    for line in done.lines:
        stack, _, count = line.rpartition(" ")
        found = {int(number) for number in ROLE.findall(stack)}
        assert len(found) <= 1, f"work of two interpreters: {stack}"
        for number in found:
            alone += int(count) if not re.search(r";(run|_call|do_call|WorkerContext\.run|script) \(.*?role", stack) else 0
            seen[number][stack.partition(";")[0]] += int(count)
    assert alone <= 2 + 0.01 * sum(sum(threads.values()) for threads in seen.values())
    return seen


def assert_right(done):
    seen = seen_in(done)
    tids = [thread["tid"] for thread in done.info["threads"]]
    assert len(tids) == len(set(tids)), "a thread has two entries"
    assert done.info["failures"].keys() <= CHANGES
    assert done.info["failed"] < done.info["samples"]
    return {number: sum(threads.values()) for number, threads in seen.items()}


@pytest.mark.short
def test_each_does_its_own_work(inside):
    # A leaf may be missing for as long as a code object that was freed is taken for the new one at its address.
    done = inside("few", lambda path, found: len(roles_in(path)) >= 7)
    assert set(assert_right(done)) <= set(done.roles) == set(range(1, 9))
    assert len(done.info["threads"]) == 9


@OLDEST_AND_NEWEST
def test_fifty_of_them(inside):
    assert_right(inside("many", lambda path, found: len(found["threads"]) == 51 and roles_in(path)))


@pytest.mark.short
def test_a_thread_that_enters_them_by_turns(inside):
    done = inside("turns", lambda path, found: roles_in(path) == {1, 2, 3, 4})
    assert set(assert_right(done)) == {1, 2, 3, 4}
    (thread,) = done.info["threads"]
    assert thread["tid"] == done.info["processes"][0]["pid"]


@pytest.mark.sanitized("lists of interpreters that change")
def test_they_are_made_and_destroyed(inside):
    """The thread that makes them lives on."""
    done = inside("come_and_go", lambda path, found: 1000 in roles_in(path) and len(roles_in(path)) > 2)
    assert_right(done)
    assert len(done.info["threads"]) == 2
    assert done.info["threads"][0]["end_s"] > 0.9 * done.info["duration_s"]


def test_what_a_thread_left_behind_is_no_work(inside):
    """Before 3.13, the number in such a state is that of the thread that made the interpreter."""
    done = inside("left_behind", lambda path, found: 2 in roles_in(path) and cpu_s_of(found["threads"]) >= 0.3)
    seen = seen_in(done)
    assert sum(seen[1].values()) < sum(seen[2].values()) / 2, seen
    assert not any(thread.startswith("MainThread") for thread in seen[1])
    assert len(done.info["threads"]) == 2


def working(done):
    """The threads in which roles worked."""
    return [thread for thread in done.info["threads"] if "(run)" in thread["name"]]


def assert_no_time_counts_twice(done):
    """Of programs that were recorded for a second of CPU time: they say theirs a little before they end."""
    assert cpu_s_of(done.info["threads"]) < 1.5 * done.cpu + 0.2


@pytest.mark.short
@OWN_LOCKS
def test_with_locks_of_their_own_each_has_its_lock_and_its_time(inside):
    """In 3.12 a thread that enters one has no state of its own in it: the state is that of the thread which made the
    interpreter. Its frames are on the C stack of the thread that works."""
    def each_has_worked(path, found):
        return sum(thread["cpu_s"] > 0.3 and thread["gil_percent"] > 0 for thread in found["threads"]
                   if "(run)" in thread["name"] and thread["cpu_s"]) == 2

    done = inside("own_locks", each_has_worked)
    assert_right(done)
    assert_no_time_counts_twice(done)
    assert all(len(threads) == 1 for threads in seen_in(done._replace(
        lines=collapsed(done.path, "--ids").splitlines())).values())


@OLDEST_AND_NEWEST
def test_one_lock_is_had_by_one(inside):
    done = inside("one_lock", lambda path, found: sum(bool(thread["gil_percent"]) for thread in found["threads"]
                                                      if "(run)" in thread["name"]) == 2)
    assert_right(done)
    locked_s = sum(thread["gil_percent"] * thread["wall_s"] / 100 for thread in working(done))
    assert locked_s < 1.1 * done.info["duration_s"]


@pytest.mark.parametrize("options", [(), ("--disturb", "0")], ids=["exact", "live"])
def test_a_thread_is_in_one_place_at_a_time(inside, options):
    """How much is where is for tests/oracle/test_accounts.py."""
    done = inside("turns_with_one_lock", lambda path, found: cpu_s_of(found["threads"]) >= 1 and len(roles_in(path)) == 3,
                  *options)
    assert set(assert_right(done)) == {1, 2, 3}
    assert_no_time_counts_twice(done)
    assert sum(thread["wall_s"] for thread in done.info["threads"]) <= 1.05 * done.info["duration_s"]


@pytest.mark.pythons("each version", since="3.14")  # which brought InterpreterPoolExecutor
def test_a_pool_of_them(inside):
    done = inside("pool", lambda path, found: roles_in(path) == {1, 2, 3})
    assert set(assert_right(done)) == {1, 2, 3}
    assert len(done.info["threads"]) == 4


@pytest.mark.pythons("oldest and newest", since="3.12")
def test_all_that_have_a_lock_are_sampled(inside):
    """Two at a time, which one lock would not allow."""
    def two_at_a_time(path, found):
        return roles_in(path) == {1, 2} and found["samples"] > found["ticks"]

    done = inside("own_locks", two_at_a_time, "-t", "gil", "--compression", "none")
    assert set(assert_right(done)) == {1, 2}
    assert max(len(look) for look in plain_stream.Recording(done.path).looks) >= 2


@OLDEST_AND_NEWEST
@pytest.mark.parametrize("count, cut", [(255, False), (256, True), (280, True)])
def test_of_too_many_the_main_one_and_the_newest_are_read(start, program, python, tmp_path, count, cut):
    """The main interpreter is one more."""
    path = tmp_path / "many.pyreel"
    target = start(*python.command, program("many_interpreters"), count)
    ended = attach(target, path, until=lambda found: re.search(r"work \(.* \d+$", collapsed(path), re.M),
                   prefix=as_root() if python.root else ())
    assert ("a process had more than 256 interpreters" in ended.messages) == cut
    found = info(path)
    assert found["figures"].get("interpreters_cut", 0) <= found["ticks"] + found["figures"]["idle_ticks"]
    assert (found["figures"].get("interpreters_cut", 0) > found["ticks"] / 2) == cut
