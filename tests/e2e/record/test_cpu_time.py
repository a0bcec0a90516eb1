# SPDX-License-Identifier: MIT
"""The CPU time of functions is what programs that keep account say of themselves, with the options that a user has by
default."""

import json
import os

import pytest

import stacks
from environment import CONVERTERS, missing
from recording import collapsed, cpu_s_of, gaps_of, run, run_record, succeed, whole

OLDEST_AND_NEWEST = pytest.mark.pythons("oldest and newest")


def functions_of(path):
    """Function -> seconds of CPU time, with that of what it called."""
    times = stacks.functions(stacks.merged(stacks.of_collapsed(collapsed(path, "--weight", "cpu"))))
    return lambda name: sum(time for stack, time in times.items() if name in stack) / 1e6


@pytest.fixture
def recorded_account(python, program, tmp_path):
    """recorded_account("beside_waiters", 150, "-r", "100"): the recording of the program, what it said of itself, and how it
    ended."""
    def record(what, *arguments):
        path = tmp_path / "account.pyreel"
        numbers = [argument for argument in arguments if isinstance(argument, int)]
        options = [argument for argument in arguments if not isinstance(argument, int)]
        ended = run_record("-o", path, *options, "--", *python.command, program("cpu_account"), what, *numbers,
                           prefix=python.prefix)
        assert ended.code == 0, ended
        return path, json.loads(ended.text.splitlines()[-1]), ended

    return record


@OLDEST_AND_NEWEST
@pytest.mark.parametrize("count", [150, 600])
def test_threads_that_wait_take_nothing_from_one_that_works(recorded_account, count):
    path, account, ended = recorded_account("beside_waiters", count)
    found, used = whole(path), functions_of(path)
    assert len(found["threads"]) == count + 1
    assert all(thread["cpu_s"] is not None for thread in found["threads"])
    gaps = gaps_of(found)
    total = sum(account.values())
    assert used("busy") + used("other") == pytest.approx(total, rel=0.1 + gaps), ended
    assert used("busy") / (used("busy") + used("other")) == pytest.approx(account["busy"] / total, abs=0.1 + gaps), ended


@OLDEST_AND_NEWEST
def test_the_time_of_a_thread_counts_from_its_birth(recorded_account):
    """Ten milliseconds pass between two looks, so a thread of 15 ms has a third of its time before the first one."""
    path, account, ended = recorded_account("short_threads", 15, "-r", "100")
    found, used = whole(path), functions_of(path)
    gaps = gaps_of(found)
    assert 0.4 - gaps < used("burn") / sum(account.values()) < 1.5, ended  # to begin and to end a thread takes time, too


@OLDEST_AND_NEWEST
@pytest.mark.parametrize("calls, megabytes", [(30, 16), (240, 2)])
def test_threads_that_python_does_not_know_have_rows(recorded_account, calls, megabytes):
    """Of their own, or one for all that live for two milliseconds."""
    path, account, ended = recorded_account("native_threads", calls, megabytes)
    found = whole(path)
    gaps = gaps_of(found)
    assert found["cpu_native_s"] == pytest.approx(account["busy"], rel=0.1 + gaps, abs=0.02), ended
    assert functions_of(path)("other") == pytest.approx(account["other"], rel=0.1 + gaps, abs=0.02), ended
    stacks_of_c = [line for line in collapsed(path, "--weight", "cpu").splitlines() if "<native thread " in line]
    assert sum(int(line.rsplit(" ", 1)[1]) for line in stacks_of_c) / 1e6 == pytest.approx(found["cpu_native_s"], abs=0.01)


def test_a_number_that_a_native_thread_had_is_that_of_another_thread(python3, program, tmp_path):
    if not os.access("/proc/sys/kernel/ns_last_pid", os.W_OK):
        missing("needs to choose the numbers of threads")
    path = tmp_path / "a.pyreel"
    ended = run_record("-o", path, "--", python3, program("cpu_account"), "reused_numbers", 100, 60)
    found = whole(path)  # no time counts twice
    waiters = [thread for thread in found["threads"] if thread["name"].startswith("waiter-")]
    assert len(waiters) == 60, ended
    assert cpu_s_of(waiters) < 0.1 * found["cpu_s"], (ended, waiters)


