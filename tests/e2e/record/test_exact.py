# SPDX-License-Identifier: MIT
"""Samples are moments of the program: their stacks are those that the program itself sees, their shares those of its own
account, whatever it is recorded with by default."""

import collections
import json
import math
import os
import re

import pytest

import pprof_check
import recording
import stacks
from environment import BUILD, SANITIZED, as_root, missing, need_command
from recording import ALL_TICKS, LIVE, attach, collapsed, gecko, pprof, whole

Done = collections.namedtuple("Done", "path said info messages waited")


@pytest.fixture(scope="module", autouse=True)
def by_default():
    """Here recordings are made with the default options."""
    plenty, recording.PLENTY = recording.PLENTY, ()
    yield
    recording.PLENTY = plenty


@pytest.fixture
def record(python, program, tmp_path, start_recorder):
    """record("account", "fork", 2, options=[...]): a program that says something in JSON, recorded to its end."""
    def record(name, *arguments, options=()):
        path = tmp_path / "a.pyreel"
        recorder = start_recorder("--force", *options, "-o", path, "--", *python.command, program(name), *arguments,
                                  prefix=as_root() if python.root else ())
        return done_of(recorder, path)

    return record


def done_of(recorder, path):
    ended, seconds = recorder.wait_and_watch()
    assert ended.code == 0, ended
    said = json.loads(ended.text) if ended.text.startswith("{") else None
    return Done(path, said, whole(path), ended.messages, seconds)


def missed_part(figures):
    return figures["missed"] / max(1, figures["ticks"] + figures["missed"])


def busy_part(done):
    """The part of the time in which other programs had the processors that the recorder wanted."""
    return min(1, done.waited / done.info["duration_s"])


def own_misses(done):
    """The part of the ticks that the recorder missed although it could run. A wait costs the ticks in it, and as many
    again: what it put off is then done late, with cold caches."""
    return max(0, missed_part(done.info) - 2 * busy_part(done))


def time_missed(done):
    """The part of the time that no sample covers, of the time in which the recorder could run. In the first ticks of a large
    program there are many short intervals, so a part of the ticks would say something else. Below 2 % nothing is said."""
    said = re.search(r"([\d.]+) % of the time was missed", done.messages)
    return max(0, (float(said[1]) / 100 if said else 0) - 2 * busy_part(done))


# ---- stacks are those that the program sees ----

Places = collections.namedtuple("Places", "done seen chains")


def chains_of_pprof(path):
    """{((name, first line), ...): samples}, root first."""
    profile, problems = pprof_check.examine(pprof(path))
    assert problems == []
    functions = [(pprof_check.text_at(profile, f["name"]), f["start_line"]) for f in profile["function"]]
    seen = collections.Counter()
    for sample in profile["sample"]:
        lines = [profile["location"][number - 1]["line"][0] for number in reversed(sample["location_id"])]
        seen[tuple(functions[line["function_id"] - 1] for line in lines)] += sample["value"][0]
    return seen


@pytest.fixture(scope="module")
def places(python, program, tmp_path_factory):
    path = tmp_path_factory.mktemp("exact") / "places.pyreel"
    # Each look finds new code, which takes several times as long: with the default there would be few of them.
    recorder = recording.Recorder("--disturb", "10", "-o", path, "--", *python.command, program("places"), 3,
                                  prefix=as_root() if python.root else ())
    done = done_of(recorder, path)
    chains = {place: {tuple(map(tuple, chain)) for chain in found} for place, found in done.said["chains"].items()}
    return Places(done, chains_of_pprof(path), chains)


def spinning(places):
    return {chain: n for chain, n in places.seen.items() if chain[-1][0] == "spin"}


@pytest.mark.sanitized("stacks of 60 kinds of code")
def test_each_stack_is_one_that_the_program_had(places):
    known = set().union(*places.chains.values())
    wrong = {chain: n for chain, n in spinning(places).items() if chain not in known}
    assert not wrong, f"{sum(wrong.values())} of {sum(places.seen.values())}: {next(iter(wrong))}"


