# SPDX-License-Identifier: MIT
"""The times of a Firefox Profiler file: CPU time, weights and counters, against pyreel-info, pyreel-pprof and the viewer."""

import collections
import itertools

import pytest

import environment
import gecko_check
import pprof_check
from recording import CONVERTERS, gecko, info, run_record, succeed
from viewers import opened

pytestmark = pytest.mark.pythons("oldest and newest")

UNIT_MS = 0.01  # of times in a file, at the default rate
FIGHTERS = 3


def profile_of(path, out, *options):
    succeed(CONVERTERS["gecko"], "-o", out, *options, path)
    return gecko_check.load(out)


def cells(thread):
    return [cell or 0 for cell in thread["samples"]["threadCPUDelta"]]


def by_tid(profile):
    return {thread["tid"]: thread for thread in profile["threads"]}


def seconds_by_function(profile):
    """{function: seconds in its samples}, all threads together."""
    sums = collections.Counter()
    for thread in profile["threads"]:
        for name, (_, total) in gecko_check.function_times(profile, thread).items():
            sums[name] += total / 1000
    return sums


def pprof_seconds(path, out, column):
    succeed(CONVERTERS["pprof"], "-o", out, path)
    profile = pprof_check.load(out)
    names = [pprof_check.text_at(profile, kind["type"]) for kind in profile["sample_type"]]
    sums = collections.Counter()
    for sample in profile["sample"]:
        for name in {name for name, _ in pprof_check.frames_of(profile, sample)}:
            sums[name] += sample["value"][names.index(column)] / 1e9
    return sums


# ---- CPU time ----

def test_cpu_of_each_thread_is_that_of_pyreel_info(recorded, tmp_path):
    threads = by_tid(profile_of(recorded.path, tmp_path / "out.json"))
    for known in recorded.info["threads"]:
        assert sum(cells(threads[known["tid"]])) / 1e6 == pytest.approx(known["cpu_s"] * 1000, abs=1 + 2 * UNIT_MS), known["name"]


@pytest.mark.parametrize("options", [(), ("--mode", "cpu"), ("--from", "0.5", "--to", "1.5"), ("--threads", "napper")])
def test_no_cell_is_cut_off_by_the_viewer(recorded, tmp_path, options):
    """The viewer draws a cell as CPU time over the time since the sample before, and has no time for the first cell."""
    profile = profile_of(recorded.path, tmp_path / "out.json", *options)
    for thread in profile["threads"]:
        times = thread["samples"]["time"]
        for (before, time), cell in zip(itertools.pairwise(times), cells(thread)[1:]):
            assert cell / 1e6 <= time - before + 1e-6, (thread["name"], time)


def test_cpu_in_the_viewer(recorded):
    with opened(gecko(recorded.path)) as viewer:
        (process,) = viewer.ask("profile", "info")["processes"]
        shown = {thread["tid"]: thread["cpuMs"] for thread in process["threads"]}
    for known in recorded.info["threads"]:
        assert shown[known["tid"]] == pytest.approx(known["cpu_s"] * 1000, rel=0.01, abs=3), known["name"]
    main = recorded.info["processes"][0]["pid"]
    assert shown[main] > 10 * max(ms for tid, ms in shown.items() if tid != main)  # the others nap and wait


# ---- weights ----

@pytest.mark.parametrize("weight", ["cpu", "wall"])
def test_weights_of_each_function_are_a_column_of_pprof(recorded, tmp_path, weight):
    shown = seconds_by_function(profile_of(recorded.path, tmp_path / "out.json", "--weight", weight))
    wanted = pprof_seconds(recorded.path, tmp_path / "out.pb.gz", weight)
    for name in wanted:
        # pprof's looks come in runs, which are held beside the clock at their ends: each may be an interval off.
        assert shown[name] == pytest.approx(wanted[name], rel=0.03, abs=0.01), name


def test_tree_of_cpu_time_in_the_viewer(recorded, tmp_path):
    out = tmp_path / "out.json"
    profile = profile_of(recorded.path, out, "--weight", "cpu")
    threads = [gecko_check.function_times(profile, thread, leaves=True) for thread in profile["threads"]]
    with opened(out) as viewer:
        for index, times in enumerate(threads):
            answer = viewer.ask("thread", "functions", "--include-idle", "--limit", "0", "--thread", f"t-{index}")
            shown = collections.Counter()
            for function in answer["functions"]:
                shown[function["name"].rpartition("!")[2]] += function["selfSamples"]
            for name in ("plain", "nap_again"):
                assert shown[name] == pytest.approx(times.get(name, [0])[0], abs=0.01), name


