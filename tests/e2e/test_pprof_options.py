# SPDX-License-Identifier: MIT
"""The options of pyreel-pprof alone: what each changes in the profile, and that the sums stay."""

import collections
import json

import pytest

import known_program
import pprof_check
from environment import CONVERTERS, as_root
from recording import run_record, succeed


@pytest.fixture
def profile_of(tmp_path):
    """Converts recordings with options; the profile, which obeys the strict rules."""
    def convert(*arguments):
        out = tmp_path / "out.pb.gz"
        succeed(CONVERTERS["pprof"], "-q", "-o", out, *arguments)
        profile, problems = pprof_check.examine(out)
        assert problems == []
        return profile
    return convert


def positions(profile):
    """By function and line: the columns."""
    columns = collections.defaultdict(set)
    for location in profile["location"]:
        (line,) = location["line"]
        function = profile["function"][line["function_id"] - 1]
        columns[pprof_check.text_at(profile, function["name"]), line["line"]].add(line["column"])
    return columns


def totals(profile):
    return pprof_check.summary(profile)["totals"]


# ---- columns ----

def test_a_call_has_its_column_on_request(recorded, profile_of):
    lines, columns = profile_of(recorded.path), profile_of(recorded.path, "--columns")
    assert totals(lines) == totals(columns)
    assert set().union(*positions(lines).values()) == {0}
    for caller, text in (("outer", "middle(until)  #"), ("middle", "inner(until)  #"), ("rounds", "mill.grind(due")):
        line = known_program.line_of(text)
        assert known_program.LINES[line].index(text) + 1 in positions(columns)[caller, line]
    assert profile_of(recorded.path, "--columns", "--lines") == lines


# ---- modules ----

@pytest.mark.pythons("oldest and newest")
def test_names_have_the_modules_that_python_has(python, program, profile_of, tmp_path):
    """Python calls the script's module __main__, and the profile has the script's name instead."""
    path = tmp_path / "a.pyreel"
    ended = run_record("-q", "-o", path, "--", *python.command, program("in_modules"), 0.6,
                       prefix=as_root() if python.root else ())
    assert ended.code == 0, ended
    plain, qualified = profile_of(path), profile_of(path, "--qualify")
    names = {name for name, _, _ in pprof_check.summary(qualified)["defined"]}
    assert "in_modules.<module>" in names
    for module, name in json.loads(ended.text):
        assert f"{module.replace('__main__', 'in_modules')}.{name}" in names
    assert totals(plain) == totals(qualified)
    assert len(plain["sample"]) == len(qualified["sample"])
