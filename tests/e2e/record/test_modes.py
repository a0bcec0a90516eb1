# SPDX-License-Identifier: MIT
"""What threads do, as recordings tell it: modes keep what they say, and C code and garbage collection are marked."""

import collections

import pytest

import stacks
from conftest import environment
from recording import attach, collapsed, whole

MARGIN = 0.15  # of a share: sampling error, and what a busy machine adds


@pytest.fixture
def doing(python, program, start, tmp_path):
    """doing("sleeps", "-m", "cpu"): the recording of a program that does this."""
    prefix = environment.as_root() if python.root else ()

    def record(what, *options, seconds=1.0):
        target = start(*python.command, program("doing"), what)
        path = tmp_path / "doing.pyreel"
        attach(target, path, *options, seconds=seconds, prefix=prefix)
        return path

    return record


def functions(path):
    """How often each function was in a stack."""
    seen = collections.Counter()
    for counted in stacks.of_collapsed(collapsed(path)).values():
        for stack, count in counted.items():
            for name in {frame[0] for frame in stack}:
                seen[name] += count
    return seen


def at_work(told):
    """The part of the time in which the only thread used a processor, by the kernel's count: 0.3 of it, if it gets one when it
    wants one."""
    (thread,) = told["threads"]
    return thread["cpu_s"] / told["duration_s"]


@pytest.mark.sanitized("the exceptions of threads, coroutines and generators")
def test_exception_mode_keeps_what_raises_or_handles(doing):
    path = doing("exceptions", "-m", "exception", seconds=2)
    told, seen = whole(path), functions(path)
    assert told["mode"] == "exception"
    wanted = {"with_handler", "with_finally_on_the_way", "with_handler_in_generator", "with_handler_around_generator",
              "with_handler_in_coroutine", "with_handler_in_genexpr", "with_handler_in_callee_of_coroutine",
              "with_handler_around_nested_generators"}
    assert {name for name in seen if name.startswith("with_")} == wanted
    wrong = sum(count for name, count in seen.items() if name.startswith("none_"))
    assert wrong <= 0.01 * told["samples"], seen  # between two functions by chance
    share = told["samples"] / told["ticks"]
    assert abs(share - 8 / 13) < MARGIN, share


@pytest.mark.pythons("oldest and newest")
def test_cpu_mode_keeps_who_has_a_processor(doing):
    path = doing("sleeps", "-m", "cpu")
    told, seen = whole(path), functions(path)
    share = told["samples"] / told["ticks"]
    assert at_work(told) - MARGIN < share < 0.3 + MARGIN, (share, at_work(told))
    assert seen["spin"] > 0.5 * told["samples"], seen  # the rest woke, and waits for a processor


def test_gil_mode_keeps_who_has_the_lock(doing):
    told = whole(doing("two", "-m", "gil"))
    assert 0.9 * told["ticks"] <= told["samples"] <= 1.02 * told["ticks"], (told["samples"], told["ticks"])
    assert len(told["threads"]) == 2
    assert all(0.2 < thread["samples"] / told["samples"] < 0.8 for thread in told["threads"]), told["threads"]


@pytest.mark.pythons("oldest and newest")
def test_a_sleeping_thread_has_no_lock(doing):
    told = whole(doing("sleeps", "-m", "gil"))
    share = told["samples"] / told["ticks"]
    assert at_work(told) - MARGIN < share < 0.3 + MARGIN, (share, at_work(told))


@pytest.mark.pythons("oldest and newest")
def test_what_a_mode_leaves_out_is_still_looked_at(doing):
    """A program that never handles an exception: no samples, and all of its time."""
    told = whole(doing("sleeps", "-m", "exception"))
    assert told["samples"] == 0 and told["failed"] == 0
    due = told["ticks"] + told["missed"] + told["figures"]["ticks_left_out"]
    assert due >= 0.85 * told["duration_s"] * told["rate_hz"]


@pytest.mark.sanitized("frames between C code; the state of the collector")
def test_c_code_between_python_frames_is_marked(doing):
    seen = stacks.of_collapsed(collapsed(doing("calls_c", "--native")))
    (counted,) = seen.values()
    for stack in counted:
        names = [frame[0] for frame in stack]
        assert names[0] == "<module>", stack
        if "key" in names:
            at = names.index("key")
            assert names[at - 2:at] == ["calls_c", "<native>"], stack
            assert names.count("<native>") == 1, stack
    assert any("key" in {frame[0] for frame in stack} for stack in counted)


@pytest.mark.pythons("oldest and newest")
def test_c_code_is_not_marked_unless_asked(doing):
    assert "<native>" not in functions(doing("calls_c"))


@pytest.mark.sanitized("frames between C code; the state of the collector")
def test_garbage_collection_is_marked_below_who_started_it(doing):
    path = doing("collects")
    told, seen = whole(path), functions(path)
    assert seen["<GC>"] > 0.1 * told["samples"], seen
    for stack in stacks.of_collapsed(collapsed(path)).popitem()[1]:
        names = [frame[0] for frame in stack]
        assert "<GC>" not in names or names == ["<module>", "collects", "<GC>"], stack


@pytest.mark.pythons("oldest and newest")
def test_garbage_collection_is_not_marked_when_it_is_not_wanted(doing):
    assert "<GC>" not in functions(doing("collects", "--no-gc"))