def test_weights_of_samples_are_one_each(recorded, tmp_path):
    profile = profile_of(recorded.path, tmp_path / "out.json", "--weight", "samples")
    assert {thread["samples"]["weightType"] for thread in profile["threads"]} == {"samples"}
    assert {thread["samples"]["weight"] for thread in profile["threads"]} == {None}


# ---- counters ----

@pytest.fixture(scope="session")
def fought(python, program, tmp_path_factory):
    path = tmp_path_factory.mktemp("fight") / "fight.pyreel"
    ended = run_record("-o", path, "--", *python.command, program("fighters"), 2, FIGHTERS,
                       prefix=environment.as_root() if python.root else ())
    assert ended.code == 0, ended
    return path


def counters_of(profile):
    return {(counter["pid"], counter["name"]): counter for counter in profile["counters"]}


def rates(counter):
    """[(from, to, amount a millisecond)] of a counter that is drawn as a rate."""
    times, counts = counter["samples"]["time"], counter["samples"]["count"]
    return [(before, time, count / (time - before)) for before, time, count in zip(times, times[1:], counts[1:])]


def levels(counter):
    return list(zip(counter["samples"]["time"], itertools.accumulate(counter["samples"]["count"])))


def amount_of(counter):
    """What a counter adds up to. The time line of a merged profile cuts time into other pieces, and the level of the very last
    piece may be another one: so levels count by their time."""
    if counter["name"] != "Waiting for GIL":
        return sum(counter["samples"]["count"])
    return sum(level * (time - before) for (before, _), (time, level) in itertools.pairwise(levels(counter)))


def mean_in(curve, begin, end):
    values = [value for *_, time, value in curve if begin <= time <= end]
    return sum(values) / len(values)


def middle_of(profile):
    """A part of the time in which all fighters fight."""
    fighters = [thread["samples"]["time"] for thread in profile["threads"] if thread["name"].startswith("fighter-")]
    begin, end = max(times[0] for times in fighters), min(times[-1] for times in fighters)
    return begin + 0.1 * (end - begin), end - 0.1 * (end - begin)


@pytest.mark.pythons("newest")
def test_a_sleeper_is_idle_and_fighters_are_not(fought, tmp_path):
    profile = profile_of(fought, tmp_path / "out.json")
    cpu = {thread["name"]: sum(cells(thread)) / 1e6 for thread in profile["threads"]}
    fighters = [ms for name, ms in cpu.items() if name.startswith("fighter-")]
    assert len(fighters) == FIGHTERS
    assert cpu["sleeper"] < 0.02 * min(fighters) + 2, cpu


@pytest.mark.pythons("newest")
def test_a_fight_is_seen_in_counters(fought, tmp_path):
    profile = profile_of(fought, tmp_path / "out.json")
    (pid,) = {thread["pid"] for thread in profile["threads"]}
    counters, (begin, end) = counters_of(profile), middle_of(profile)
    held = rates(counters[pid, "GIL held"])
    assert max(rate for *_, rate in held) <= 1.02
    assert mean_in(held, begin, end) >= 0.8  # on a busy machine, nobody may have the lock while its next owner waits
    if (pid, "Waiting for GIL") in counters:  # only Python 3.15 says who waits
        assert mean_in(levels(counters[pid, "Waiting for GIL"]), begin, end) == pytest.approx(FIGHTERS - 1, abs=0.6)
    cpu = rates(counters[pid, "CPU"])
    used = sum((to - since) * rate for since, to, rate in cpu) / 1000
    assert used == pytest.approx(sum(thread["cpu_s"] for thread in info(fought)["threads"]), rel=0.1, abs=0.15)
    memory = levels(counters[pid, "Resident memory"])
    assert all(2e6 < level < 200e6 for _, level in memory), memory
    assert counters[pid, "Resident memory"]["display"]["markerSchemaLocation"] == "timeline-memory"


