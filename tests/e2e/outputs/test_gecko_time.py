# SPDX-License-Identifier: MIT
"""The times of a Firefox Profiler file: CPU time, weights and counters, against pyreel-info and pyreel-pprof, of recordings
that stay the same."""

import collections
import itertools
import pathlib

import pytest

import gecko_check
import pprof_check
from environment import PROJECT
from recording import CONVERTERS, info, succeed

pytestmark = pytest.mark.short

STREAMS = pathlib.Path(PROJECT) / "tests" / "streams"
UNIT_MS = 0.1  # of times in a file, at most
CASES = ["plain-3.11", "threads-3.11", "gil-thread-3.15", "measures-3.15", "cpu-mode-3.13", "async-running-3.14"]
FIGHT, TREE = "gil-thread-3.15", "tree-3.13"


def path_of(case):
    return STREAMS / case / "recording.pyreel"


def profile_of(case, out, *options):
    succeed(CONVERTERS["gecko"], "-o", out, "--force", *options, path_of(case))
    return gecko_check.load(out)


def cells(thread):
    return [cell or 0 for cell in thread["samples"]["threadCPUDelta"]]


def seconds_by_function(profile):
    """{function: seconds in its samples}, all threads together."""
    sums = collections.Counter()
    for thread in profile["threads"]:
        for name, (_, total) in gecko_check.function_times(profile, thread).items():
            sums[name] += total / 1000
    return sums


def pprof_seconds(case, out, column):
    succeed(CONVERTERS["pprof"], "-o", out, path_of(case))
    profile = pprof_check.load(out)
    names = [pprof_check.text_at(profile, kind["type"]) for kind in profile["sample_type"]]
    sums = collections.Counter()
    for sample in profile["sample"]:
        for name in {name for name, _ in pprof_check.frames_of(profile, sample)}:
            sums[name] += sample["value"][names.index(column)] / 1e9
    return sums


@pytest.mark.parametrize("case", CASES)
def test_sums_are_those_of_pyreel_info(case, tmp_path):
    """Samples and CPU time of each thread, and what each counter adds up to."""
    assert gecko_check.compare(profile_of(case, tmp_path / "out", "--weight=samples"), info(path_of(case))) == []


@pytest.mark.parametrize("options", [(), ("--mode", "cpu"), ("--from", "0.3", "--to", "0.9"), ("--threads", "MainThread")])
def test_no_cell_is_cut_off_by_the_viewer(tmp_path, options):
    """The viewer draws a cell as CPU time over the time since the sample before, and has no time for the first cell."""
    for case in ("threads-3.11", FIGHT):
        for thread in profile_of(case, tmp_path / "out", *options)["threads"]:
            times = thread["samples"]["time"]
            assert len(times) > 10
            for (before, time), cell in zip(itertools.pairwise(times), cells(thread)[1:]):
                assert cell / 1e6 <= time - before + 1e-6, (thread["name"], time)


@pytest.mark.parametrize("weight", ["cpu", "wall"])
def test_weights_of_each_function_are_a_column_of_pprof(tmp_path, weight):
    for case in CASES:
        shown = seconds_by_function(profile_of(case, tmp_path / "out.json", "--weight", weight))
        wanted = pprof_seconds(case, tmp_path / "out.pb.gz", weight)
        # pprof's looks come in runs. They have the same CPU time, but for cells that are rounded; they are held beside the clock
        # at their ends, so their wall-clock time may be an interval off.
        near = {"rel": 0.005, "abs": 0.003} if weight == "cpu" else {"rel": 0.03, "abs": 2 / info(path_of(case))["rate_hz"]}
        for name in wanted:
            assert shown[name] == pytest.approx(wanted[name], **near), (case, name)


def test_weights_of_samples_are_one_each(tmp_path):
    profile = profile_of("threads-3.11", tmp_path / "out.json", "--weight", "samples")
    assert {thread["samples"]["weightType"] for thread in profile["threads"]} == {"samples"}
    assert {thread["samples"]["weight"] for thread in profile["threads"]} == {None}


def weights_of(case, out, *options):
    return [(thread["samples"]["weightType"], thread["samples"]["weight"]) for thread in profile_of(case, out, *options)["threads"]]


@pytest.mark.parametrize("case", [*CASES, TREE, "weighted"])
def test_trees_add_up_what_other_outputs_show_first(case, tmp_path):
    """CPU time where it is known and any was used."""
    succeed(CONVERTERS["pprof"], "-o", tmp_path / "out.pb.gz", path_of(case))
    profile = pprof_check.load(tmp_path / "out.pb.gz")
    first = pprof_check.text_at(profile, profile["default_sample_type"])
    shown = weights_of(case, tmp_path / "out.json")
    assert first == "cpu" and shown == weights_of(case, tmp_path / "out.json", "--weight", first)


# ---- counters ----

def counters_of(profile):
    return {(counter["pid"], counter["name"]): counter for counter in profile["counters"]}


def rates(counter):
    """[(from, to, amount a millisecond)] of a counter that is drawn as a rate."""
    times, counts = counter["samples"]["time"], counter["samples"]["count"]
    return [(before, time, count / (time - before)) for before, time, count in zip(times, times[1:], counts[1:])]


