# SPDX-License-Identifier: MIT
"""Sub-interpreters: many at once, entered by turns, made and destroyed, with locks of their own. The program says which
interpreter did which work, so each stack can be told to be right or not."""

import collections
import re

import pytest

import environment
import plain_stream
from recording import collapsed, run_record, whole

ROLE = re.compile(r"(?:role|leaf)_(\d+) \(")
INTERPRETER = re.compile(r"interpreter (\d+);")

ELSEWHERE = 128  # bit of a status: schemas/stream.md
OLDEST_AND_NEWEST = pytest.mark.pythons("oldest and newest")
OWN_LOCKS = pytest.mark.pythons("each version", since="3.12")  # before, all interpreters have one lock
# roles: number -> its interpreters; spent: interpreter -> seconds of wall and of CPU time, by the program's account
Done = collections.namedtuple("Done", "path info lines roles cpu spent")


@pytest.fixture
def inside(python, program, tmp_path):
    """inside("turns"): what was recorded of a program that works in interpreters in this way."""
    def record(what, *options, seconds=0.7):
        prefix = environment.as_root() if python.root else ()
        path = tmp_path / f"{what}.pyreel"
        ended = run_record(*options, "-o", path, "--", *python.command, program("in_interpreters"), what, seconds,
                           prefix=prefix)
        assert ended.code == 0, ended
        roles = collections.defaultdict(set)
        for number, interpreter in re.findall(r"^role (\d+) (\d+)$", ended.text, re.MULTILINE):
            roles[int(number)].add(int(interpreter))
        cpu = float(re.search(r"^cpu (\S+)$", ended.text, re.MULTILINE)[1])
        spent = {int(interpreter): (float(wall), float(cpu_s)) for interpreter, wall, cpu_s
                 in re.findall(r"^spent (\d+) (\S+) (\S+)$", ended.text, re.MULTILINE)}
        return Done(path, whole(path), collapsed(path).splitlines(), roles, cpu, spent)

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
    assert done.info["failed"] <= 0.02 * done.info["samples"] + 3, done.info["failures"]  # of looks that are not proved
    return {number: sum(interpreters.values()) for number, interpreters in seen.items()}


@pytest.mark.short
def test_each_does_its_own_work(inside):
    done = inside("few")
    samples = assert_right(done)
    # A leaf may be missing for as long as a code object that was freed is taken for the new one at its address.
    assert set(samples) <= set(done.roles) == set(range(1, 9)) and len(samples) >= 7, samples


@OLDEST_AND_NEWEST
def test_fifty_of_them(inside):
    done = inside("many", seconds=0.5)
    samples = assert_right(done)
    assert samples  # on a busy machine many are over before they are looked at
    assert len({thread["interpreter"] for thread in done.info["threads"]}) > 20


@pytest.mark.short
def test_a_thread_that_enters_them_by_turns(inside):
    """The stacks of the thread in the other interpreters say that they wait."""
    done = inside("turns", "--compression", "none")
    samples = assert_right(done)
    assert set(samples) == {1, 2, 3, 4}
    assert {thread["tid"] for thread in done.info["threads"]} == {done.info["processes"][0]["pid"]}

    recording = plain_stream.Recording(done.path)
    assert len(set(recording.tids.values())) == 1 < len(recording.tids), recording.tids
    there = collections.Counter()  # the stacks of a look -> of them, the stacks that the thread is in -> looks
    for look, count in recording.looks.items():
        there[len(look), sum(1 for _, status in look if not status & ELSEWHERE)] += count
    assert sum(count for (stacks, _), count in there.items() if stacks > 1) > 0, there
    # A look at a program of several interpreters is live: the thread may go from one to another meanwhile.
    assert sum(count for (stacks, here), count in there.items() if stacks > 0 and here != 1) <= 0.02 * there.total(), there


