# SPDX-License-Identifier: MIT
"""What is taken from the sample before is what would have been read: with the cache and without it, the same stacks."""

import collections
import os
import subprocess

import pytest

import known_program
import stacks
from environment import need_root
from recording import ALL_TICKS, ENVIRONMENT, collapsed, end, wait_until, whole

SECONDS = 2
RATE = "2k"
COMMON = 0.05  # a stack of such a share is seen by both


def descendants(pid):
    """Children of a process and theirs, when it is sudo; itself first."""
    found = [pid]
    for parent in found:
        with open(f"/proc/{parent}/task/{parent}/children") as file:
            found += map(int, file.read().split())
    return found


@pytest.fixture
def known(python, program):
    """programs/known.py at work: its pid."""
    prefix = need_root() if python.root else ()
    process = subprocess.Popen([*prefix, *python.command, program("known"), "60"], env=ENVIRONMENT,
                               stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        wait_until(lambda: len(os.listdir(f"/proc/{descendants(process.pid)[-1]}/task")) == 3, "all threads run")
        pid = descendants(process.pid)[-1]
        yield pid
        end(pid)
    finally:
        process.kill()
        process.wait()


def shares(threads):
    """Of each stack of functions below rounds(), in the main thread."""
    seen = stacks.functions(stacks.within(stacks.of_thread(threads, stacks.MAIN), "rounds"))
    return {stack: count / sum(seen.values()) for stack, count in seen.items()}


def impossible(threads, path):
    reasons = collections.Counter()
    for (thread, _), seen in threads.items():
        for stack, count in seen.items():
            why = known_program.impossible(stack, thread, path)
            if why:
                reasons[f"{thread}: {why}: {stack}"] += count
    return reasons


@pytest.mark.short
@pytest.mark.sanitized("memory that is read anew for each sample")
@pytest.mark.pythons("oldest and newest")
def test_the_same_stacks_with_and_without(known, python, program, start_recorder, tmp_path):
    """Both look at the same moments of the same program, which is load for each other."""
    prefix = need_root() if python.root else ()
    paths = {"cached": tmp_path / "cached.pyreel", "anew": tmp_path / "anew.pyreel"}
    options = ("-p", known, "-d", SECONDS, "-r", RATE, *ALL_TICKS)
    recorders = [start_recorder(*options, "-o", paths["cached"], prefix=prefix),
                 start_recorder(*options, "--no-cache", "-o", paths["anew"], prefix=prefix)]
    for recorder in recorders:
        ended = recorder.wait()
        assert ended.code == 0, ended
    told = {name: whole(path) for name, path in paths.items()}
    assert told["cached"]["figures"]["cache_full"] > 0.3 * told["cached"]["samples"]
    blocked = told["anew"]["figures"].get("samples_blocked", 0)  # those are as the next one, in all three threads
    assert told["anew"]["figures"]["cache_full"] <= 3 * blocked
    assert blocked or told["anew"]["figures"]["frames_cached"] == 0 < told["cached"]["figures"]["frames_cached"]

    seen = {name: stacks.of_collapsed(collapsed(path, "--full-paths")) for name, path in paths.items()}
    for name, threads in seen.items():
        assert told[name]["samples"] > 200, "too few samples to tell"
        assert told[name]["failed"] <= 0.005 * told[name]["samples"] + 1, told[name]["failures"]
        wrong = impossible(threads, program("known"))
        assert wrong.total() <= (told[name]["figures"]["samples_live"] > 0), (name, wrong)
        assert stacks.names(threads) == {stacks.MAIN, "napper", "waiter"}

    one, other = shares(seen["cached"]), shares(seen["anew"])
    assert {stack for stack, share in one.items() if share >= COMMON} <= other.keys()
    assert {stack for stack, share in other.items() if share >= COMMON} <= one.keys()
