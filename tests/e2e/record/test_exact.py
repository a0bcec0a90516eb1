# SPDX-License-Identifier: MIT
"""Samples are moments of the program: their stacks are those that the program itself sees, and they stand for its time. How
near shares are to the program's own account is for tests/oracle/test_accounts.py."""

import collections
import json
import os

import pytest

import pprof_check
import stacks
from environment import SANITIZED, missing, need_command
from recording import ALL_TICKS, CHANGES, UNPROVED, attach, collapsed, gaps_of, gecko, is_starved, pprof, succeed, whole

pytestmark = pytest.mark.usefixtures("by_default")


def has(samples):
    return lambda found: found["samples"] >= samples


@pytest.fixture
def record(python, program, tmp_path, record_until):
    """record(has(50), "spin", "told", options=[...]): what was recorded until the condition holds."""
    def record(condition, name, *arguments, options=()):
        return record_until(tmp_path / "a.pyreel", condition, *options, "--", *python.command, program(name), *arguments,
                            prefix=python.prefix)

    return record


# ---- stacks are those that the program sees ----

def chains_of_spin(path):
    """{((name, first line), ...): samples} of the stacks that end in spin(), root first."""
    profile, problems = pprof_check.examine(pprof(path))
    assert problems == []
    functions = [(pprof_check.text_at(profile, f["name"]), f["start_line"]) for f in profile["function"]]
    seen = collections.Counter()
    for sample in profile["sample"]:
        lines = [profile["location"][number - 1]["line"][0] for number in reversed(sample["location_id"])]
        seen[tuple(functions[line["function_id"] - 1] for line in lines)] += sample["value"][0]
    return {chain: n for chain, n in seen.items() if chain[-1][0] == "spin"}


@pytest.mark.short
@pytest.mark.sanitized("stacks of 60 kinds of code")
def test_stacks_are_those_that_the_program_had(record, python, program, tmp_path):
    said = json.loads(succeed(*python.prefix, *python.command, program("places")).text)
    known = {tuple(map(tuple, chain)) for chains in said["chains"].values() for chain in chains}

    def each_is_seen(found):
        return known <= chains_of_spin(tmp_path / "a.pyreel").keys()

    done = record(each_is_seen, "places", options=("-v", "-r", "4k", *ALL_TICKS))
    seen = chains_of_spin(done.path)
    wrong = {chain: n for chain, n in seen.items() if chain not in known}
    figures = done.info["figures"]
    assert sum(wrong.values()) <= (figures["samples_live"] > 0), f"of {sum(seen.values())}: {next(iter(wrong))}"
    assert done.info["failures"].keys() <= CHANGES
    assert figures["samples_exact"] > 0
    assert done.info["exact_percent"] == pytest.approx(100 * figures["samples_exact"] / done.info["samples"], abs=0.1)
    assert "of the samples are exact (one proven moment)" in done.messages


@pytest.mark.pythons("oldest and newest")
def test_no_stack_lacks_its_root(record, tmp_path):
    """As that of a generator that is just about to yield, and has no caller any more."""
    def a_generator(found):
        return found["samples"] >= 1500 and ";count (" in collapsed(tmp_path / "a.pyreel")

    done = record(a_generator, "account", "generators", options=("-r", "2k", *ALL_TICKS))
    seen = stacks.merged(stacks.of_collapsed(collapsed(done.path)))
    ours = {stack: n for stack, n in seen.items() if any("account.py" in frame[1] for frame in stack if len(frame) == 3)}
    wrong = {stack: n for stack, n in ours.items() if stack[0][0] != "<module>"}
    assert sum(wrong.values()) <= (done.info["figures"]["samples_live"] > 0), f"of {sum(ours.values())}: {next(iter(wrong))}"
    assert any(stack[-1] == "count" for stack in stacks.functions(ours))


# ---- what it takes ----

@pytest.mark.short
@pytest.mark.pythons("newest")
def test_no_more_is_taken_than_allowed(record):
    """Of so many ticks each would be some 20 % of a processor. tests/oracle/test_accounts.py has how much is taken, which is
    more where the recorder loses its processor in a look."""
    figures = record(has(500), "spin", "told", options=("-r", "10k")).info
    assert figures["disturb_percent"] > 0
    assert figures["figures"]["ticks_left_out"] > 0
    assert figures["figures"]["samples_exact"] > 0


@pytest.mark.short
@pytest.mark.pythons("newest")
def test_nothing_need_be_taken(record):
    done = record(has(50), "spin", "told", options=UNPROVED)
    assert done.info["figures"]["samples_exact"] == 0
    assert done.info["figures"]["samples_live"] == done.info["samples"] > 0
    assert done.info["exact_percent"] == done.info["disturb_percent"] == 0
    assert done.info["figures"]["ticks_left_out"] == 0
    assert "read while it ran" in done.messages
    assert "approximate" in done.messages


# ---- samples stand for time ----

@pytest.mark.pythons("newest")
def test_outputs_tell_the_same_time(record):
    """What samples stand for, in each output, of a recording whose samples stand for other than an interval."""
    done = record(has(200), "spin", "told")
    wall_us = stacks.total(stacks.of_collapsed(collapsed(done.path, "--weight", "wall")))
    values = pprof_check.summary(pprof_check.load(pprof(done.path)))["totals"]
    assert values[0] == done.info["samples"]
    assert abs(values[1] / 1000 - wall_us) <= 0.001 * wall_us
    shown_ms = stacks.total(stacks.of_gecko(gecko(done.path, "wall")))
    if done.info["figures"]["ticks_left_out"] > 0:
        # The viewer's weights have no gaps of missed ticks.
        gaps = gaps_of(done.info)
        assert (1 - gaps - 0.05) * wall_us <= shown_ms * 1000 <= 1.05 * wall_us
    assert sum(thread["wall_s"] for thread in done.info["threads"]) * 1e6 == pytest.approx(wall_us, rel=0.05)