def levels(counter):
    return list(zip(counter["samples"]["time"], itertools.accumulate(counter["samples"]["count"])))


def mean_in(curve, begin, end):
    values = [value for *_, time, value in curve if begin <= time <= end]
    return sum(values) / len(values)


def test_a_fight_is_seen_in_counters(tmp_path):
    """Of each process: the lock is held all the time, by one thread at a time."""
    profile = profile_of(FIGHT, tmp_path / "out.json")
    (pid,) = {thread["pid"] for thread in profile["threads"]}
    held = rates(counters_of(profile)[pid, "GIL held"])
    assert max(rate for *_, rate in held) <= 1.02 and mean_in(held, 200, 1100) > 0.95
    measured = profile_of("measures-3.15", tmp_path / "out.json")
    (pid,) = {thread["pid"] for thread in measured["threads"]}
    memory = counters_of(measured)[pid, "Resident memory"]
    assert all(2e6 < level < 200e6 for _, level in levels(memory)), levels(memory)
    assert memory["display"]["markerSchemaLocation"] == "timeline-memory"


def test_without_all_threads_there_are_no_counters_of_the_lock(tmp_path):
    profile = profile_of("measures-3.15", tmp_path / "out.json", "--threads", "MainThread")
    whole = {counter["name"] for counter in profile_of("measures-3.15", tmp_path / "out.json")["counters"]}
    assert {counter["name"] for counter in profile["counters"]} == whole - {"GIL held", "Waiting for GIL"} < whole


def test_a_part_of_the_time_has_its_counters(tmp_path):
    whole = counters_of(profile_of(FIGHT, tmp_path / "whole.json"))
    part = counters_of(profile_of(FIGHT, tmp_path / "part.json", "--from", "0.4", "--to", "0.8"))
    assert part.keys() == whole.keys()
    for key, counter in part.items():
        times = counter["samples"]["time"]
        assert 380 <= times[0] <= times[-1] <= 820, key
    key = next(key for key in whole if key[1] == "GIL held")
    assert mean_in(rates(part[key]), 420, 780) == pytest.approx(mean_in(rates(whole[key]), 420, 780), abs=0.05)


def test_each_process_has_its_own_counters(tmp_path):
    out = tmp_path / "both.json"
    succeed(CONVERTERS["gecko"], "-o", out, path_of("measures-3.15"), path_of("threads-3.11"))
    merged = gecko_check.load(out)
    counters = counters_of(merged)
    for case in ("measures-3.15", "threads-3.11"):
        for key, counter in counters_of(profile_of(case, tmp_path / "one.json")).items():
            assert gecko_check.counter_sum(counters[key]) == pytest.approx(gecko_check.counter_sum(counter), rel=0.01, abs=2), key
    pids = {thread["pid"]: index for index, thread in enumerate(merged["threads"]) if thread["isMainThread"]}
    assert {(counter["pid"], counter["mainThreadIndex"]) for counter in merged["counters"]} == set(pids.items())


# ---- fewer samples ----

def test_fewer_samples_stand_for_all(tmp_path):
    whole, figures, out = profile_of(TREE, tmp_path / "whole.json", "--weight", "samples"), info(path_of(TREE)), tmp_path / "out.json"
    most = figures["samples"] // 5
    ended = succeed(CONVERTERS["gecko"], "-o", out, "--weight", "samples", "--max-samples", most, path_of(TREE))
    fewer = gecko_check.load(out)
    kept = sum(thread["samples"]["length"] for thread in fewer["threads"])
    assert most * 0.7 < kept <= most
    assert f"{kept} of {figures['samples']} samples are in the profile" in ended.messages
    extra = {row["label"]: row["value"] for group in fewer["meta"]["extra"] for row in group["entries"]}
    assert extra["Left out by --max-samples"] == figures["samples"] - kept
    for before, after in zip(whole["threads"], fewer["threads"]):
        assert sum(after["samples"]["weight"] or [1] * after["samples"]["length"]) == before["samples"]["length"]
        assert sum(cells(after)) == pytest.approx(sum(cells(before)), abs=2 * UNIT_MS * 1e6)
        assert set(after["samples"]["time"]) <= set(before["samples"]["time"])
        times, wanted = gecko_check.function_times(fewer, after), gecko_check.function_times(whole, before)
        for name, (_, total) in wanted.items():
            # a draw of N groups moves a sum by about the square root of N groups
            assert times.get(name, (0, 0))[1] == pytest.approx(total, abs=6 * (5 * total) ** 0.5 + 10), name


@pytest.mark.parametrize("most, delays", [(22, 4), (18, 4), (10, 3)])
def test_a_blocked_loop_is_on_a_sample_that_stays(tmp_path, most, delays):
    """The sample with which a marker ends may not stay; the next one has the delay then, and may have two."""
    succeed(CONVERTERS["gecko"], "-o", tmp_path / "out.json", "--max-samples", most, path_of("blocked-3.14"))
    (thread,) = gecko_check.load(tmp_path / "out.json")["threads"]
    assert thread["samples"]["length"] <= most
    assert len([delay for delay in thread["samples"]["eventDelay"] if delay]) == delays
