# SPDX-License-Identifier: MIT
"""What is taken from the sample before is what would have been read: with the cache and without it, all of a program is seen,
and nothing else."""

import pytest

import known_program
import stacks
from fixtures import record_known
from recording import ALL_TICKS, CHANGES


@pytest.mark.short
@pytest.mark.pythons("oldest and newest")
def test_the_same_stacks_with_and_without(recorded, python, program, tmp_path):
    anew = record_known(python, program("known"), tmp_path / "anew.pyreel", *ALL_TICKS, "--no-cache")
    figures = anew.info["figures"]
    blocked = figures.get("samples_blocked", 0)  # those are as the next one, in all three threads
    assert figures["cache_full"] <= 3 * blocked
    assert blocked or figures["frames_cached"] == 0 < recorded.info["figures"]["frames_cached"]
    assert anew.info["failures"].keys() <= CHANGES
    wrong = known_program.all_impossible(anew.threads, anew.program)
    assert wrong.total() <= (figures["samples_live"] > 0), wrong
    assert stacks.names(anew.threads) == {stacks.MAIN, "napper", "waiter"}
