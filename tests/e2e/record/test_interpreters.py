# SPDX-License-Identifier: MIT
"""Sub-interpreters: many at once, entered by turns, made and destroyed, with locks of their own. The program says which
interpreter did which work, so each stack can be told to be right or not."""

import collections
import re

import pytest

import plain_stream
from environment import as_root
from recording import CHANGES, attach, collapsed, cpu_s_of, info

ROLE = re.compile(r"(?:role|leaf)_(\d+) \(")
INTERPRETER = re.compile(r"interpreter (\d+);")

ELSEWHERE = 128  # bit of a status: schemas/stream.md
OLDEST_AND_NEWEST = pytest.mark.pythons("oldest and newest")
OWN_LOCKS = pytest.mark.pythons("each version", since="3.12")  # before, all interpreters have one lock
Inside = collections.namedtuple("Inside", "path info lines roles cpu")  # roles: number -> its interpreters


def roles_in(path):
    return {int(number) for number in ROLE.findall(collapsed(path))}


def interpreters(found, *amounts):
    """Those below the main one, of the threads that have some of each amount."""
    return {thread["interpreter"] for thread in found["threads"]
            if thread["interpreter"] > 0 and all(thread[amount] for amount in amounts)}


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
    """Role -> {interpreter: samples}. No stack has two roles."""
    seen = collections.defaultdict(collections.Counter)
    for line in done.lines:
        stack, _, count = line.rpartition(" ")
        found = {int(number) for number in ROLE.findall(stack)}
        assert len(found) <= 1, f"work of two interpreters: {stack}"
        match = INTERPRETER.match(stack)
        for number in found:
            seen[number][int(match[1]) if match else 0] += int(count)
    return seen


def assert_right(done):
    seen = seen_in(done)
    for number, interpreters in seen.items():
        wrong = set(interpreters) - done.roles[number]
        assert not wrong, f"role {number} in {wrong}, and it was in {done.roles[number]}"
    assert done.info["failures"].keys() <= CHANGES
    assert done.info["failed"] < done.info["samples"]
    return {number: sum(interpreters.values()) for number, interpreters in seen.items()}


@pytest.mark.short
def test_each_does_its_own_work(inside):
    # A leaf may be missing for as long as a code object that was freed is taken for the new one at its address.
    done = inside("few", lambda path, found: len(roles_in(path)) >= 7)
    assert set(assert_right(done)) <= set(done.roles) == set(range(1, 9))


@OLDEST_AND_NEWEST
def test_fifty_of_them(inside):
    assert_right(inside("many", lambda path, found: len(interpreters(found)) == 50 and roles_in(path)))


@pytest.mark.short
def test_a_thread_that_enters_them_by_turns(inside):
    """The stacks of the thread in the other interpreters say that they wait."""
    done = inside("turns", lambda path, found: roles_in(path) == {1, 2, 3, 4}, "--compression", "none")
    assert set(assert_right(done)) == {1, 2, 3, 4}
    assert {thread["tid"] for thread in done.info["threads"]} == {done.info["processes"][0]["pid"]}

    recording = plain_stream.Recording(done.path)
    assert len(set(recording.tids.values())) == 1 < len(recording.tids), recording.tids
    # A look at a program of several interpreters is live: the thread may go from one to another meanwhile. How often is for
    # tests/oracle/test_accounts.py.
    assert any(len(look) > 1 and sum(not status & ELSEWHERE for _, status in look) == 1 for look in recording.looks)


@pytest.mark.sanitized("lists of interpreters that change")
def test_they_are_made_and_destroyed(inside):
    def several_have_gone(path, found):
        return 1000 in roles_in(path) and len(roles_in(path)) > 2 and len(interpreters(found, "end_s")) > 2

    done = inside("come_and_go", several_have_gone)
    assert_right(done)
    assert interpreters(done.info) <= set().union(*done.roles.values())
    (lasting,) = done.roles[1000]
    short = [thread for thread in done.info["threads"] if thread["interpreter"] not in (0, lasting)]
    assert len({thread["interpreter"] for thread in short if not thread["end_s"]}) <= 1  # one at a time
    lives = [thread["end_s"] - thread["start_s"] for thread in short if thread["end_s"]]
    assert min(lives) <= 0.5 * done.info["duration_s"], lives


def working(done):
    """The threads' states in which roles worked: those in interpreters, but for the ones that only made them."""
    inside = [thread for thread in done.info["threads"] if thread["interpreter"] > 0]
    return sorted(inside, key=lambda thread: thread["samples"])[-2:]


def assert_no_time_counts_twice(done):
    """Of programs that were recorded for a second of CPU time: they say theirs a little before they end."""
    assert cpu_s_of(done.info["threads"]) < 1.5 * done.cpu + 0.2


def locked_s(done):
    return sum(thread["gil_percent"] * thread["wall_s"] / 100 for thread in working(done))


@pytest.mark.short
@OWN_LOCKS
def test_with_locks_of_their_own_each_has_its_lock_and_its_time(inside, python):
    """In 3.12 a thread that enters one has no state of its own in it: the state is that of the thread which made the interpreter,
    and this thread may use no CPU time any more when the recorder comes."""
    count, amounts = (2, ("cpu_s", "gil_percent")) if python.minor > 12 else (1, ("gil_percent",))

    def each_has_worked(path, found):
        return cpu_s_of(found["threads"]) >= 1 and len(interpreters(found, *amounts)) >= count

    done = inside("own_locks", each_has_worked)
    assert_right(done)
    assert_no_time_counts_twice(done)


@OLDEST_AND_NEWEST
def test_one_lock_is_had_by_one(inside):
    done = inside("one_lock", lambda path, found: len(interpreters(found, "gil_percent")) == 2)
    assert_right(done)
    assert locked_s(done) < 1.1 * done.info["duration_s"]


@pytest.mark.parametrize("options", [(), ("--disturb", "0")], ids=["exact", "live"])
def test_time_of_a_thread_is_where_the_thread_is(inside, options):
    """It is in one place at a time. How much is where is for tests/oracle/test_accounts.py."""
    def each_has_worked(path, found):
        return cpu_s_of(found["threads"]) >= 1 and len(interpreters(found, "cpu_s", "wall_s")) == 2

    done = inside("turns_with_one_lock", each_has_worked, *options)
    assert_right(done)
    assert_no_time_counts_twice(done)
    assert sum(thread["wall_s"] for thread in done.info["threads"]) <= 1.05 * done.info["duration_s"]


@pytest.mark.pythons("each version", since="3.14")  # which brought InterpreterPoolExecutor
def test_a_pool_of_them(inside):
    done = inside("pool", lambda path, found: roles_in(path) == {1, 2, 3})
    seen = seen_in(done)
    assert set(seen) == {1, 2, 3}
    assert all(len(interpreters) == 1 and 0 not in interpreters for interpreters in seen.values()), seen


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