def test_each_place_is_seen_for_its_time(places):
    spent = collections.Counter()
    for place, seconds in places.done.said["spent"].items():
        (chain,) = places.chains[place]
        spent[chain] += seconds  # comprehensions have no frame of their own from 3.12 on
    seen = spinning(places)
    all_samples, all_time = sum(seen.values()), sum(spent.values())
    assert all_samples > 100
    missed = places.done.info["missed"]  # while the machine stood still, maybe all in one place
    for chain, seconds in spent.items():
        share, found = seconds / all_time, seen.get(chain, 0)
        sigma = math.sqrt(share * (1 - share) * all_samples)
        assert abs(found - share * all_samples) < 5 * sigma + 0.01 * all_samples + missed, (
            f"{chain}: {found} of {all_samples}, is {share}; {missed} missed")


def test_all_samples_are_one_moment(places):
    figures = places.done.info
    assert figures["failed"] == 0, figures["failures"]
    assert figures["figures"]["samples_exact"] >= 0.95 * figures["samples"] > 0
    assert figures["exact_percent"] >= 95
    assert "of the samples are exact (one proven moment)" in places.done.messages


def test_who_only_computes_keeps_nobody_waiting(places):
    """Ticks that a busy machine made us miss are missed, and not taken to be as the next one."""
    figures = places.done.info
    assert figures["figures"].get("samples_blocked", 0) <= 3 + 0.01 * figures["ticks"]


# ---- what it takes ----

@pytest.mark.pythons("oldest and newest")
def test_no_more_is_taken_than_allowed(record):
    done = record("spin", 3)
    figures = done.info
    assert 0 < figures["disturb_percent"] <= 1.3
    cost_ns = figures["figures"]["taken_ns"] / figures["ticks"]
    assert figures["reached_hz"] >= 0.8 * affordable(done, 1)


def affordable(done, percent):
    """How many ticks a second may be taken of a program: each tick takes what it took, and of each second `percent` is
    allowed. The first ticks find out what they take."""
    figures = done.info
    cost_s = figures["figures"]["taken_ns"] / 1e9 / figures["ticks"]
    return min(figures["rate_hz"], percent / 100 / cost_s) * (1 - busy_part(done))


@pytest.mark.pythons("newest")
def test_more_may_be_taken(record):
    done = record("spin", 2, options=("--disturb", "5", "-r", "500"))
    figures = done.info
    assert figures["disturb_percent"] <= 6
    assert figures["failed"] == 0
    assert figures["exact_percent"] >= 95
    assert figures["reached_hz"] >= 0.8 * affordable(done, 5)


@pytest.mark.pythons("newest")
def test_nothing_need_be_taken(record):
    done = record("spin", 1, options=LIVE)
    assert done.info["figures"]["samples_exact"] == 0
    assert done.info["figures"]["samples_live"] == done.info["samples"] > 100
    assert done.info["exact_percent"] == done.info["disturb_percent"] == 0
    assert done.info["figures"]["ticks_left_out"] == 0
    assert "read while it ran" in done.messages
    assert "approximate" in done.messages


# ---- shares are the program's own ----

def of_leaves(seen, function):
    return sum(n for stack, n in seen.items() if stack[-1][0].split(".")[-1] == function)


def shares_of(done, count):
    """{function: (its share of what the program keeps account of, the same as recorded)}, and how many samples."""
    seen = stacks.merged(stacks.of_collapsed(collapsed(done.path, "--weight", "wall")))
    counted = stacks.merged(stacks.of_collapsed(collapsed(done.path)))
    weights = {function: count(seen, function) for function in done.said}
    samples = sum(count(counted, function) for function in done.said)
    time, weight = sum(done.said.values()), sum(weights.values())
    assert samples > 10, done.info
    return {function: (done.said[function] / time, weights[function] / weight) for function in done.said}, samples


def assert_shares(done, margin=0.05, count=stacks.samples):
    shares, samples = shares_of(done, count)
    # What nobody looked at may have been anything.
    margin += missed_part(done.info)
    for function, (share, seen) in shares.items():
        noise = 4 * math.sqrt(share * (1 - share) / samples)
        assert abs(seen - share) <= margin + noise, (
            f"{function}: {seen:.3f} for {share:.3f} in {samples} samples, {done.info['figures']}")


@pytest.mark.pythons("oldest and newest")
@pytest.mark.parametrize("kind, rate", [("frame_spin_1", 1000), ("frame_sleep_10", 100)])
def test_programs_that_keep_time(record, kind, rate):
    assert_shares(record("account", kind, 4, options=("-r", rate)))
    record("account", kind, 1, options=("-r", rate, "--no-jitter"))  # it may be in step with them


@pytest.mark.parametrize("kind", ["new_code", "generators"])
def test_functions_that_last_for_a_moment(record, kind):
    assert_shares(record("account", kind, 3))


