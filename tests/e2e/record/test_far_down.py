# SPDX-License-Identifier: MIT
"""Stacks with thousands of frames outside the data stack (entries from C, generators) are read, and one deep moment leaves
nothing behind. The program keeps account of its CPU time."""

import math

import pytest

import stacks
from recording import ALL_TICKS, CHANGES, UNPROVED, collapsed, gaps_of

RATE = 100
LEVELS = {"sorted": "down_sorted", "threads": "down_sorted", "getattr": "Down.__getattr__", "once": "Down.__getattr__",
          "generator": "down_generator", "coroutine": "down_coroutine"}


@pytest.fixture
def record(python, program, tmp_path, record_until):
    """record(has, KIND, DEPTH): the recording, what the program said, and {stack: microseconds of CPU time} of its divers."""
    def record(condition, kind, depth, options=ALL_TICKS):
        done = record_until(tmp_path / "a.pyreel", condition, "-r", RATE, *options, "--", *python.command, program("far_down"), kind,
                            depth, prefix=python.prefix)
        threads = stacks.of_collapsed(collapsed(done.path, "--weight", "cpu"))
        return done, stacks.merged({who: seen for who, seen in threads.items() if who[0].startswith("diver")})

    return record


def has(samples):
    """Samples of the divers, and CPU time for a third of them: on a busy machine they begin late, and wait for processors."""
    def enough(found):
        divers = [thread for thread in found["threads"] if thread["name"].startswith("diver")]
        used_s = sum(thread["cpu_s"] or 0 for thread in divers)
        return sum(thread["samples"] for thread in divers) >= samples and used_s >= samples / 3 / RATE
    return enough


def assert_as_told(done, seen, kind, samples):
    failures = done.info["failures"]
    # A look that was not exact, as on a busy machine, reads fewer frames.
    assert failures.keys() <= CHANGES | {"stack too deep"} and sum(failures.values()) <= 0.02 * samples, failures
    deep, flat = stacks.samples(seen, "deep"), stacks.samples(seen, "flat")
    used = done.said["deep"] + done.said["flat"]
    share = done.said["deep"] / used
    looks = min(samples / 3, RATE * used)  # that saw them run: on a busy machine they have little time
    noise = math.sqrt(share * (1 - share) / looks)
    gaps = gaps_of(done.info)
    assert abs(deep / (deep + flat) - share) <= 4 * noise + 0.03 + gaps, (deep, flat, done.said)
    for stack in seen:
        names = [frame[0] for frame in stack]
        if "deep" in names:
            assert names.count(LEVELS[kind]) == done.said["depth"] + 1, (names[:8], names[-8:], len(names))


@pytest.mark.parametrize("kind, depth", [("sorted", 700), ("getattr", 3000), ("generator", 9000), ("coroutine", 5000)])
def test_deep_moments_have_their_time(record, kind, depth):
    done, seen = record(has(300), kind, depth)
    assert_as_told(done, seen, kind, 300)


@pytest.mark.pythons("oldest and newest")
def test_many_deep_threads_have_their_time(record):
    done, seen = record(has(1400), "threads", 2000)
    assert_as_told(done, seen, "threads", 200)


@pytest.mark.parametrize("options", [ALL_TICKS, UNPROVED], ids=["still", "live"])
def test_one_deep_moment_blinds_nobody(record, options):
    done, seen = record(has(300), "once", 4000, options=options)
    deep, flat = stacks.samples(seen, "deep"), stacks.samples(seen, "flat")
    assert flat >= 0.8 * (deep + flat) > 0
    # A look that is not exact reads fewer frames, so those that find it deep fail. A busy machine makes these moments longer.
    assert sum(done.info["failures"].values()) <= max(30, 1.1 * RATE * done.said["dived"] + 5)
