# SPDX-License-Identifier: MIT
"""Each output says what the program really did, under every CPython found. How much of its time each part has is for
tests/oracle: a recorder that is late gives the time until then to one part."""

import collections

import pytest

import gecko_check
import known_program
import pprof_check
import stacks
from recording import CHANGES, collapsed, cpu_s_of, gecko, pprof

pytestmark = [pytest.mark.pythons("each build"), pytest.mark.short]


def main_stacks(recorded):
    return stacks.of_thread(recorded.threads, stacks.MAIN)


@pytest.fixture(scope="module")
def worked(recorded):
    """The stacks of the main thread with the CPU time of each, in microseconds."""
    text = collapsed(recorded.path, "--full-paths", "--weight", "cpu")
    return stacks.of_thread(stacks.of_collapsed(text), stacks.MAIN)


@pytest.fixture(scope="module")
def gecko_profile(recorded):
    return gecko_check.load(gecko(recorded.path))


@pytest.fixture(scope="module")
def pprof_path(recorded):
    return pprof(recorded.path)


@pytest.fixture(scope="module")
def pprof_summary(pprof_path):
    return pprof_check.summary(pprof_check.load(pprof_path))


def test_each_part_is_seen_at_work(recorded):
    for part in known_program.SHARES:
        assert stacks.samples(main_stacks(recorded), "rounds", part) > 0, part


ROUNDED_MS = 0.01  # the profile's times are multiples of this: a step is long beside what a look takes


def looks_ms(profile):
    """The main thread's looks: their times on the program's clock, and their stacks."""
    start_ms = profile["meta"]["startTimeAsClockMonotonicNanosecondsSinceBoot"] / 1e6
    (main,) = [thread for thread in profile["threads"] if thread["isMainThread"]]
    pairs = zip(main["samples"]["time"], main["samples"]["stack"])
    return [(start_ms + time, stack) for time, stack in pairs if stack is not None]


def test_the_work_is_as_much_as_the_program_says(recorded, worked, gecko_profile):
    """No time counts twice. What ran between two looks is not lost: what the second look and the last one have between them
    is, since the first may be made later than its time."""
    times = [time for time, _ in looks_ms(gecko_profile)]
    rounds = sum(times[1] <= 1000 * begun[0] and 1000 * begun[-1] <= times[-1] for begun in recorded.said["times"])
    cpu_s = cpu_s_of(recorded.info["threads"])
    for seen_s in cpu_s, sum(worked.values()) / 1e6:
        assert 0.98 * rounds * known_program.ROUND < seen_s <= 1.02 * recorded.said["cpu_s"] + 0.1  # it ends after it has said so
    assert rounds > 0


def test_time_goes_by_at_the_rate_that_was_asked_for(recorded, gecko_profile):
    """From the first look to the last one a tick is looked at or missed."""
    figures, times = recorded.info, [time for time, _ in looks_ms(gecko_profile)]
    (process,) = figures["processes"]
    life_ms = 1000 * (process["end_s"] - process["start_s"])
    assert 0.98 * (times[-1] - times[0]) <= figures["ticks"] + figures["missed"] <= 1.02 * life_ms  # a tick is 1 ms
    assert figures["rate_hz"] == 1000


def test_no_stack_that_the_program_cannot_have_had(recorded):
    reasons = known_program.all_impossible(recorded.threads, recorded.program)
    # The oracle (tests/oracle) measures how rare they are in looks that are not proved to be one moment.
    assert reasons.total() <= (recorded.info["figures"]["samples_live"] > 0), "\n".join(
        f"{count} times {why}" for why, count in reasons.most_common(5))


def test_some_samples_are_one_moment_and_what_changes_meanwhile_fails(recorded):
    assert recorded.info["figures"]["samples_exact"] > 0
    assert recorded.info["failures"].keys() <= CHANGES