@pytest.mark.pythons("newest")
def test_the_viewer_lists_counters(fought):
    with opened(gecko(fought)) as viewer:
        counters = viewer.ask("counter", "list")["counters"]
        shown = {counter["name"]: counter for counter in counters}
        assert {"GIL held", "CPU", "Resident memory"} <= set(shown)
        assert {counter["mainThreadName"] for counter in counters} == {"fighters.py"}
        buckets = shown["GIL held"]["graph"]
        assert sum(buckets) / len(buckets) > 0.6


@pytest.mark.pythons("newest")
def test_without_all_threads_there_are_no_counters_of_the_lock(fought, tmp_path):
    profile = profile_of(fought, tmp_path / "out.json", "--threads", "sleeper")
    assert {counter["name"] for counter in profile["counters"]} == {"CPU", "Resident memory"}


@pytest.mark.pythons("newest")
def test_a_part_of_the_time_has_its_counters(fought, tmp_path):
    whole = counters_of(profile_of(fought, tmp_path / "whole.json"))
    part = counters_of(profile_of(fought, tmp_path / "part.json", "--from", "0.5", "--to", "1.5"))
    for key, counter in part.items():
        times = counter["samples"]["time"]
        assert 490 <= times[0] <= times[-1] <= 1510, key
    key = next(key for key in whole if key[1] == "GIL held")
    assert mean_in(rates(part[key]), 600, 1400) == pytest.approx(mean_in(rates(whole[key]), 600, 1400), abs=0.1)


@pytest.mark.pythons("newest")
def test_each_process_has_its_own_counters(fought, recorded, tmp_path):
    out = tmp_path / "both.json"
    succeed(CONVERTERS["gecko"], "-o", out, fought, recorded.path)
    merged = gecko_check.load(out)
    alone = [profile_of(path, tmp_path / "one.json") for path in (fought, recorded.path)]
    counters = counters_of(merged)
    for profile in alone:
        for key, counter in counters_of(profile).items():
            slack = 50 if key[1] == "Waiting for GIL" else 2  # a piece at each end
            assert amount_of(counters[key]) == pytest.approx(amount_of(counter), rel=0.01, abs=slack), key
    pids = {thread["pid"]: index for index, thread in enumerate(merged["threads"]) if thread["isMainThread"]}
    assert {(counter["pid"], counter["mainThreadIndex"]) for counter in merged["counters"]} == set(pids.items())


@pytest.mark.pythons("newest")
def test_who_never_waits_has_no_counter_of_that(python, program, tmp_path):
    path = tmp_path / "spin.pyreel"
    ended = run_record("-o", path, "--", *python.command, program("fighters"), 0.5, 0,
                       prefix=environment.as_root() if python.root else ())
    assert ended.code == 0, ended
    counters = {counter["name"]: counter for counter in profile_of(path, tmp_path / "out.json")["counters"]}
    assert {"GIL held", "CPU", "Resident memory"} <= set(counters)
    waits = counters.get("Waiting for GIL")  # at the start, perhaps
    assert waits is None or max(level for _, level in levels(waits)) > 0


# ---- fewer samples ----

def test_fewer_samples_stand_for_all(recorded, tmp_path):
    whole = profile_of(recorded.path, tmp_path / "whole.json", "--weight", "samples")
    most = recorded.info["samples"] // 5
    out = tmp_path / "out.json"
    ended = succeed(CONVERTERS["gecko"], "-o", out, "--weight", "samples", "--max-samples", most, recorded.path)
    fewer = gecko_check.load(out)
    kept = sum(thread["samples"]["length"] for thread in fewer["threads"])
    assert most * 0.7 < kept <= most
    assert f"{kept} of {recorded.info['samples']} samples are in the profile" in ended.messages
    extra = {row["label"]: row["value"] for group in fewer["meta"]["extra"] for row in group["entries"]}
    assert extra["Left out by --max-samples"] == recorded.info["samples"] - kept
    for before, after in zip(whole["threads"], fewer["threads"]):
        assert sum(after["samples"]["weight"]) == before["samples"]["length"]
        assert sum(cells(after)) == pytest.approx(sum(cells(before)), abs=2 * UNIT_MS * 1e6)
        assert set(after["samples"]["time"]) <= set(before["samples"]["time"])
        times, wanted = gecko_check.function_times(fewer, after), gecko_check.function_times(whole, before)
        for name, (_, total) in wanted.items():
            # a draw of N groups moves a sum by about the square root of N groups
            assert times.get(name, (0, 0))[1] == pytest.approx(total, abs=6 * (5 * total) ** 0.5 + 10), name
