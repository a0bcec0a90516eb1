# SPDX-License-Identifier: MIT
"""Forms of a Firefox Profiler file: what is in the profile is the same in each."""

import json
import pathlib

import pytest

import gecko_check
import viewers
from environment import CONVERTERS, PROJECT
from golden import RECORDING
from recording import succeed

STREAMS = pathlib.Path(PROJECT) / "tests" / "streams"
CASES = ["plain-3.11", "threads-3.11", "interpreters-3.14", "weighted"]


def profile_of(case, folder, *options):
    path = folder / "out.json"
    succeed(CONVERTERS["gecko"], *options, "--force", "-o", path, STREAMS / case / RECORDING)
    return path


@pytest.mark.short
@pytest.mark.parametrize("case", CASES)
def test_the_compact_form_has_the_same_profile(case, tmp_path):
    usual = gecko_check.load(profile_of(case, tmp_path))
    path = profile_of(case, tmp_path, "--compact")
    with open(path) as file:
        compact = json.load(file)
    assert compact["meta"]["preprocessedProfileVersion"] == 66
    assert "prefix" not in compact["shared"]["stackTable"]
    assert not any("time" in thread["samples"] for thread in compact["threads"])
    assert gecko_check.load(path) == usual


def test_the_viewer_reads_the_compact_form(tmp_path):
    seen = []
    for options in ((), ("--compact",)):
        with viewers.opened(profile_of("threads-3.11", tmp_path, *options)) as viewer:
            seen.append((viewer.threads(), viewer.functions("t-0")))
    assert seen[0] == seen[1]