@pytest.mark.sanitized("lists of interpreters that change")
def test_they_are_made_and_destroyed(inside):
    done = inside("come_and_go", seconds=1.5)
    samples = assert_right(done)
    assert samples[1000] > 0.1 * done.info["ticks"], samples
    assert len(samples) > 2
    interpreters = set().union(*done.roles.values())
    assert {thread["interpreter"] for thread in done.info["threads"]} <= interpreters | {0}
    (lasting,) = done.roles[1000]
    short = [thread for thread in done.info["threads"] if thread["interpreter"] not in (0, lasting)]
    assert all(thread["end_s"] for thread in short)
    assert min(thread["end_s"] - thread["start_s"] for thread in short) < 0.5 * done.info["duration_s"]


def working(done):
    """The threads' states in which roles worked: those in interpreters, but for the ones that only made them."""
    inside = [thread for thread in done.info["threads"] if thread["interpreter"] > 0]
    return sorted(inside, key=lambda thread: thread["samples"])[-2:]


@pytest.mark.short
@OWN_LOCKS
def test_with_locks_of_their_own_each_has_its_lock_and_its_time(inside, python):
    """It keeps the lock while it waits for a processor."""
    done = inside("own_locks", seconds=0.4)
    assert_right(done)
    told = sum(thread["cpu_s"] for thread in done.info["threads"])
    assert told > 0.4 * done.cpu, done.info["threads"]
    if python.minor > 12:  # where a thread that enters one has a state of its own in it
        assert all(thread["cpu_s"] > 0.2 * done.cpu and thread["gil_percent"] > 60 for thread in working(done)), working(done)


@OLDEST_AND_NEWEST
def test_one_lock_is_had_by_one(inside):
    done = inside("one_lock", seconds=0.3)
    assert_right(done)
    assert all(thread["gil_percent"] > 5 for thread in working(done)), working(done)
    assert sum(thread["gil_percent"] * thread["wall_s"] / 100 for thread in working(done)) < 1.1 * done.info["duration_s"]


@pytest.mark.parametrize("options", [(), ("--disturb", "0")], ids=["exact", "live"])
def test_time_of_a_thread_is_where_the_thread_is(inside, options):
    """In 3.11 a thread that enters another interpreter keeps the lock, and the lock's last holder does not change. The
    program does not count the time in which it begins and ends, in its main interpreter."""
    done = inside("turns_with_one_lock", *options, seconds=0.6)
    assert_right(done)
    assert len(done.spent) == 3, done.spent
    wall, cpu = collections.Counter(), collections.Counter()
    for thread in done.info["threads"]:
        wall[thread["interpreter"]] += thread["wall_s"]
        cpu[thread["interpreter"]] += thread["cpu_s"]
    for interpreter, (wall_s, cpu_s) in done.spent.items():
        assert cpu[interpreter] > 0.4 * cpu_s, (cpu, done.spent)
        if interpreter > 0:
            assert wall[interpreter] < 1.3 * wall_s + 0.1, (wall, done.spent)
            assert cpu[interpreter] < 1.3 * cpu_s + 0.1, (cpu, done.spent)
    assert cpu.total() < 1.1 * done.cpu + 0.2, (cpu, done.cpu)  # it ends after it has said so


@pytest.mark.pythons("each version", since="3.14")  # which brought InterpreterPoolExecutor
def test_a_pool_of_them(inside):
    done = inside("pool", seconds=0.2)
    seen = seen_in(done)
    assert set(seen) == {1, 2, 3}
    assert all(len(interpreters) == 1 and 0 not in interpreters for interpreters in seen.values()), seen


@pytest.mark.pythons("oldest and newest", since="3.12")
def test_all_that_have_a_lock_are_sampled(inside):
    """Two at a time, which one lock would not allow."""
    done = inside("own_locks", "-t", "gil", "--compression", "none", seconds=0.3)
    assert set(assert_right(done)) == {1, 2}
    assert max(len(look) for look in plain_stream.Recording(done.path).looks) >= 2
