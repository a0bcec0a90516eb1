# SPDX-License-Identifier: MIT
"""What is taken from the sample before is what would have been read: with the cache and without it, the same stacks."""

import pytest

import known_program
import stacks
from environment import as_root
from recording import collapsed, run_record, whole

COMMON = 0.05  # a stack of such a share is seen in each recording of the program


def shares(threads):
    """Of each stack of functions below rounds(), in the main thread."""
    seen = stacks.functions(stacks.within(stacks.of_thread(threads, stacks.MAIN), "rounds"))
    return {stack: count / sum(seen.values()) for stack, count in seen.items()}


@pytest.mark.short
@pytest.mark.pythons("oldest and newest")
def test_the_same_stacks_with_and_without(recorded, python, program, tmp_path):
    path = tmp_path / "anew.pyreel"
    ended = run_record("--no-cache", "-o", path, "--", *python.command, program("known"), 0.5,
                       prefix=as_root() if python.root else ())
    assert ended.code == 0, ended
    told, threads = whole(path), stacks.of_collapsed(collapsed(path, "--full-paths"))
    blocked = told["figures"].get("samples_blocked", 0)  # those are as the next one, in all three threads
    assert told["figures"]["cache_full"] <= 3 * blocked
    assert blocked or told["figures"]["frames_cached"] == 0 < recorded.info["figures"]["frames_cached"]
    assert told["failed"] <= 0.005 * told["samples"] + 1, told["failures"]

    wrong = known_program.all_impossible(threads, program("known"))
    assert wrong.total() <= (told["figures"]["samples_live"] > 0), wrong
    assert stacks.names(threads) == {stacks.MAIN, "napper", "waiter"}
    one, other = shares(recorded.threads), shares(threads)
    assert {stack for stack, share in one.items() if share >= COMMON} <= other.keys()
    assert {stack for stack, share in other.items() if share >= COMMON} <= one.keys()
