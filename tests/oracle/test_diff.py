# SPDX-License-Identifier: MIT
"""What pyreel-diff says of real runs: what became slower is found, and nothing else is."""

import json

import pytest

from environment import DIFF
from recording import run, run_record


@pytest.fixture(scope="module")
def runs(python3, program, tmp_path_factory):
    """Two runs of a program, and two in which sort() takes three times as long, recorded in turn."""
    folder, made = tmp_path_factory.mktemp("runs"), {}
    for name, factor in (("old-1", 1), ("new-1", 3), ("new-2", 3), ("old-2", 1)):
        made[name] = folder / f"{name}.pyreel"
        ended = run_record("-q", "-o", made[name], "--", python3, program("rounds"), factor)
        assert ended.code == 0, ended
    return made


def diff(*arguments, code):
    ended = run(DIFF, "--json", "--fail-over", "5%", *arguments)
    assert ended.code == code, ended
    told = json.loads(ended.output)
    return told, {row["name"]: row for row in told["items"]["rows"]}


def test_a_slower_function_is_found(runs):
    """Its callee and its caller have grown, too, and other functions have not."""
    told, rows = diff("--before", runs["old-1"], runs["old-2"], "--after", runs["new-1"], runs["new-2"], code=1)
    assert told["compared_by"] == "time" and told["weight"] == "cpu" and told["failed"]
    total = rows["sort"]["total"]
    assert total["verdict"] == "grew" and rows["sort"]["fails"]
    assert total["low"] < total["growth"] < total["high"]
    assert total["low"] < 2.4 and total["high"] > 1.4  # three times as long, and all others as before
    assert rows["parse"]["total"]["verdict"] != "grew" and not rows["store"]["fails"]


def test_a_program_is_not_slower_than_itself(runs):
    told, _ = diff(runs["old-1"], runs["old-2"], code=0)
    assert not told["failed"] and told["items"]["grew"] == told["items"]["shrank"] == 0
    assert told["whole"]["verdict"] == "same"
