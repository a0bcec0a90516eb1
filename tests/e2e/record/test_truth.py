# SPDX-License-Identifier: MIT
"""Each output says what the program really did, under every CPython found. Shares are of CPU time: other work on the machine
adds none of it."""

import collections

import pytest

import gecko_check
import known_program
import pprof_check
import stacks
from conftest import KNOWN_SECONDS
from recording import collapsed, gecko, pprof

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


def test_each_part_is_seen_at_work(worked):
    """How much of the work each has is for tests/oracle: a recorder that is late gives the time until then to one part."""
    for part in known_program.SHARES:
        assert stacks.samples(worked, "rounds", part) > 0, part


def test_the_work_is_as_much_as_the_program_says(recorded, worked):
    """Less is seen only of what ran before the first look."""
    cpu_s = sum(thread["cpu_s"] for thread in recorded.info["threads"])
    assert 0.5 * KNOWN_SECONDS < cpu_s <= 1.02 * recorded.said["cpu_s"] + 0.02
    assert 0.5 * KNOWN_SECONDS < sum(worked.values()) / 1e6 <= 1.02 * recorded.said["cpu_s"] + 0.02


def test_time_goes_by_at_the_rate_that_was_asked_for(recorded):
    """A tick is looked at or missed."""
    figures = recorded.info
    (process,) = figures["processes"]
    due = (process["end_s"] - process["start_s"]) * figures["rate_hz"]
    assert abs(figures["ticks"] + figures["missed"] - due) <= 0.02 * due
    assert figures["rate_hz"] == 1000
    assert KNOWN_SECONDS <= figures["duration_s"]


def test_no_stack_that_the_program_cannot_have_had(recorded):
    reasons = known_program.all_impossible(recorded.threads, recorded.program)
    # The oracle (tests/oracle) measures how rare they are in looks that are not proved to be one moment.
    assert reasons.total() <= (recorded.info["figures"]["samples_live"] > 0), "\n".join(
        f"{count} times {why}" for why, count in reasons.most_common(5))


def test_nearly_all_samples_are_one_moment_and_hardly_any_fails(recorded):
    figures = recorded.info
    assert figures["exact_percent"] >= 80
    assert figures["failed"] <= 0.005 * figures["samples"] + 1, figures["failures"]


@pytest.mark.parametrize("function", ["plain", "Mill.grind", "inner"])
def test_work_is_on_the_line_of_its_loop(worked, function):
    lines = collections.Counter()
    for stack, cpu_us in worked.items():
        if stack[-1][0] == function:
            lines[stack[-1][2]] += cpu_us
    loop = known_program.loop_of(function)
    assert lines[loop] + lines[loop + 1] >= 0.9 * sum(lines.values()) > 0, lines
    assert lines[loop] > lines[loop + 1], lines  # the loop calls the clock, its body is `pass`


def test_recursion_has_its_full_depth(worked):
    depths = collections.Counter()
    for stack, cpu_us in stacks.within(worked, "descend").items():
        depths[sum(frame[0] == "descend" for frame in stack)] += cpu_us
    assert depths[known_program.DEPTH] >= 0.8 * sum(depths.values()) > 0, depths  # those with less call the next one


def test_a_generator_stands_below_who_drives_it(recorded):
    seen = main_stacks(recorded)
    driven = stacks.samples(seen, "numbers")
    assert driven > 0.2 * stacks.samples(seen, "drain") > 0
    called = sum(n for stack, n in stacks.functions(seen).items() if stack[-2:] == ("drain", "numbers"))
    assert called == driven


@pytest.mark.parametrize("thread, function, mark", [("napper", "nap_again", "# the nap"), ("waiter", "wait_for_end", "done.wait()")])
def test_a_waiting_thread_is_seen_where_it_waits(recorded, thread, function, mark):
    seen = stacks.of_thread(recorded.threads, thread)
    line = known_program.line_of(mark)
    there = sum(n for stack, n in seen.items() if (function, recorded.program, line) in stack)
    # Before it waits it begins and names itself, and imports modules for that.
    other = {stack: n for stack, n in seen.items() if stack[-1][1:] and stack[-1][0] == function and stack[-1][2] != line}
    assert sum(other.values()) <= 0.2 * there, other
    assert there > 0.5 * sum(seen.values())


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
    assert process["command"].endswith(f"{recorded.program} {KNOWN_SECONDS}")
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
    assert abs(ns["cpu"] / 1e9 - sum(thread["cpu_s"] for thread in threads)) < 1e-5
    for state in states:
        wanted = sum(thread["wall_s"] * 10 * thread[f"{state}_percent"] for thread in threads if thread["samples"])
        assert abs(ns[state] / 1e6 - wanted) <= 1e-4 * recorded.info["samples"]
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
    program may go on until then."""
    profile = gecko_profile
    start_ms = profile["meta"]["startTimeAsClockMonotonicNanosecondsSinceBoot"] / 1e6
    (main,) = [thread for thread in profile["threads"] if thread["isMainThread"]]
    labels = gecko_check.frame_labels(profile, lambda name, file, line: name)
    table = profile["shared"]["stackTable"]

    def functions(stack):
        while stack is not None:
            yield labels[table["frame"][stack]]
            stack = table["prefix"][stack]

    seen = [(time, set(functions(stack))) for time, stack in zip(main["samples"]["time"], main["samples"]["stack"])]
    for i, part in enumerate(known_program.SHARES):
        spans = [(times[i] * 1e3 - start_ms, times[i + 1] * 1e3 - start_ms) for times in recorded.said["times"]]
        at = [time for time, names in seen if part in names]
        inside = sum(any(begin - 1.5 <= time <= end + 1.5 for begin, end in spans) for time in at)
        assert inside >= 0.8 * len(at) > 0, f"{part}: {inside} of {len(at)}"


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