@pytest.mark.pythons("oldest and newest")
def test_functions_that_last_for_some_microseconds(record):
    assert_shares(record("account", "short", 3), count=of_leaves)


def test_no_stack_lacks_its_root(record):
    """As that of a generator that is just about to yield, and has no caller any more."""
    done = record("account", "generators", 3, options=("-r", "2k", *ALL_TICKS))
    seen = stacks.merged(stacks.of_collapsed(collapsed(done.path)))
    ours = {stack: n for stack, n in seen.items() if any("account.py" in frame[1] for frame in stack if len(frame) == 3)}
    wrong = {stack: n for stack, n in ours.items() if stack[0][0] != "<module>"}
    assert not wrong, f"{sum(wrong.values())} of {sum(ours.values())}: {next(iter(wrong))}"
    assert sum(n for stack, n in stacks.functions(ours).items() if stack[-1] == "count") > 100


@pytest.mark.pythons("newest")
def test_outputs_tell_the_same_time(record):
    """What samples stand for, in each output, of a recording whose samples stand for other than an interval."""
    done = record("spin", 1)
    wall_us = stacks.total(stacks.of_collapsed(collapsed(done.path, "--weight", "wall")))
    values = pprof_check.summary(pprof_check.load(pprof(done.path)))["totals"]
    assert values[0] == done.info["samples"]
    assert abs(values[1] / 1000 - wall_us) <= 0.001 * wall_us
    shown_ms = stacks.total(stacks.of_gecko(gecko(done.path)))
    if done.info["figures"]["ticks_left_out"] > 0:
        # The viewer's weights have no gaps of missed ticks.
        gaps = 2 * done.info["missed"] / (done.info["missed"] + done.info["ticks"])
        assert (1 - gaps - 0.05) * wall_us <= shown_ms * 1000 <= 1.05 * wall_us
    assert sum(thread["wall_s"] for thread in done.info["threads"]) * 1e6 == pytest.approx(wall_us, rel=0.05)


@pytest.mark.pythons("oldest and newest")
def test_a_process_that_forks(record):
    done = record("account", "fork", 4)
    assert_shares(done, margin=0.08)
    assert done.info["figures"].get("samples_blocked", 0) > 0 or own_misses(done) < 0.05


@pytest.mark.pythons("oldest and newest")
@pytest.mark.parametrize("options", [(), ("--disturb", "0.2"), LIVE])
def test_samples_stand_for_all_the_time(record, options):
    done = record("spin", 2, options=options)
    (thread,) = done.info["threads"]
    weight_us = sum(int(line.rpartition(" ")[2]) for line in collapsed(done.path, "--weight", "wall").splitlines())
    assert thread["samples"] == done.info["samples"]
    lost_us = done.info["missed"] / done.info["rate_hz"] * 1e6  # at least
    lives_us = ((thread["end_s"] or done.info["duration_s"]) - thread["start_s"]) * 1e6
    ends_us = 4 * lives_us / thread["samples"]  # its first interval and its last one are cut, and may be twice as long
    unseen_us = lost_us + done.waited * 1e6
    assert abs(weight_us + lost_us - lives_us) <= 0.05 * lives_us + ends_us + unseen_us, (options, weight_us, unseen_us, lives_us)


# ---- many threads, deep stacks ----

@pytest.mark.pythons("oldest and newest")
def test_a_deep_stack_that_works(record):
    done = record("busy_below", 19000, 3, options=("-r", 100))
    assert done.info["failed"] == 0, done.info["failures"]
    assert own_misses(done) <= 0.25, done.info["missed"]
    seen = stacks.functions(stacks.merged(stacks.of_collapsed(collapsed(done.path))))
    below = {stack: n for stack, n in seen.items() if "rest" in stack}
    assert sum(below.values()) > (1 if SANITIZED else 5)
    assert all(stack.count("calls") == 19001 for stack in below)


@pytest.mark.sanitized("a stack of 60,000 frames")
@pytest.mark.pythons("newest")
def test_a_deeper_one_has_its_ends(record):
    done = record("busy_below", 60000, 3, options=("-r", 100))
    assert own_misses(done) <= 0.4, done.info["missed"]
    seen = stacks.functions(stacks.merged(stacks.of_collapsed(collapsed(done.path))))
    below = {stack: n for stack, n in seen.items() if "rest" in stack}
    assert sum(below.values()) > (0 if SANITIZED else 3), (done.info["samples"], done.info["failures"])
    for stack in below:
        assert stack[0] == "<module>" and stack[1] == "calls"
        assert "<truncated>" in stack
        assert stack[-1] in ("rest", "leaf") and stack[-3] == "calls"
        assert 10000 < len(stack) <= 20001


