# SPDX-License-Identifier: MIT
"""Programs whose coroutines do their work in short functions: each has its share."""

import json
import os
import signal

import pytest

import stacks
from environment import as_root
from recording import attach, collapsed

pytestmark = pytest.mark.pythons("oldest and newest")

MARGIN = 0.1  # of all samples: chance, in a thousand samples and more


def test_shares_are_nearly_the_programs_own(python, program, start, tmp_path):
    prefix = as_root() if python.root else ()
    target = start(*prefix, *python.command, program("served"))
    attach(target, tmp_path / "a.pyreel", "-r", "10000", seconds=3, prefix=prefix)
    os.kill(target.pid, signal.SIGTERM)
    spent = json.loads(target.read_line())
    seen = stacks.of_thread(stacks.of_collapsed(collapsed(tmp_path / "a.pyreel")), stacks.MAIN)
    parts = {part: stacks.samples(seen, part) for part in spent}
    assert sum(parts.values()) > 0.5 * sum(seen.values()), parts  # the rest is asyncio's own
    for part in ("parse", "count"):
        true_share, share = spent[part] / sum(spent.values()), parts[part] / sum(parts.values())
        assert abs(share - true_share) < MARGIN, f"{part}: {share:.3f} for {true_share:.3f}"
