# SPDX-License-Identifier: MIT
"""A recording of several processes: each has its own threads, and both are looked at in each tick."""

import json
import os

import pytest

from environment import BUILD, PROJECT, missing
from recording import CONVERTERS, COUNTS, succeed

SEVERAL = os.path.join(BUILD, "tests", "oracle", "several")
TARGETS = os.path.join(PROJECT, "tests", "bench", "targets")


@pytest.mark.short
@pytest.mark.sanitized("definitions that two processes share")
def test_processes_share_a_recording(start, python3, tmp_path):
    if not os.access(SEVERAL, os.X_OK):
        missing(f"not built: {SEVERAL}")
    path = str(tmp_path / "two.pyreel")
    names = ["calls", "recursion"]
    pids = [start(python3, os.path.join(TARGETS, f"{name}.py")).pid for name in names]
    counted = json.loads(succeed(SEVERAL, path, 2, *pids).text)
    told = json.loads(succeed(CONVERTERS["info"], "--json", "--verify", path).text)
    assert told["complete"] and told["samples"] == counted["samples"]
    assert 0 < counted["exact"] <= counted["samples"]
    assert {thread["pid"] for thread in told["threads"]} == set(pids)
    assert min(thread["samples"] for thread in told["threads"]) > 0
    for line in succeed(CONVERTERS["collapsed"], *COUNTS, "--ids", path).text.splitlines():
        of_first = line.startswith(f"pid {pids[0]}:")
        assert f"{names[1 if of_first else 0]}.py" not in line.split(";", 1)[1]
