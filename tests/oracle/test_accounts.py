# SPDX-License-Identifier: MIT
"""Shares are those of the program's own account, and the recorder takes as much as it may: matters of chance, and of free
processors."""

import collections
import json
import math
import os
import re
import signal

import pytest

import gecko_check
import known_program
import stacks
from environment import missing, need_command
from fixtures import done_of
from recording import ALL_TICKS, UNPROVED, attach, collapsed, gecko, whole

OLDEST_AND_NEWEST = pytest.mark.pythons("oldest and newest")
pytestmark = pytest.mark.usefixtures("by_default")


@pytest.fixture
def record(python, program, tmp_path, start_recorder):
    """record("account", "fork", 2, options=[...]): a program that says something in JSON, recorded to its end."""
    def record(name, *arguments, options=()):
        path = tmp_path / "a.pyreel"
        recorder = start_recorder("--force", *options, "-o", path, "--", *python.command, program(name), *arguments,
                                  prefix=python.prefix)
        return done_of(recorder, path)

    return record


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


# ---- shares ----

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


@pytest.mark.pythons("each build")
def test_each_part_has_its_part_of_the_work(recorded):
    """A thousand looks tell shares within some points."""
    worked = stacks.of_thread(stacks.of_collapsed(collapsed(recorded.path, "--full-paths", "--weight", "cpu")), stacks.MAIN)
    work_us = stacks.samples(worked, "rounds")
    for part, share in known_program.SHARES.items():
        seen = stacks.samples(worked, "rounds", part) / work_us
        assert 0.5 * share < seen < 1.8 * share, f"{part}: {seen:.3f} for {share:.3f}"


@pytest.mark.pythons("each build")
def test_work_is_on_its_lines_and_waits_are_where_they_are(recorded):
    worked = stacks.of_thread(stacks.of_collapsed(collapsed(recorded.path, "--full-paths", "--weight", "cpu")), stacks.MAIN)
    for function in "plain", "Mill.grind", "inner":
        lines = collections.Counter()
        for stack, cpu_us in worked.items():
            if stack[-1][0] == function:
                lines[stack[-1][2]] += cpu_us
        loop = known_program.loop_of(function)
        assert lines[loop] + lines[loop + 1] >= 0.9 * sum(lines.values()) > 0, lines
        assert lines[loop] > lines[loop + 1], lines  # the loop calls the clock, its body is `pass`
    deep = sum(us for stack, us in worked.items() if sum(frame[0] == "descend" for frame in stack) == known_program.DEPTH)
    assert deep >= 0.8 * stacks.samples(worked, "descend") > 0
    assert stacks.samples(worked, "numbers") > 0.2 * stacks.samples(worked, "drain") > 0
    for function, mark in known_program.WAITS:
        (thread,) = [name for name, runs in known_program.THREADS.items() if runs == function]
        seen = stacks.of_thread(recorded.threads, thread)
        place = function, recorded.program, known_program.line_of(mark)
        assert sum(n for stack, n in seen.items() if place in stack) > 0.5 * sum(seen.values())


@pytest.mark.pythons("each build")
def test_samples_are_of_their_time(recorded):
    assert recorded.info["exact_percent"] >= 80
    assert recorded.info["failed"] <= 0.005 * recorded.info["samples"] + 1, recorded.info["failures"]
    profile = gecko_check.load(gecko(recorded.path))
    start_ms = profile["meta"]["startTimeAsClockMonotonicNanosecondsSinceBoot"] / 1e6
    (main,) = [thread for thread in profile["threads"] if thread["isMainThread"]]
    labels = gecko_check.frame_labels(profile, lambda name, file, line: name)
    seen = [(start_ms + time, set(gecko_check.frames_of(profile, labels, stack)))
            for time, stack in zip(main["samples"]["time"], main["samples"]["stack"])]
    for i, part in enumerate(known_program.SHARES):
        spans = [(times[i] * 1e3, times[i + 1] * 1e3) for times in recorded.said["times"]]
        at = [time for time, names in seen if part in names]
        inside = sum(any(begin - 1.5 <= time <= end + 1.5 for begin, end in spans) for time in at)
        assert inside >= 0.8 * len(at) > 0, f"{part}: {inside} of {len(at)}"


# ---- interpreters ----