@pytest.mark.pythons("newest")
@pytest.mark.parametrize("options", [(), ("--disturb", "0.2"), UNPROVED], ids=" ".join)
def test_samples_stand_for_all_the_time(record, options):
    """But for what the recorder has missed, or waited for a processor, by the kernel's count."""
    done = record(has(200), "spin", "told", options=options)
    (thread,) = done.info["threads"]
    weight_us = sum(int(line.rpartition(" ")[2]) for line in collapsed(done.path, "--weight", "wall").splitlines())
    assert thread["samples"] == done.info["samples"]
    lives_us = ((thread["end_s"] or done.info["duration_s"]) - thread["start_s"]) * 1e6
    ends_us = 4 * lives_us / thread["samples"]  # its first interval and its last one are cut, and may be twice as long
    unseen_us = 2e6 * done.info["missed"] / done.info["rate_hz"] + done.waited * 1e6
    assert weight_us <= 1.05 * lives_us + ends_us
    assert weight_us >= 0.95 * lives_us - ends_us - unseen_us, (unseen_us, lives_us)


# ---- many threads, deep stacks ----

@pytest.mark.pythons("oldest and newest")
def test_a_deep_stack_that_works(record, tmp_path):
    done = record(lambda found: ";rest (" in collapsed(tmp_path / "a.pyreel"), "busy_below", 19000, options=("-r", 100))
    assert done.info["failures"].keys() <= CHANGES
    seen = stacks.functions(stacks.merged(stacks.of_collapsed(collapsed(done.path))))
    below = {stack: n for stack, n in seen.items() if "rest" in stack}
    assert below and all(stack.count("calls") == 19001 for stack in below)


@pytest.mark.sanitized("a stack of 60,000 frames")
@pytest.mark.pythons("newest")
def test_a_deeper_one_has_its_ends(record, tmp_path):
    def is_deep(found):
        return found["samples"] >= 20 and (SANITIZED or ";rest (" in collapsed(tmp_path / "a.pyreel"))

    done = record(is_deep, "busy_below", 60000, options=("-r", 100))
    seen = stacks.functions(stacks.merged(stacks.of_collapsed(collapsed(done.path))))
    below = {stack: n for stack, n in seen.items() if "rest" in stack}
    for stack in below:
        assert stack[0] == "<module>" and stack[1] == "calls"
        assert "<truncated>" in stack
        assert stack[-1] in ("rest", "leaf") and stack[-3] == "calls"
        assert 10000 < len(stack) <= 20001


@pytest.mark.sanitized("256 threads")
@pytest.mark.pythons("oldest and newest")
def test_a_crowd_of_threads(start, python, program, tmp_path):
    target = start(*python.command, program("crowd"), 256)
    path = tmp_path / "a.pyreel"
    attach(target, path, samples=2560, prefix=python.prefix)
    figures = whole(path)
    assert figures["failures"].keys() <= CHANGES
    assert len(figures["threads"]) == 256
    assert figures["figures"]["samples_exact"] > 0


# ---- where it runs ----

@pytest.fixture
def processors():
    """Two that we may use."""
    allowed = sorted(os.sched_getaffinity(0))
    return allowed[:2] if len(allowed) > 1 else missing("needs two processors")


def on(processor):
    return [need_command("taskset"), "-c", str(processor)]


@pytest.mark.pythons("oldest and newest")
def test_out_of_our_reach_it_is_read_live(start, python, program, tmp_path, processors):
    target = start(*on(processors[0]), *python.command, program("spin"))
    path = tmp_path / "a.pyreel"
    attach(target, path, prefix=[*python.prefix, *on(processors[1])])
    figures = whole(path)
    assert figures["figures"]["samples_live"] == figures["samples"] > 0
    assert figures["exact_percent"] == 0
    assert figures["failures"].keys() <= CHANGES
    assert figures["disturb_percent"] == 0


@pytest.mark.pythons("oldest and newest")
def test_on_the_only_processor_it_can_be_exact(start, python, program, tmp_path, processors):
    target = start(*on(processors[0]), *python.command, program("spin"))
    path = tmp_path / "a.pyreel"
    attach(target, path, samples=200, prefix=[*python.prefix, *on(processors[0])])
    figures = whole(path)
    assert figures["figures"]["samples_exact"] > 0  # neither runs while the other one does
    assert figures["failures"].keys() <= CHANGES


# ---- without one lock for all ----

@pytest.mark.pythons("each version", since="3.12")  # before, all interpreters have one lock
def test_interpreters_with_locks_of_their_own_are_exact(record):
    def enough(found):
        return sum(thread["samples"] >= 100 for thread in found["threads"] if "(run)" in thread["name"]) >= 2

    figures = record(enough, "in_interpreters", "own_locks").info
    assert figures["failures"].keys() <= CHANGES
    assert figures["exact_percent"] >= 80 or is_starved(figures)  # 99 on a machine that does nothing else