@OLDEST_AND_NEWEST
def test_a_call_that_waits_for_native_threads_is_told_from_one_that_sleeps(recorded_account):
    path, account, ended = recorded_account("beside_sleepers", 6, 150)
    found = whole(path)
    gaps = gaps_of(found)
    lines = [json.loads(line) for line in succeed(CONVERTERS["report"], "--jsonl", path).text.splitlines()]

    def share(function):
        """Of the time in the function: that in which it is said to wait for native threads."""
        within = [line for line in lines if any(frame["function"].endswith(function) for frame in line.get("frames", ()))]
        return sum(line["wall_ns"] for line in within if line["waits"] == "native") / sum(line["wall_ns"] for line in within)

    assert share("in_threads_of_c") > 0.7 - gaps, (ended, lines)
    assert share("nap") < 0.3 + gaps and share("rest") == 0, (ended, lines)
    report = json.loads(succeed(CONVERTERS["report"], "--json", path).text)
    (section,) = [section for section in report["sections"] if section["what"] == "native"]
    (row,) = [row for row in section["rows"] if row["name"] == "in_threads_of_c"]
    assert row["total"] == pytest.approx(account["busy"], rel=0.3 + gaps), (ended, section)
    for converter in ("gecko", "speedscope"):
        assert "[waiting for native threads]" in succeed(CONVERTERS[converter], "-o", "-", path).text, converter


@OLDEST_AND_NEWEST
def test_short_threads_have_their_share(recorded_account):
    """A look comes every ten milliseconds, and a thread lives for three."""
    path, account, ended = recorded_account("mixed_threads", 3, "-r", "100")
    found, used = whole(path), functions_of(path)
    gaps = gaps_of(found)
    parts = used("burn") / found["cpu_s"]
    assert parts > 0.65 - gaps, ended  # it was 0.07 to 0.35 once; a busy machine leaves more to <not sampled>
    lines = collapsed(path, "--weight", "cpu", "--functions").splitlines()
    of_threads = sum(int(line.rsplit(" ", 1)[1]) for line in lines if "burn" in line and "Thread.run" in line) / 1e6
    assert of_threads / used("burn") == pytest.approx(account["busy"] / sum(account.values()), abs=0.2 + gaps), ended


@OLDEST_AND_NEWEST
def test_a_function_that_sleeps_has_no_time_while_others_work(recorded_account):
    path, account, ended = recorded_account("sleepers", 3)
    found, used = whole(path), functions_of(path)
    assert used("burn") / found["cpu_s"] > 0.85 - gaps_of(found), ended


@OLDEST_AND_NEWEST
@pytest.mark.parametrize("what, argument", [("native_threads", 10), ("mixed_threads", 3), ("sleepers", 3)])
def test_the_account_is_that_of_the_kernel(recorded_account, what, argument):
    """Of the command and its children: there are none."""
    path, _, ended = recorded_account(what, argument)
    found = whole(path)
    kernel = found["figures"]["command_cpu_ns"] / 1e9
    assert found["cpu_s"] == pytest.approx(kernel, rel=0.01, abs=0.01), ended


def test_what_no_recorded_process_used_is_told(python3, tmp_path):
    """A shell works beside the program; its end is the program's, so the kernel counts its time as the tree's."""
    code = "import subprocess; sum(range(3_000_000)); subprocess.run(['sh', '-c', %r])"
    shell = "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done"
    path, again = tmp_path / "a.pyreel", tmp_path / "again.pyreel"
    ended, _ = (run_record("-f", "-o", name, "--", python3, "-c", code % shell) for name in (path, again))
    found = whole(path)  # and the account adds up to what the kernel counted
    kernel = found["figures"]["command_cpu_ns"] / 1e9
    (process,) = found["processes"]
    assert found["cpu_others_s"] == pytest.approx(kernel - process["cpu_s"], rel=0.02, abs=0.01), ended
    assert found["cpu_others_s"] > 0.05, ended
    lines = collapsed(path, "--weight", "cpu").splitlines()
    assert sum(int(line.rsplit(" ", 1)[1]) for line in lines) / 1e6 == pytest.approx(kernel, rel=0.02, abs=0.01)
    assert sum("<other processes>" in line for line in lines) == 1
    both, other = json.loads(succeed(CONVERTERS["report"], "--json", path, again).text)["recording"], whole(again)
    for key in ("cpu_s", "cpu_placed_s", "cpu_not_sampled_s", "cpu_others_s"):
        assert both[key] == pytest.approx(found[key] + other[key], rel=0.01, abs=0.01), key
    kept = run(CONVERTERS["info"], "--min-kept", "50", path)
    assert kept.code == 0, kept