@pytest.mark.parametrize("options", [ALL_TICKS, UNPROVED], ids=["exact", "live"])
def test_time_of_a_thread_is_where_the_thread_is(python, program, record_until, tmp_path, options):
    """In 3.11 a thread that enters another interpreter keeps the lock, and the lock's last holder does not change. The
    program does not count the time in which it begins and ends, in its main interpreter."""
    done = record_until(tmp_path / "turns.pyreel", lambda found: found["samples"] >= 2000, *options, "--", *python.command,
                        program("in_interpreters"), "turns_with_one_lock", prefix=python.prefix)
    spent = {int(interpreter): (float(wall), float(cpu_s)) for interpreter, wall, cpu_s
             in re.findall(r"^spent (\d+) (\S+) (\S+)$", done.text, re.MULTILINE)}
    assert len(spent) == 3, spent
    interpreters = {number: int(interpreter) for number, interpreter
                    in re.findall(r"^role (\d+) (\d+)$", done.text, re.MULTILINE)}
    wall, cpu = ({interpreter: 0 for interpreter in spent} for _ in range(2))
    for amounts, weight in ((wall, "wall"), (cpu, "cpu")):
        for line in collapsed(tmp_path / "turns.pyreel", "--weight", weight).splitlines():
            for number in set(re.findall(r"(?:role|leaf)_(\d+) ", line)):
                amounts[interpreters[number]] += int(line.rpartition(" ")[2]) / 1e6
    for interpreter, (wall_s, cpu_s) in spent.items():
        assert cpu[interpreter] > 0.4 * cpu_s, (cpu, spent)
        if interpreter > 0:
            assert wall[interpreter] < 1.3 * wall_s + 0.1, (wall, spent)
            assert cpu[interpreter] < 1.3 * cpu_s + 0.1, (cpu, spent)


@pytest.mark.pythons("each version", since="3.12")  # before, all interpreters have one lock
def test_each_interpreter_with_a_lock_has_it_all_the_time(python, program, record_until, tmp_path):
    """It keeps the lock while it waits for a processor."""
    done = record_until(tmp_path / "own.pyreel", lambda found: found["samples"] >= 2000, *ALL_TICKS, "--", *python.command,
                        program("in_interpreters"), "own_locks", prefix=python.prefix)
    working = [thread for thread in done.info["threads"] if "(run)" in thread["name"]]
    assert len(working) == 2
    cpu = float(re.search(r"^cpu (\S+)$", done.text, re.MULTILINE)[1])
    assert all(thread["cpu_s"] > 0.2 * cpu and thread["gil_percent"] > 60 for thread in working), working


# ---- shares of programs that keep account ----

@OLDEST_AND_NEWEST
@pytest.mark.parametrize("kind, rate", [("frame_spin_1", 1000), ("frame_sleep_10", 100)])
def test_programs_that_keep_time(record, kind, rate):
    assert_shares(record("account", kind, 4, options=("-r", rate)))
    record("account", kind, 1, options=("-r", rate, "--no-jitter"))  # it may be in step with them


@pytest.mark.parametrize("kind", ["new_code", "generators"])
def test_functions_that_last_for_a_moment(record, kind):
    assert_shares(record("account", kind, 3))


@OLDEST_AND_NEWEST
def test_functions_that_last_for_some_microseconds(record):
    assert_shares(record("account", "short", 3), count=of_leaves)


@OLDEST_AND_NEWEST
def test_a_process_that_forks(record):
    done = record("account", "fork", 4)
    assert_shares(done, margin=0.08)
    assert done.info["figures"].get("samples_blocked", 0) > 0 or own_misses(done) < 0.05


def test_each_place_is_seen_for_its_time(record):
    done = record("places", 250, options=("--disturb", "10"))
    spent = collections.Counter()
    for place, seconds in done.said["spent"].items():
        (chain,) = done.said["chains"][place]
        spent[tuple(name for name, _ in chain)] += seconds  # comprehensions have no frame of their own from 3.12 on
    seen = stacks.functions(stacks.merged(stacks.of_collapsed(collapsed(done.path))))
    seen = {chain: n for chain, n in seen.items() if chain[-1] == "spin"}
    all_samples, all_time = sum(seen.values()), sum(spent.values())
    assert all_samples > 100
    missed = done.info["missed"]  # while the machine stood still, maybe all in one place
    for chain, seconds in spent.items():
        share, found = seconds / all_time, seen.get(chain, 0)
        sigma = math.sqrt(share * (1 - share) * all_samples)
        assert abs(found - share * all_samples) < 5 * sigma + 0.01 * all_samples + missed, (
            f"{chain}: {found} of {all_samples}, is {share}; {missed} missed")
    assert done.info["failed"] == 0, done.info["failures"]
    assert done.info["exact_percent"] >= 95
    assert done.info["figures"].get("samples_blocked", 0) <= 3 + 0.01 * done.info["ticks"]


@OLDEST_AND_NEWEST
def test_coroutines_that_work_in_short_functions(python, program, start, tmp_path):
    target = start(*python.prefix, *python.command, program("served"))
    attach(target, tmp_path / "a.pyreel", *ALL_TICKS, "-r", "10000", seconds=3, prefix=python.prefix)
    os.kill(target.pid, signal.SIGTERM)
    spent = json.loads(target.read_line())
    seen = stacks.of_thread(stacks.of_collapsed(collapsed(tmp_path / "a.pyreel")), stacks.MAIN)
    parts = {part: stacks.samples(seen, part) for part in spent}
    assert sum(parts.values()) > 0.5 * sum(seen.values()), parts  # the rest is asyncio's own
    for part in ("parse", "count"):
        true_share, share = spent[part] / sum(spent.values()), parts[part] / sum(parts.values())
        assert abs(share - true_share) < 0.1, f"{part}: {share:.3f} for {true_share:.3f}"


