# SPDX-License-Identifier: MIT
"""No program and no file makes pyreel use any amount of memory: names are cut, and converters have a limit."""

import os
import re

import pytest

from environment import CONVERTERS, DIFF
from recording import run, run_record, whole

FUNCTIONS = 300
NAME = re.compile(r"f{1000}\.\.\.#[0-9a-f]{16}")


@pytest.fixture(scope="module")
def big_names(programs, tmp_path_factory):
    path = tmp_path_factory.mktemp("big") / "names.pyreel"
    ended = run_record("-r", "2k", "--stats", "-o", path, "--", "python3", os.path.join(programs, "big_names.py"), FUNCTIONS, 5)
    assert ended.code == 0, ended
    return path


def test_long_names_are_cut_and_stay_different(big_names):
    told = whole(big_names)
    assert told["figures"]["definitions_kb"] < 3 * FUNCTIONS + 100, told["figures"]
    lines = run(CONVERTERS["collapsed"], "--functions", big_names).text.splitlines()
    names = {name for line in lines for name in NAME.findall(line)}
    assert FUNCTIONS // 2 < len(names), len(names)
    assert max(map(len, lines)) < 5000


@pytest.mark.parametrize("program", [*(name for name in CONVERTERS if name != "info"), "diff"])  # pyreel-info takes hardly any
def test_a_conversion_ends_before_it_takes_more_memory_than_it_may(big_names, tmp_path, program):
    output = tmp_path / "made"
    command = [DIFF, big_names, big_names] if program == "diff" else [CONVERTERS[program], big_names]
    ended = run(*command, "--max-memory", "200k", "-o", output)
    assert ended.code == 1, ended
    assert re.fullmatch(rf"pyreel-{program}: the recording takes more than 0.1953 MiB of memory, the limit of --max-memory; .*\n", ended.messages), ended
    assert not output.exists()
    assert run(*command, "--max-memory", "500M", "-o", output).code == 0


@pytest.mark.parametrize("amount", ["", "0", "-1", "4GB", "half", "1e9"])
def test_an_amount_of_memory_must_make_sense(big_names, amount):
    ended = run(CONVERTERS["info"], "--max-memory", amount, big_names)
    assert ended.code == 2 and f"invalid value '{amount}' for --max-memory" in ended.messages, ended
