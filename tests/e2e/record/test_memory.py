# SPDX-License-Identifier: MIT
"""No program and no file makes pyreel use any amount of memory: names are cut, and converters have a limit."""

import os
import re

import pytest

from environment import CONVERTERS, DIFF
from recording import COUNTS, Recorder, run, whole

FUNCTIONS = 300
NAME = re.compile(r"f{1000}\.\.\.#[0-9a-f]{16}")


def names_in(path):
    return set(NAME.findall(run(CONVERTERS["collapsed"], *COUNTS, "--functions", path).text))


@pytest.fixture(scope="module")
def big_names(python3, programs, tmp_path_factory):
    path = tmp_path_factory.mktemp("big") / "names.pyreel"
    recorder = Recorder("-r", "2k", "--stats", "-o", path, "--", python3, os.path.join(programs, "big_names.py"), FUNCTIONS)
    try:
        recorder.wait_for(path, lambda _: len(names_in(path)) > FUNCTIONS // 2, "half of the functions")
        ended = recorder.wait()
    finally:
        recorder.close()
    assert ended.code == 0, ended
    return path


@pytest.mark.short
def test_long_names_are_cut_and_stay_different(big_names):
    told = whole(big_names)
    assert told["figures"]["definitions_kb"] < 3 * FUNCTIONS + 100, told["figures"]
    lines = run(CONVERTERS["collapsed"], *COUNTS, "--functions", big_names).text.splitlines()
    assert FUNCTIONS // 2 < len(names_in(big_names)) <= FUNCTIONS
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