# Each takes two or more samples of a hundred.
SMALL = ("Lexer.peek", "Lexer.advance", "Parser.current", "Parser.take", "Evaluator.visit")
LEAST = 0.4  # of the true share: the rest is chance, in some forty samples


def leaves(path):
    """Function -> its share of the samples in which it is the leaf."""
    seen = stacks.of_thread(stacks.of_collapsed(collapsed(path)), stacks.MAIN)
    counts = collections.Counter()
    for stack, count in seen.items():
        counts[stack[-1][0]] += count
    return {function: counts[function] / sum(seen.values()) for function in SMALL}


@OLDEST_AND_NEWEST
@pytest.mark.parametrize("rate", [1000, 10000])
def test_functions_of_a_tenth_of_a_microsecond(python, rate, program, start, tmp_path):
    """Compared with what is recorded of a target that stands still."""
    target = start(*python.prefix, *python.command, program("calculator"))
    attach(target, tmp_path / "true.pyreel", *ALL_TICKS, "-r", "4000", "--blocking", seconds=1.5, prefix=python.prefix)
    attach(target, tmp_path / "seen.pyreel", *ALL_TICKS, "-r", rate, seconds=3, prefix=python.prefix)
    true, seen = leaves(tmp_path / "true.pyreel"), leaves(tmp_path / "seen.pyreel")
    for function in SMALL:
        assert true[function] > 0.01, f"{function}: only {true[function]:.4f}"
        assert seen[function] > LEAST * true[function], f"{function}: {seen[function]:.4f} for {true[function]:.4f}"


# ---- what is taken, and what is missed ----

def affordable(done, percent):
    """How many ticks a second may be taken of a program: each tick takes what it took, and of each second `percent` is
    allowed. The first ticks find out what they take."""
    cost_s = done.info["figures"]["taken_ns"] / 1e9 / done.info["ticks"]
    return min(done.info["rate_hz"], percent / 100 / cost_s) * (1 - busy_part(done))


@OLDEST_AND_NEWEST
@pytest.mark.parametrize("options, percent, most", [((), 1, 1.3), (("--disturb", "5", "-r", "500"), 5, 6)], ids=str)
def test_as_much_is_taken_as_allowed(record, options, percent, most):
    done = record("spin", 3, options=options)
    assert 0 < done.info["disturb_percent"] <= most
    assert done.info["reached_hz"] >= 0.8 * affordable(done, percent)
    assert done.info["failed"] == 0
    assert done.info["exact_percent"] >= 95


@OLDEST_AND_NEWEST
@pytest.mark.parametrize("depth, most", [(19000, 0.25), (60000, 0.4)])
def test_ticks_are_kept_in_deep_stacks(record, depth, most):
    done = record("busy_below", depth, 3, options=("-r", 100))
    assert own_misses(done) <= most, done.info["missed"]


@OLDEST_AND_NEWEST
def test_time_is_kept_in_a_crowd_of_threads(start, start_recorder, python, program, tmp_path):
    target = start(*python.command, program("crowd"), 256)
    path = tmp_path / "a.pyreel"
    done = done_of(start_recorder("-p", target.pid, "-d", 2, "-o", path, prefix=python.prefix), path)
    # Those that had the lock lately are read at one moment; others may move until they are read.
    assert done.info["exact_percent"] >= 80 * (1 - busy_part(done))
    assert time_missed(done) <= 0.04, (done.messages, done.waited)


def test_time_without_a_processor_is_missed(start, start_recorder, python3, program, tmp_path):
    """It is no time that the program kept us waiting, and nobody knows what the program did meanwhile. All three run on one
    processor, of which the hog takes half."""
    path = tmp_path / "a.pyreel"
    on = [need_command("taskset"), "-c", str(min(os.sched_getaffinity(0)))]
    recorder = start_recorder(*ALL_TICKS, "-o", path, "--", python3, program("spin"), 3, prefix=on)
    recorder.wait_for_output()
    if start(*on, python3, program("hog"), 2).pid == 0:
        missing("needs root, or CAP_SYS_NICE")
    ended = recorder.wait()
    assert ended.code == 0, ended
    figures = whole(path)
    assert figures["missed"] + figures["figures"].get("samples_blocked", 0) > 100
    assert figures["figures"].get("samples_blocked", 0) <= 5 + 0.005 * figures["ticks"], figures["missed"]


@OLDEST_AND_NEWEST
def test_on_the_only_processor_nearly_all_is_exact(start, python, program, tmp_path):
    """Neither runs while the other one does; a third may interrupt a look."""
    on = [need_command("taskset"), "-c", str(min(os.sched_getaffinity(0)))]
    attach(start(*on, *python.command, program("spin")), tmp_path / "a.pyreel", samples=200, prefix=[*python.prefix, *on])
    assert whole(tmp_path / "a.pyreel")["exact_percent"] >= 80


@OLDEST_AND_NEWEST
def test_nothing_need_be_left_out_where_nothing_is_taken(record):
    done = record("spin", 2, options=UNPROVED)
    assert done.info["reached_hz"] > 900 * (1 - 2 * busy_part(done))