@pytest.mark.sanitized("256 threads")
@pytest.mark.pythons("oldest and newest")
def test_a_crowd_of_threads(start, start_recorder, python, program, tmp_path):
    target = start(*python.command, program("crowd"), 256)
    path = tmp_path / "a.pyreel"
    done = done_of(start_recorder("-p", target.pid, "-d", 2, "-o", path, prefix=as_root() if python.root else ()), path)
    assert done.info["failed"] <= 0.001 * done.info["samples"], done.info["failures"]
    assert len(done.info["threads"]) == 256
    # Those that had the lock lately are read at one moment; others may move until they are read.
    assert done.info["exact_percent"] >= (40 if SANITIZED else 80) * (1 - busy_part(done))
    assert time_missed(done) <= (0.4 if SANITIZED else 0.04), (done.messages, done.waited)


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
    attach(target, path, seconds=1, prefix=[*(as_root() if python.root else ()), *on(processors[1])])
    figures = whole(path)
    assert figures["figures"]["samples_live"] == figures["samples"] > 50
    assert figures["exact_percent"] == 0
    assert figures["failed"] <= 0.005 * figures["samples"], figures["failures"]
    assert figures["disturb_percent"] == 0
    # Nothing is taken, so nothing need be left out.
    assert figures["reached_hz"] > 300 or missed_part(figures) > 0.02


@pytest.mark.pythons("oldest and newest")
def test_on_the_only_processor_it_is_exact(start, python, program, tmp_path, processors):
    target = start(*on(processors[0]), *python.command, program("spin"))
    path = tmp_path / "a.pyreel"
    attach(target, path, seconds=2, prefix=[*(as_root() if python.root else ()), *on(processors[0])])
    figures = whole(path)
    assert figures["exact_percent"] >= 95
    assert figures["samples"] > 20
    assert figures["failed"] == 0, figures["failures"]
    assert figures["disturb_percent"] <= 1.5


def test_time_without_a_processor_is_missed(start, start_recorder, python3, program, tmp_path, processors):
    """It is no time that the program kept us waiting, and nobody knows what the program did meanwhile. All three run on one
    processor, of which the hog takes half."""
    path = tmp_path / "a.pyreel"
    recorder = start_recorder(*ALL_TICKS, "-o", path, "--", python3, program("spin"), 3, prefix=on(processors[0]))
    recorder.wait_for_output()
    if start(*on(processors[0]), python3, program("hog"), 2).pid == 0:
        missing("needs root, or CAP_SYS_NICE")
    ended = recorder.wait()
    assert ended.code == 0, ended
    figures = whole(path)
    assert figures["missed"] + figures["figures"].get("samples_blocked", 0) > 100
    assert figures["figures"].get("samples_blocked", 0) <= 5 + 0.005 * figures["ticks"], figures["missed"]


# ---- without one lock for all ----

@pytest.mark.pythons("each version", since="3.12")  # before, all interpreters have one lock
def test_interpreters_with_locks_of_their_own_are_read_live(record):
    figures = record("in_interpreters", "own_locks", 2).info
    assert figures["failed"] <= 0.005 * figures["samples"] + 3, figures["failures"]
    together = [thread["samples"] for thread in figures["threads"] if thread["interpreter"] > 0]
    assert len(together) >= 2
    assert figures["figures"]["samples_live"] >= sum(together)  # before and after there is but one
    assert figures["figures"]["samples_live"] >= 0.8 * figures["samples"]


@pytest.mark.parametrize("version", ["3.13", "3.14", "3.15"])
def test_a_build_without_a_lock_is_read_live(start, tmp_path, version):
    program = os.path.join(BUILD, "tests", "free-threaded")
    if not os.path.exists(program):
        missing("no cmocka, and so no tests/free-threaded in the build folder")
    path = tmp_path / "a.pyreel"
    attach(start(program, version), path, seconds=0.6)
    figures = whole(path)
    assert figures["samples"] > 100
    assert figures["figures"]["samples_live"] > figures["samples"] / 2
    assert figures["figures"]["samples_exact"] == figures["samples"] - figures["figures"]["samples_live"]  # all threads slept