@pytest.mark.parametrize("function", ["plain", "Mill.grind", "inner"])
def test_work_is_on_the_line_of_its_loop(recorded, function):
    lines = {stack[-1][2] for stack in main_stacks(recorded) if stack[-1][0] == function}
    first, last = known_program.RANGES[function]
    assert known_program.loop_of(function) in lines and lines <= set(range(first, last + 1)), lines


def test_recursion_has_its_full_depth(recorded):
    depths = {sum(frame[0] == "descend" for frame in stack) for stack in main_stacks(recorded)}
    assert max(depths) == known_program.DEPTH  # those with less call the next one


def test_a_generator_stands_below_who_drives_it(recorded):
    seen = main_stacks(recorded)
    called = sum(n for stack, n in stacks.functions(seen).items() if stack[-2:] == ("drain", "numbers"))
    assert called == stacks.samples(seen, "numbers") > 0


@pytest.mark.parametrize("function, mark", known_program.WAITS)
def test_a_waiting_thread_is_seen_where_it_waits(recorded, function, mark):
    (thread,) = [name for name, runs in known_program.THREADS.items() if runs == function]
    place = function, recorded.program, known_program.line_of(mark)
    assert any(place in stack for stack in stacks.of_thread(recorded.threads, thread))


def test_threads_have_their_names_and_lifetimes(recorded):
    threads = {thread["name"]: thread for thread in recorded.info["threads"]}
    assert set(threads) == {stacks.MAIN, "napper", "waiter"} == stacks.names(recorded.threads)
    (process,) = recorded.info["processes"]
    assert {thread["pid"] for thread in threads.values()} == {process["pid"]}
    assert threads[stacks.MAIN]["tid"] == process["pid"]
    assert len({thread["tid"] for thread in threads.values()}) == 3
    for (name, tid), seen in recorded.threads.items():
        assert (threads[name]["tid"], threads[name]["samples"]) == (tid, sum(seen.values()))
        end = threads[name]["end_s"] or recorded.info["duration_s"]
        assert 0 <= threads[name]["start_s"] < end <= recorded.info["duration_s"]


def test_the_python_is_named(recorded):
    (process,) = recorded.info["processes"]
    assert recorded.info["python"] == process["python"] == recorded.python.full_version
    assert process["command"].endswith(recorded.program)
    assert "known.py" in recorded.info["recorder_command"]


@pytest.mark.sanitized("the memory of each CPython; a recording, by each converter", pythons="each version")
def test_all_outputs_show_the_same_stacks(recorded, pprof_path):
    assert stacks.differences(stacks.of_gecko(gecko(recorded.path)), recorded.threads) == ""
    assert stacks.differences(stacks.of_pprof(pprof_path), recorded.threads) == ""


def test_all_counts_are_the_number_of_samples(recorded, gecko_profile, pprof_summary):
    samples = recorded.info["samples"]
    assert stacks.total(recorded.threads) == samples
    assert gecko_check.summary(gecko_profile)["samples"] == samples
    summary = pprof_summary
    wall_s = sum(thread["wall_s"] for thread in recorded.info["threads"])
    assert summary["totals"][0] == samples
    assert abs(summary["totals"][1] / 1e9 - wall_s) < 1e-5
    assert summary["sample_types"] == [("samples", "count")] + [(time, "nanoseconds")
                                                                for time in ("wall", "cpu", "gil", "gil_wait")]


