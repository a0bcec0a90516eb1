# SPDX-License-Identifier: MIT
"""Collapsed stacks whose lines can be compared and merged, and frames that are chosen."""

import collections
import re

import pytest

from environment import CONVERTERS
from plain_stream import started_later
from recording import convert, info, run_record, succeed

pytestmark = pytest.mark.pythons("oldest and newest")

RUNS, COPIES = 2, 40
CLEAR = 20  # samples of a stack that another run cannot miss
ODD_WAY = re.compile(r"<(?:frozen |GC>|no Python)")  # start and end of Python: rare, and not the program's
WORK = """
import threading, time
end = time.perf_counter() + 0.8
def spin():
    while time.perf_counter() < end:
        pass
def sleep():
    while time.perf_counter() < end:
        time.sleep(0.02)
threads = [threading.Thread(target=target) for target in (spin, sleep)]
for thread in threads:
    thread.start()
spin()
for thread in threads:
    thread.join()
"""


@pytest.fixture(scope="module")
def runs(python, tmp_path_factory):
    """Two runs of one program, whose threads have automatic names."""
    folder = tmp_path_factory.mktemp("runs")
    paths = [folder / f"{number}.pyreel" for number in range(RUNS)]
    for path in paths:
        assert run_record("-q", "--disturb", "5", "--compression", "none", "-o", path, "--", *python.command,
                          "-c", WORK).code == 0
    return paths


def lines_of(*arguments):
    lines = [line.rpartition(" ") for line in succeed(CONVERTERS["collapsed"], *arguments).text.splitlines()]
    assert len({stack for stack, _, _ in lines}) == len(lines), "a stack is said twice"
    return {stack: int(count) for stack, _, count in lines}


def clear_ones(lines):
    return {stack for stack, count in lines.items() if count >= CLEAR and not ODD_WAY.search(stack)}


def test_two_runs_have_their_stacks_in_common(runs):
    one, other = (lines_of(path) for path in runs)
    assert len(clear_ones(one)) >= 2
    assert clear_ones(one) <= set(other) and clear_ones(other) <= set(one)
    one, other = (lines_of("--ids", path) for path in runs)
    assert not set(one) & set(other)


def test_equal_processes_are_merged(runs, tmp_path):
    """The lines of many recordings are those of one, with all samples."""
    data = runs[0].read_bytes()
    copies = [tmp_path / f"copy-{number}.pyreel" for number in range(COPIES)]
    for number, path in enumerate(copies):
        path.write_bytes(started_later(data, number + 1))
    for roots in ("thread", "interpreter,thread,task", "none"):
        one = lines_of("--roots", roots, runs[0])
        assert lines_of("--roots", roots, *copies) == {stack: COPIES * count for stack, count in one.items()}
    usual = lines_of(*copies)
    assert len(usual) == len(lines_of(runs[0])) and all(re.match(r"[^;/]*python\S* -c;", stack) for stack in usual)
    apart = lines_of("--roots", "recording,thread", *copies)
    assert len(apart) == COPIES * len(lines_of("--roots", "thread", runs[0]))
    assert {stack.split(";")[0] for stack in apart} == {path.stem for path in copies}
    assert len(lines_of("--ids", *copies)) == COPIES * len(lines_of("--ids", runs[0]))


def test_filters_of_frames_keep_the_sums(runs):
    path = runs[0]
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


def test_lines_can_be_sorted_by_number(runs):
    text = succeed(CONVERTERS["collapsed"], "--sort", "count", runs[0]).text
    numbers = [int(line.rpartition(" ")[2]) for line in text.splitlines()]
    assert numbers == sorted(numbers, reverse=True) and len(set(numbers)) > 1
    usual = succeed(CONVERTERS["collapsed"], runs[0]).text
    assert sorted(text.splitlines()) == sorted(usual.splitlines()) and text != usual
    assert succeed(CONVERTERS["collapsed"], "--sort", "stack", runs[0]).text == usual


@pytest.mark.pythons("newest")
def test_threads_with_automatic_names_are_one(runs):
    names = {stack.split(";")[0] for stack in lines_of(runs[0])}
    assert names == {"MainThread", "Thread (spin)", "Thread (sleep)"}
    assert len({stack.split(";")[0] for stack in lines_of("--ids", runs[0])}) == 3


def test_columns_stand_behind_lines(runs):
    columns = lines_of("--columns", runs[0])
    merged = collections.Counter()
    for stack, count in columns.items():
        merged[re.sub(r":(\d+):\d+\)", r":\1)", stack)] += count
    assert merged == lines_of("--lines", runs[0]) == lines_of(runs[0])
    assert any(re.search(r"spin \(<string>:\d+:\d+\)", stack) for stack in columns)


def test_threads_that_do_not_run_are_left_out(runs, tmp_path):
    path = runs[0]
    everything, awake = lines_of(path), lines_of("--no-idle", path)
    asleep, asleep_still = (sum(count for stack, count in lines.items() if ";sleep (" in stack) for lines in (everything, awake))
    assert asleep_still < asleep / 2
    assert sum(lines_of("--mode", "gil", path).values()) <= sum(awake.values()) < sum(everything.values())
    said = convert("collapsed", path, "--no-idle", "-v", "-o", tmp_path / "out").messages
    assert f": {sum(awake.values())} samples," in said
    cpu_us = [sum(lines_of("--weight", "cpu", *options, path).values()) for options in ([], ["--no-idle"])]
    assert cpu_us[1] == pytest.approx(cpu_us[0], rel=0.01)


@pytest.mark.parametrize("options, words", [
    (["--hide", "("], "--hide '(' is no regular expression: "),
    (["--focus", "[a"], "--focus '[a' is no regular expression: "),
    (["--fold", "imports"], "'imports'"),
    (["--roots", "thread,none"], "'thread,none'"),
    (["--sort", "name"], "'name'"),
    (["--style", "austin"], "'austin'"),
    *[(["--style", "tachyon", *more], "leave out --roots, --ids") for more in
      (["--ids"], ["--roots", "none"], ["--no-threads"], ["--functions"], ["--columns"], ["--full-paths"], ["--opcodes"],
       ["--sort", "stack"])]])
def test_misuse_says_why(runs, tmp_path, options, words):
    ended = convert("collapsed", runs[0], *options, "-o", tmp_path / "out")
    assert (ended.code, ended.output) == (2, b"") and words in ended.messages
    assert list(tmp_path.iterdir()) == []
