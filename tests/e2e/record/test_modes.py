# SPDX-License-Identifier: MIT
"""What threads do, as recordings tell it: modes keep what they say, and C code and garbage collection are marked. Programs
run until they have used a stated CPU time, however long that takes."""

import collections

import pytest

import stacks
from environment import as_root
from recording import attach, collapsed, run_record, whole

OLDEST_AND_NEWEST = pytest.mark.pythons("oldest and newest")


@pytest.fixture
def doing(python, program, tmp_path):
    """doing("sleeps", 1, "-m", "cpu"): the recording of a program that does this for a second of CPU time."""
    def record(what, seconds, *options):
        path = tmp_path / "doing.pyreel"
        ended = run_record(*options, "-o", path, "--", *python.command, program("doing"), what, seconds,
                           prefix=as_root() if python.root else ())
        assert ended.code == 0, ended
        return path

    return record


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
    path = doing("exceptions", 0.8, "-m", "exception")
    told, seen = whole(path), functions(stacks_of(path, "exceptions"))
    assert told["mode"] == "exception"
    wanted = {"with_handler", "with_finally_on_the_way", "with_handler_in_generator", "with_handler_around_generator",
              "with_handler_in_coroutine", "with_handler_in_genexpr", "with_handler_in_callee_of_coroutine",
              "with_handler_around_nested_generators"}
    assert {name for name in seen if name.startswith("with_")} == wanted
    wrong = sum(count for name, count in seen.items() if name.startswith("none_"))
    assert wrong <= 0.01 * told["samples"], seen  # between two functions by chance


ASLEEP = 800  # ticks in which the program sleeps, at once; in some more it has woken, and waits for a processor


@pytest.mark.short
@pytest.mark.parametrize("mode", ["wall", "cpu", "gil"])
@OLDEST_AND_NEWEST
def test_a_mode_keeps_a_sleeping_thread_or_not(doing, mode):
    path = doing("sleeps_long", 0.1, "-m", mode)
    assert whole(path)["mode"] == mode
    seen = stacks_of(path, "sleeps_long")
    at_work, asleep = seen["<module>", "sleeps_long", "spin"], seen["<module>", "sleeps_long"]
    assert at_work > 20, seen
    assert asleep > 0.5 * ASLEEP if mode == "wall" else asleep < 0.6 * ASLEEP, seen


@pytest.mark.short
@pytest.mark.parametrize("options", [("-m", "gil"), ("-t", "gil")], ids=" ".join)
def test_one_thread_at_a_time_has_the_lock(doing, options):
    """When it is given away, nobody has it until the other thread gets a processor."""
    path = doing("two", 0.5, *options)
    told = whole(path)
    assert 0.1 * told["ticks"] < told["samples"] <= 1.02 * told["ticks"]
    assert len(told["threads"]) == 2
    assert all(thread["samples"] > 0.05 * told["samples"] for thread in told["threads"]), told["threads"]
    assert set(stacks_of(path, "spin")) >= {("<module>", "two", "spin")}


@pytest.mark.short
@OLDEST_AND_NEWEST
def test_only_the_main_thread_can_be_asked_for(doing):
    told = whole(doing("two", 0.3, "-t", "main"))
    assert [thread["main"] for thread in told["threads"]] == [True]
    assert 0 < told["samples"] <= told["ticks"]


@OLDEST_AND_NEWEST
def test_what_a_mode_leaves_out_is_still_looked_at(python, program, start, tmp_path):
    """A program that never handles an exception: no samples, and all of its time."""
    attach(start(*python.command, program("doing"), "sleeps"), tmp_path / "a.pyreel", "-m", "exception", seconds=1,
           prefix=as_root() if python.root else ())
    told = whole(tmp_path / "a.pyreel")
    assert told["samples"] == 0 and told["failed"] == 0
    due = told["ticks"] + told["missed"] + told["figures"]["ticks_left_out"]
    assert due >= 0.5 * told["duration_s"] * told["rate_hz"]


# ---- C code, and the collector ----

@pytest.mark.short
@pytest.mark.sanitized("frames between C code; the state of the collector")
def test_c_code_between_python_frames_is_marked(doing):
    seen = stacks_of(doing("calls_c", 0.3, "--native"), "calls_c")
    below = {stack for stack in seen if "key" in stack}
    assert below
    for stack in below:
        at = stack.index("key")
        assert stack[:at] == ("<module>", "calls_c", "<native>") and "<native>" not in stack[at:], stack
    assert all(stack[0] == "<module>" for stack in seen), seen


@pytest.mark.short
@pytest.mark.sanitized("frames between C code; the state of the collector")
def test_garbage_collection_is_marked_below_who_started_it(doing):
    path = doing("collects", 0.3)
    seen = stacks_of(path, "collects")
    assert {stack for stack in seen if "<GC>" in stack} == {("<module>", "collects", "<GC>")}
    cpu_us = stacks_of(path, "collects", "--weight", "cpu")
    assert cpu_us["<module>", "collects", "<GC>"] > 0.05 * sum(cpu_us.values()), cpu_us


@pytest.mark.short
@pytest.mark.pythons("newest")
@pytest.mark.parametrize("what, options, mark", [("calls_c", (), "<native>"), ("collects", ("--no-gc",), "<GC>")])
def test_a_mark_that_is_not_wanted_is_not_there(doing, what, options, mark):
    seen = functions(stacks_of(doing(what, 0.3, *options), what))
    assert seen[what] > 0 and mark not in seen, seen
