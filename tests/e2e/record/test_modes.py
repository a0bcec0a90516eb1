# SPDX-License-Identifier: MIT
"""What threads do, as recordings tell it: modes keep what they say, and C code and garbage collection are marked. How much a
mode keeps is for tests/oracle/test_mode_truth.py."""

import collections

import pytest

import stacks
from recording import CHANGES, attach, collapsed, whole

THREAD_START = ("Thread._bootstrap", "Thread._bootstrap_inner", "Thread.run")
OLDEST_AND_NEWEST = pytest.mark.pythons("oldest and newest")


@pytest.fixture
def doing(python, program, tmp_path, record_until):
    """doing("sleeps", is_seen, "-m", "cpu"): the recording of a program that does this, when is_seen(path, found) holds."""
    def record(what, is_seen, *options):
        path = tmp_path / "doing.pyreel"
        record_until(path, lambda found: is_seen(path, found), *options, "--", *python.command, program("doing"), what,
                     prefix=python.prefix)
        return path

    return record


def in_functions(*names):
    """Whether each of these functions was seen."""
    return lambda path, found: set(names) <= functions(stacks.functions(all_stacks(path))).keys()


def all_stacks(path):
    return stacks.merged(stacks.of_collapsed(collapsed(path)))


def stacks_of(path, function, *options):
    """The stacks of names that have this function in them."""
    seen = stacks.merged(stacks.of_collapsed(collapsed(path, *options)))
    return stacks.functions(stacks.within(seen, function))


def functions(seen):
    """How often each function was in a stack."""
    counts = collections.Counter()
    for stack, count in seen.items():
        counts.update({name: count for name in set(stack)})
    return counts


# ---- what a mode keeps ----

@pytest.mark.short
@pytest.mark.sanitized("the exceptions of threads, coroutines and generators")
def test_exception_mode_keeps_what_raises_or_handles(doing):
    wanted = {"with_handler", "with_finally_on_the_way", "with_handler_in_generator", "with_handler_around_generator",
              "with_handler_in_coroutine", "with_handler_in_genexpr", "with_handler_in_callee_of_coroutine",
              "with_handler_around_nested_generators"}
    path = doing("exceptions", in_functions(*wanted), "-m", "exception")
    told, seen = whole(path), functions(stacks_of(path, "exceptions"))
    assert told["mode"] == "exception" and told["threads"][0]["left_out"] > 0
    assert {name for name in seen if name.startswith("with_")} == wanted
    wrong = sum(count for name, count in seen.items() if name.startswith("none_"))
    assert wrong <= told["figures"]["samples_live"], seen  # between two functions by chance


@pytest.mark.short
@pytest.mark.parametrize("mode", ["wall", "cpu", "gil"])
@OLDEST_AND_NEWEST
def test_a_mode_keeps_a_sleeping_thread_or_not(doing, mode):
    """A thread that has woken, and waits for a processor, is kept."""
    at_work, asleep = ("<module>", "sleeps", "spin"), ("<module>", "sleeps")

    def each_is_seen(path, found):
        seen = stacks.functions(all_stacks(path))
        return at_work in seen and (asleep in seen if mode == "wall" else found["left_out"] > 0)

    path = doing("sleeps", each_is_seen, "-m", mode)
    told = whole(path)
    (thread,) = told["threads"]
    assert told["mode"] == mode
    assert (thread["left_out"] == 0) == (mode == "wall"), thread
    assert stacks_of(path, "sleeps")[at_work] > 0


@pytest.mark.short
@pytest.mark.parametrize("options", [("-m", "gil"), ("-t", "gil")], ids=" ".join)
def test_one_thread_at_a_time_has_the_lock(doing, python, options):
    """When it is given away, nobody has it until the other thread gets a processor."""
    def both(path, found):
        seen = stacks_of(path, "spin")
        return {("<module>", "two", "spin"), (*THREAD_START, "beside", "spin")} <= set(seen)

    path = doing("two", both, *options)
    told = whole(path)
    assert 0 < told["samples"] <= 1.02 * told["ticks"] * python.at_once
    assert len(told["threads"]) == 2
    assert all(thread["samples"] > 0 for thread in told["threads"]), told["threads"]


@pytest.mark.short
@OLDEST_AND_NEWEST
def test_only_the_main_thread_can_be_asked_for(doing):
    told = whole(doing("two", lambda path, found: found["samples"] >= 50, "-t", "main"))
    assert [thread["main"] for thread in told["threads"]] == [True]
    assert 0 < told["samples"] <= told["ticks"]


@OLDEST_AND_NEWEST
def test_what_a_mode_leaves_out_is_still_looked_at(python, program, start, tmp_path):
    """A program that never handles an exception: no samples, and all of its ticks."""
    attach(start(*python.command, program("doing"), "sleeps"), tmp_path / "a.pyreel", "-m", "exception",
           until=lambda found: found["left_out"] >= 500, prefix=python.prefix)
    told = whole(tmp_path / "a.pyreel")
    assert told["samples"] == 0 and told["failures"].keys() <= CHANGES
    assert told["left_out"] + told["failed"] == told["ticks"]


# ---- C code, and the collector ----

@pytest.mark.short
@pytest.mark.sanitized("frames between C code; the state of the collector")
def test_c_code_between_python_frames_is_told(doing):
    seen = stacks_of(doing("calls_c", in_functions("key"), "--native"), "calls_c")
    below = {stack for stack in seen if "key" in stack}
    assert below
    for stack in below:
        at = stack.index("key")
        assert stack[:2] == ("<module>", "calls_c") and at > 2 and "key" not in stack[at + 1:], stack
    assert all(stack[0] == "<module>" for stack in seen), seen


@pytest.mark.short
@pytest.mark.sanitized("frames between C code; the state of the collector")
def test_garbage_collection_is_marked_below_who_started_it(doing):
    path = doing("collects", lambda path, found: "<GC>" in functions(stacks_of(path, "collects")))
    seen = stacks_of(path, "collects")
    assert {stack for stack in seen if "<GC>" in stack} == {("<module>", "collects", "<GC>")}


@pytest.mark.short
@pytest.mark.pythons("newest")
@pytest.mark.parametrize("what, options, mark, stack", [
    ("calls_c", (), "<native>", ("<module>", "calls_c", "key", "spin")),
    ("collects", ("--no-gc",), "<GC>", ("<module>", "collects")),
])
def test_a_mark_that_is_not_wanted_is_not_there(doing, what, options, mark, stack):
    path = doing(what, lambda path, found: stacks_of(path, what)[stack] >= 20, *options)
    assert mark not in functions(stacks_of(path, what))