def test_all_tell_the_same_of_the_cpu_and_the_lock(recorded, pprof_summary):
    threads, summary = recorded.info["threads"], pprof_summary
    ns = {name: total for (name, _), total in zip(summary["sample_types"], summary["totals"])}
    states = ("gil", "gil_wait") if says_who_waits(recorded) else ("gil",)
    everything = stacks.of_collapsed(collapsed(recorded.path, "--weight", "cpu"))
    of_no_thread = sum(stacks.of_thread(everything, "<not sampled>").values()) / 1e6
    assert abs(ns["cpu"] / 1e9 - cpu_s_of(threads) - of_no_thread) < 1e-5
    for state in states:
        wanted = sum(thread["wall_s"] * 10 * thread[f"{state}_percent"] for thread in threads if thread["samples"])
        assert abs(ns[state] / 1e6 - wanted) <= 0.05 * sum(thread["wall_s"] for thread in threads) + 0.01  # 0.005 %, in ms
    for weight in ("cpu", *states):
        lines = collapsed(recorded.path, "--weight", weight).splitlines()
        shown = sum(int(line.rpartition(" ")[2]) for line in lines)
        assert abs(shown - ns[weight] / 1000) <= 0.5 * recorded.info["stacks"] + 1


def says_who_waits(recorded):
    return recorded.python.minor >= 15


def test_who_waits_for_the_lock_is_known_where_python_says_it(recorded):
    shares = [thread["gil_wait_percent"] for thread in recorded.info["threads"] if thread["samples"]]
    assert shares and all((share is not None) == says_who_waits(recorded) for share in shares), shares


def test_times_of_samples_follow_the_program(recorded, gecko_profile):
    """Both clocks are the monotonic one, and the program says when it did what. A look has its time before it is made, and the
    program may go on until then, but the look is made before the next one begins. One at a thread that has not run since the last
    one is as that. The next moment may be so near that it is over when the look is made: the one behind it is not."""
    labels = gecko_check.frame_labels(gecko_profile, lambda name, file, line: name)
    looks, outside = looks_ms(gecko_profile), []
    for i, part in enumerate(known_program.SHARES):
        spans = [(times[i] * 1e3 - ROUNDED_MS, times[i + 1] * 1e3 + ROUNDED_MS) for times in recorded.said["times"]]
        for (last, _), (time, stack), (following, _) in zip(looks, looks[1:], looks[3:]):
            if part in gecko_check.frames_of(gecko_profile, labels, stack) and not any(begin <= following and last <= end for begin, end in spans):
                outside.append((part, last, time, following))
    # Those that the program kept waiting are as the next one.
    assert len(outside) <= recorded.info["figures"].get("samples_blocked", 0), outside


def test_definitions_begin_on_their_line(recorded, pprof_summary):
    defined = {name: line for name, file, line in pprof_summary["defined"] if file == recorded.program}
    for function in ("plain", "Mill.grind", "middle", "numbers", "descend", "nap_again"):
        assert defined[function] == known_program.RANGES[function][0]


def test_a_call_has_its_column(gecko_profile):
    """A frame that calls is at the call: the viewer shows the column, counted from 1."""
    shared = gecko_profile["shared"]
    columns = collections.defaultdict(set)
    for function, line, column in zip(*(shared["frameTable"][key] for key in ("func", "line", "column"))):
        columns[shared["stringArray"][shared["funcTable"]["name"][function]], line].add(column)
    for caller, text in (("outer", "middle(until)  #"), ("middle", "inner(until)  #"), ("rounds", "mill.grind(due")):
        line = known_program.line_of(text)
        assert known_program.LINES[line].index(text) + 1 in columns[caller, line]


def test_lines_can_be_merged_and_threads_too(recorded):
    text = collapsed(recorded.path, "--functions", "--no-threads", "--full-paths")
    merged = collections.Counter()
    for stack, count in stacks.merged(recorded.threads).items():
        merged[tuple(f"{frame[0]} ({frame[1]})" if len(frame) == 3 else frame[0] for frame in stack)] += count
    shown = {tuple(line.rpartition(" ")[0].split(";")): int(line.rpartition(" ")[2]) for line in text.splitlines()}
    assert shown == merged


def test_file_names_are_shortened_for_people(recorded):
    text = collapsed(recorded.path)
    assert "plain (known.py:" in text or f"plain ({recorded.program}:" in text
    assert ";Thread._bootstrap (threading.py:" in text
    assert stacks.total(stacks.of_collapsed(text)) == recorded.info["samples"]
