# SPDX-License-Identifier: MIT
"""Collapsed stacks whose lines can be compared and merged, and frames that are chosen."""

import collections
import re

import pytest

import made_stream
from environment import CONVERTERS
from golden import STREAMS, frozen
from plain_stream import started_later
from recording import convert, counting, info, succeed

pytestmark = pytest.mark.short

COPIES = 40
SPIN = STREAMS / "rotated-3.13" / "recording-0001.pyreel"  # two threads that run, and imports
IDLE = frozen("plain-3.11")  # a thread that runs, and one that sleeps


def lines_of(*arguments):
    lines = [line.rpartition(" ") for line in succeed(CONVERTERS["collapsed"], *counting(arguments)).text.splitlines()]
    assert len({stack for stack, _, _ in lines}) == len(lines), "a stack is said twice"
    return {stack: int(count) for stack, _, count in lines}


def test_two_runs_have_their_stacks_in_common(tmp_path):
    """Numbers of processes and threads are no part of a line, unless they are asked for."""
    samples, paths = made_stream.Samples([[("f", "f.py", line)] for line in (1, 2)]), [tmp_path / "one", tmp_path / "other"]
    for pid, path in enumerate(paths, 1):
        made_stream.write(path, samples, pid=pid, start_unix_ns=pid)
    one, other = map(lines_of, paths)
    assert one == other and len(one) == 2
    one, other = (lines_of("--ids", path) for path in paths)
    assert len(one) == len(other) == 2 and not set(one) & set(other)


def test_equal_processes_are_merged(tmp_path):
    """The lines of many recordings are those of one, with all samples."""
    data = IDLE.read_bytes()
    copies = [tmp_path / f"copy-{number}.pyreel" for number in range(COPIES)]
    for number, path in enumerate(copies):
        path.write_bytes(started_later(data, number + 1))
    for roots in ("thread", "interpreter,thread,task", "none"):
        one = lines_of("--roots", roots, IDLE)
        assert lines_of("--roots", roots, *copies) == {stack: COPIES * count for stack, count in one.items()}
    usual = lines_of(*copies)
    assert len(usual) == len(lines_of(IDLE)) and all(stack.startswith("small.py;") for stack in usual)
    apart = lines_of("--roots", "recording,thread", *copies)
    assert len(apart) == COPIES * len(lines_of("--roots", "thread", IDLE))
    assert {stack.split(";")[0] for stack in apart} == {path.stem for path in copies}
    assert len(lines_of("--ids", *copies)) == COPIES * len(lines_of("--ids", IDLE))


def test_filters_of_frames_keep_the_sums():
    path = SPIN
    whole = lines_of(path)
    total = sum(whole.values())
    assert total == info(path)["samples"]
    hidden = lines_of("--hide", "^spin ", path)
    assert sum(hidden.values()) == total and not any(";spin (" in stack for stack in hidden)
    assert any(";spin (" in stack for stack in whole)
    nothing = lines_of("--hide", ".", "--roots", "none", path)
    assert nothing == {"<hidden>": total}
    focused = lines_of("--focus", "^spin ", path)
    assert focused == {stack: count for stack, count in whole.items() if ";spin (" in stack}
    assert lines_of("--focus", "^spin ", "--focus", "^Thread", path).items() >= focused.items()
    assert {stack: 0 for stack in lines_of("--focus", "^spin ", "--hide", "^spin ", path)}.keys() <= hidden.keys()
    folded = lines_of("--fold", "import", "--fold", "stdlib,site-packages", path)
    assert sum(folded.values()) == total
    assert not any(re.search(r"\(threading\.py:|<frozen|(<\w+>);\1", stack) for stack in folded)
    assert any("<stdlib>;spin (" in stack for stack in folded)


def test_lines_can_be_sorted_by_number():
    text = succeed(CONVERTERS["collapsed"], "--sort", "count", SPIN).text
    numbers = [int(line.rpartition(" ")[2]) for line in text.splitlines()]
    assert numbers == sorted(numbers, reverse=True) and len(set(numbers)) > 1
    usual = succeed(CONVERTERS["collapsed"], SPIN).text
    assert sorted(text.splitlines()) == sorted(usual.splitlines()) and text != usual
    assert succeed(CONVERTERS["collapsed"], "--sort", "stack", SPIN).text == usual


def test_threads_with_automatic_names_are_one():
    assert {stack.split(";")[0] for stack in lines_of(SPIN)} == {"MainThread", "Thread (spin)"}
    assert any(stack.startswith("Thread-1 (spin) (22124);") for stack in lines_of("--ids", SPIN))


def test_columns_stand_behind_lines():
    columns = lines_of("--columns", SPIN)
    merged = collections.Counter()
    for stack, count in columns.items():
        merged[re.sub(r":(\d+):\d+\)", r":\1)", stack)] += count
    assert merged == lines_of("--lines", SPIN) == lines_of(SPIN)
    assert any(re.search(r"spin \(doing\.py:\d+:\d+\)", stack) for stack in columns)


def test_threads_that_do_not_run_are_left_out(tmp_path):
    everything, awake = lines_of(IDLE), lines_of("--no-idle", IDLE)
    asleep = {stack: count for stack, count in everything.items() if ";idle (" in stack}
    assert sum(asleep.values()) > 20 and {stack: count for stack, count in everything.items() if stack not in asleep} == awake
    assert 0 < sum(lines_of("--mode", "gil", IDLE).values()) <= sum(awake.values())
    said = convert("collapsed", IDLE, "--no-idle", "-v", "-o", tmp_path / "out").messages
    assert f": {sum(awake.values())} samples," in said
    cpu_us = [sum(lines_of("--weight", "cpu", *options, IDLE).values()) for options in ([], ["--no-idle"])]
    assert cpu_us[1] == pytest.approx(cpu_us[0], rel=0.01)


@pytest.mark.parametrize("options, words", [
    (["--hide", "("], "--hide '(' is no regular expression: "),
    (["--focus", "[a"], "--focus '[a' is no regular expression: "),
    (["--fold", "imports"], "'imports'"),
    (["--roots", "thread,none"], "'thread,none'"),
    (["--sort", "name"], "'name'")])
def test_misuse_says_why(tmp_path, options, words):
    ended = convert("collapsed", SPIN, *options, "-o", tmp_path / "out")
    assert (ended.code, ended.output) == (2, b"") and words in ended.messages
    assert list(tmp_path.iterdir()) == []
