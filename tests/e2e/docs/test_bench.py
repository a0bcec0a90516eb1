# SPDX-License-Identifier: MIT
"""The benchmarks work. How fast anything is, is not asked here."""

import glob
import json
import os

import pytest

from environment import BUILD, PROJECT, missing
from recording import CONVERTERS, succeed

BENCH = os.path.join(PROJECT, "tests", "bench")
BENCH_UNWIND = os.path.join(BUILD, "tests", "bench", "bench-unwind")
MAKE_RECORDING = os.path.join(BUILD, "tests", "bench", "make-recording")


@pytest.fixture(autouse=True)
def is_built():
    if not os.access(BENCH_UNWIND, os.X_OK):
        missing(f"not built: {BENCH_UNWIND}")


def test_the_unwinder_is_measured(start, python3):
    for target in sorted(glob.glob(os.path.join(BENCH, "targets", "*.py"))):
        if target.endswith(("rounds.py", "children.py")):  # those that end by themselves
            continue
        process = start(python3, target)
        figures = json.loads(succeed(BENCH_UNWIND, "--pid", process.pid, "--seconds", 60, "--calls", 100, "--json").text)
        assert 0 < figures["calls"] <= figures["ticks"] <= figures["samples"] + figures["failed"], target
        assert figures["samples"] > 0 and process.running, target
        process.close()


def test_reading_is_measured():
    ended = succeed(os.path.join(BENCH, "replay-speed"), "--ours-only", "--samples", "20k", "--like", "mixed", "--rounds", 1, "--json")
    cells = json.loads(ended.text)["cells"]
    assert {cell["to"] for cell in cells} == {"collapsed", "gecko", "gecko.gz", "pprof"}


@pytest.mark.parametrize("like", ["mixed", "threads", "calls", "states"])
def test_recordings_are_made(tmp_path, like):
    path = str(tmp_path / "a.pyreel")
    succeed(MAKE_RECORDING, "--like", like, "--samples", "20k", "--threads", 3, "--stacks", 100, "--depth", 12, path)
    told = json.loads(succeed(CONVERTERS["info"], "--json", "--verify", path).text)
    assert told["complete"] and told["samples"] == 20000 and len(told["threads"]) == 3
