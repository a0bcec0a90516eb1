# SPDX-License-Identifier: MIT
"""The weight that an output has unless one is named, and that no table is empty while there is time to show."""

import collections
import functools
import itertools
import json
import re

import pytest

from environment import CONVERTERS
from golden import STREAMS, frozen
from recording import COUNTS, convert, info, run, run_record, succeed
from report_check import report

pytestmark = [pytest.mark.short, pytest.mark.pythons("oldest and newest")]

KINDS = ["alone", "beside", "groups", "mixed", "rests"]
WEIGHTS = ["samples", "wall", "cpu", "gil", "gil_wait"]
BYS = ["function", "line", "file", "module", "thread", "process", "task", "opcode"]
PLAIN = sorted(path.parent.name for path in STREAMS.glob("*/recording.pyreel"))
TITLE = re.compile(r"(?:### )?((?:Hottest|(?:Threads|Processes|Tasks|Calls) by) .*)")
ROW = re.compile(r"(?: +[\d.]+ |\| [\d.]+ \|)")


@pytest.fixture(scope="session")
def recorded(python, program, tmp_path_factory):
    """recorded("alone"): the recording of the program, and the CPU time that it used."""
    @functools.cache
    def record(kind, *options):
        path = tmp_path_factory.mktemp("weights") / f"{kind}{''.join(options)}.pyreel"
        ended = run_record("-q", *options, "-o", path, "--", *python.command, program("weights"), kind, prefix=python.prefix)
        assert ended.code == 0, ended
        return path, json.loads(ended.text)["cpu_s"]
    return record


def lines_of(*arguments):
    """{stack: number} of collapsed stacks."""
    lines = [line.rpartition(" ") for line in succeed(CONVERTERS["collapsed"], *arguments).text.splitlines()]
    return {stack: int(number) for stack, _, number in lines}


# ---- collapsed stacks have the weight of the report ----

def assert_default_is_that_of_the_report(path):
    """Its name, and its sum. A line is rounded to a microsecond, and one with less than half of one is left out."""
    weight, lines, stacks = report("-q", path)["weight"], lines_of("-q", path), lines_of("-q", *COUNTS, path)
    if weight["unit"] == "samples":
        assert sum(lines.values()) == weight["all"]
    else:
        assert sum(lines.values()) == pytest.approx(weight["all"] * 1e6, abs=1 + len(stacks) / 2)
    if not weight["without_waits"]:
        assert lines == lines_of("-q", "--weight", weight["name"], path)
    assert lines or not weight["all"]
    return weight


@pytest.mark.parametrize("kind", KINDS)
def test_collapsed_stacks_have_the_weight_of_the_report(recorded, kind):
    path, _ = recorded(kind)
    threads = [thread for thread in info(path)["threads"] if thread["wall_s"]]
    part = sum(thread["cpu_s"] for thread in threads) / max(thread["wall_s"] for thread in threads)
    name = assert_default_is_that_of_the_report(path)["name"]
    assert name == "cpu" or (name == "wall" and part < 0.12)  # the other way round, it may have held the GIL


@pytest.mark.parametrize("case", PLAIN)
def test_so_it_is_with_each_kind_of_recording(case):
    if convert("collapsed", frozen(case), "-q").code == 0:
        assert_default_is_that_of_the_report(frozen(case))


def test_a_rate_that_varies_moves_no_share(recorded):
    """Two runs of one program, at two rates: half of the CPU time each, whatever the numbers of samples."""
    paths, account = zip(recorded("alone"), recorded("alone", "-r", "20"))

    def shares(*options):
        sums = collections.Counter()
        for stack, number in lines_of("-q", "--ids", "--roots", "recording", *options, *paths).items():
            sums[stack.partition(";")[0]] += number
        return [number / sums.total() for _, number in sorted(sums.items())]

    assert shares() == pytest.approx([one / sum(account) for one in account], abs=0.05)
    assert max(shares(*COUNTS)) > 0.6


# ---- no table is empty ----

def tables_of(text):
    """[(title, number of rows, what follows them)] of text or Markdown."""
    found = []
    for line in text.splitlines():
        title = TITLE.fullmatch(line)
        if title:
            found.append((title[1], [], []))
        elif found:
            found[-1][1 if ROW.match(line) else 2].append(line)
    return found


def assert_tables_have_rows(path, *options):
    told = report("-q", *options, path)
    for form in ((), ("--markdown",)):
        text = succeed(CONVERTERS["report"], "-q", *options, *form, path).text
        tables = tables_of(text)
        assert tables, f"no table of {told['weight']['all']}: {text}"
        for title, rows, rest in tables:
            said = any(line.startswith("No sample here has ") for line in rest)
            assert rows or (said and told["sections"][0]["all"] == 0), f"{title} is empty: {text}"


@pytest.mark.parametrize("weight", [None, *WEIGHTS])
@pytest.mark.parametrize("kind", KINDS)
def test_no_table_is_empty_while_there_is_time(recorded, kind, weight):
    path, _ = recorded(kind)
    options = ["--weight", weight] if weight else []
    if weight and run(CONVERTERS["report"], "-q", *options, path).code:
        assert weight == "gil_wait"  # not every version of CPython says who waits for the lock
        return
    for by, ids in itertools.product(BYS, ([], ["--ids"])):
        assert_tables_have_rows(path, *options, *ids, "--by", by)
    assert_tables_have_rows(path, *options, "--tree")


@pytest.mark.parametrize("kind", ["beside", "groups"])
def test_what_only_threads_have_that_waited_is_shown(recorded, kind):
    path, _ = recorded(kind)
    for options in itertools.product(["wall", "samples"], ["function", "line"], [(), ("--ids",)]):
        assert_tables_have_rows(path, "--focus", "^wait ", "--weight", options[0], "--by", options[1], *options[2])
    assert "wait" in succeed(CONVERTERS["report"], "--focus", "^wait ", "--weight", "wall", path).text.partition("Hottest")[2]
