# SPDX-License-Identifier: MIT
"""Each column against the truth: programs/columns.py keeps its own account, and each column of its profile must agree, on
a quiet machine and on a busy machine. A bound of the busy machine comes from the recording, not from a clock."""

import collections
import json
import math
import os
import re
import subprocess
import sys
import time

import pytest

import environment
import gecko_check
import pprof_check
from recording import CONVERTERS, Recorder, collapsed, gecko, info, run_record, succeed, trace

INTERVAL = 0.001  # seconds, at the default rate
MOMENT = 0.001  # pyreel-info prints seconds of CPU time with so many digits
BURSTS = 450
Row = collections.namedtuple("Row", "thread labels functions values")  # values: column -> seconds, or samples
Told = collections.namedtuple("Told", "path truth info rows")


def read_rows(path, out, *options):
    """Each sample of the profile that pyreel-pprof makes, and the profile's columns in order."""
    succeed(CONVERTERS["pprof"], *options, "-o", out, path)
    profile = pprof_check.load(out)
    names = [tuple(pprof_check.text_at(profile, kind[key]) for key in ("type", "unit")) for kind in profile["sample_type"]]
    rows = []
    for sample in profile["sample"]:
        labels = pprof_check.label_values(profile, sample)
        values = {name: value / 1e9 if unit == "nanoseconds" else value
                  for (name, unit), value in zip(names, sample["value"])}
        rows.append(Row(labels["thread"], labels, [name for name, _ in pprof_check.frames_of(profile, sample)], values))
    return rows, ["/".join(name) for name in names]


def total(rows, column, function=None, thread=None):
    return sum(row.values[column] for row in rows
               if (function is None or function in row.functions) and (thread is None or row.thread == thread))


def newest():
    return environment.python_of("3.15")


def command_of(python, program, kind, amount):
    return (*python.command, program("columns"), kind, amount)


def account_of(ended):
    assert ended.code == 0, ended
    return json.loads(ended.text.splitlines()[-1])


@pytest.fixture(scope="session")
def tell(program, tmp_path_factory):
    """tell("fight", 4, ...): records the program with these options."""
    def tell(kind, amount, *options, python=None):
        python = python or newest()
        path = tmp_path_factory.mktemp("columns") / f"{kind}.pyreel"
        ended = run_record(*options, "-o", path, "--", *command_of(python, program, kind, amount), prefix=python.prefix)
        rows, _ = read_rows(path, f"{path}.pb.gz")
        return Told(path, account_of(ended), info(path), rows)

    return tell


@pytest.fixture(scope="session", params=["quiet", "busy"])
def machine(request):
    """A busy machine has a program that spins on each processor, with the priority of the programs of the tests."""
    spinning = []
    if request.param == "busy":
        spinning = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in os.sched_getaffinity(0)]
    yield request.param
    for process in spinning:
        process.kill()
        process.wait()


@pytest.fixture(scope="session")
def bursts(machine, tell):
    return tell("account_bursts", BURSTS)


@pytest.fixture(scope="session")
def short_bursts(machine, tell):
    return tell("short_bursts", 3)


@pytest.fixture(scope="session")
def short_bursts_cpu(machine, tell):
    return tell("short_bursts", 3, "-m", "cpu")


@pytest.fixture(scope="session")
def fight(machine, tell):
    return tell("fight", 4)


@pytest.fixture(scope="session")
def async_tasks(machine, tell):
    return tell("tasks", 3, "--async", "running")


@pytest.fixture(scope="session")
def entered(machine, tell):
    return tell("interpreters", 2)


@pytest.fixture(scope="session")
def held(machine, program, tmp_path_factory):
    """A debugger holds the recorder for 1 s of 4, and so the recorder misses a thousand ticks."""
    python = environment.python_of_this_machine()
    path = tmp_path_factory.mktemp("columns") / "held.pyreel"
    recorder = Recorder("-o", path, "--", *command_of(python, program, "steady", 4))
    try:
        time.sleep(1.5)
        trace("seize", recorder.pid)
        trace("interrupt", recorder.pid)
        os.waitpid(recorder.pid, 0)
        time.sleep(1)
        trace("detach", recorder.pid)
        truth = account_of(recorder.wait())
    finally:
        recorder.close()
    rows, _ = read_rows(path, f"{path}.pb.gz")
    return Told(path, truth, info(path), rows)


def weighed(path, weight, *options):
    """Seconds (or samples) of each thread by its name, as pyreel-collapsed gives them."""
    sums = collections.Counter()
    for line in collapsed(path, "--weight", weight, *options).splitlines():
        stack, _, count = line.rpartition(" ")
        frames = [frame for frame in stack.split(";") if not re.match(r"interpreter \d+$|pid \d+: ", frame)]
        sums[re.sub(r" \(\d+\)$", "", frames[0])] += int(count) if weight == "samples" else int(count) / 1e6
    return sums


def seen(told, name):
    """From the first look at a thread to its last look, and one interval: what a recording has of the thread's life."""
    times = [time for thread in gecko_check.load(gecko(told.path))["threads"] for time in thread["samples"]["time"]
             if thread["name"] == name or name == "MainThread" and thread["isMainThread"]]
    return (max(times) - min(times)) / 1000 + INTERVAL


def assert_wall(told, name, life, function=None):
    """All outputs give the thread the same wall time, its life. On a busy machine, the first look may be late, and the
    last look may be long before the end: a recording says nothing of this time. A thread that begins waits for the lock
    before its first line: its own account is that of `function`."""
    wall = total(told.rows, "wall", thread=name)
    assert weighed(told.path, "wall")[name] == pytest.approx(wall, rel=0.001, abs=MOMENT)
    infos = sum(thread["wall_s"] for thread in told.info["threads"] if thread["name"] == name)
    assert infos == pytest.approx(wall, rel=0.001, abs=2 * MOMENT)
    allowed = 0.01 * life + 2 * INTERVAL
    assert wall == pytest.approx(seen(told, name), abs=allowed), name
    own = total(told.rows, "wall", function, thread=name)
    assert life - allowed - max(0, life - seen(told, name)) <= own <= life + allowed, (name, own, life)


def chance(told):
    """By how much the CPU time of a thread may be more than the wall time of the looks that saw the thread on a processor: their
    number varies no more than a Poisson count. Three times as much is allowed."""
    return 3 / math.sqrt(sum(row.values["samples"] for row in told.rows if row.values["cpu"]))


def assert_no_row_has_more_cpu_than_wall(told):
    most = 1 + chance(told)
    over = [(row.functions[-1], row.values) for row in told.rows if row.values["cpu"] > most * row.values["wall"] + INTERVAL]
    assert not over, over


# ---- wall ----

def test_wall_of_each_thread_of_a_fight_is_its_life(fight):
    for name, life in fight.truth["lives"].items():
        assert_wall(fight, name, life, "spin")


def test_wall_of_the_main_thread_is_the_duration(bursts):
    assert_wall(bursts, "MainThread", seen(bursts, "MainThread"))


def test_wall_of_each_function_is_its_account(bursts):
    """The sleeps, too: a look at a thread that sleeps is a look."""
    for function in ("c", "sleep_long"):
        assert total(bursts.rows, "wall", function) == pytest.approx(bursts.truth["wall"][function], rel=0.15)


def test_wall_holds_the_time_of_missed_ticks(held):
    """The recorder was held for a second: the wall time of the function that spun has that second."""
    assert held.info["missed"] >= 900
    spin = total(held.rows, "wall", "spin")
    assert spin == pytest.approx(held.truth["wall"]["spin"], rel=0.01, abs=2 * INTERVAL)
    assert weighed(held.path, "wall")["MainThread"] == pytest.approx(total(held.rows, "wall"), rel=0.001)


def test_samples_stay_a_count(held):
    assert total(held.rows, "samples") == held.info["samples"] == sum(weighed(held.path, "samples").values())


def test_gil_of_a_thread_that_spins_alone_is_its_wall(held):
    assert total(held.rows, "gil", "spin") >= 0.95 * total(held.rows, "wall", "spin")


def test_locks_of_a_fight_fill_the_time(fight):
    """At most one thread has the lock at each moment, and all others wait for the lock. On a busy machine, nobody has the
    lock while the thread that is next has no processor. The thread that gave the lock away waits for that thread then, not
    for the lock."""
    names = list(fight.truth["lives"])
    held, waited, wall = (sum(total(fight.rows, column, thread=name) for name in names)
                          for column in ("gil", "gil_wait", "wall"))
    used = sum(fight.truth["cpu"][name] for name in names)  # a thread that spins has the lock
    life = max(fight.truth["lives"].values())
    assert 0.9 * used <= held <= 1.1 * life, used
    assert 0.9 * wall - max(0, life - used) <= held + waited <= 1.1 * wall, (life, used)


def test_a_thread_is_in_one_interpreter(entered):
    wall = total(entered.rows, "wall", thread="enters") + sum(
        row.values["wall"] for row in entered.rows if row.thread != "enters" and row.labels["thread_id"] in thread_ids(entered))
    assert wall == pytest.approx(entered.truth["lives"]["enters"], rel=0.02), wall


def thread_ids(told):
    return {thread["tid"] for thread in told.info["threads"] if thread["name"] == "enters"}


# ---- cpu ----

def test_cpu_of_each_function_is_its_account(bursts):
    """A look falls into a burst of one interval, or misses the burst: the count of looks varies no more than a Poisson
    count, so that chance alone moves a sum of N looks by 1 in the square root of N. Three times as much is allowed, and 15 %
    at least. A recorder on a busy machine has fewer looks than the rate asks for.
    A look cannot tell a thread that has a processor from a thread that waits for a processor. So on a busy machine a
    function may have the share of CPU time that the function has of the wall time, too. On a quiet machine both agree.
    On a busy machine the bound is wide: no look can tell the two apart. The account says whether the machine was busy."""
    assert 3 / math.sqrt(BURSTS) < 0.15
    work = {name: bursts.truth["wall"][name] for name in "abc"}
    used = sum(bursts.truth["cpu"][name] for name in "abc")
    busy = sum(work.values()) > 1.1 * used
    for name in work:
        true, share = bursts.truth["cpu"][name], used * work[name] / sum(work.values())
        cpu = total(bursts.rows, "cpu", name)
        slack = 0.5 if busy else max(0.15, 3 / math.sqrt(bursts.info["reached_hz"] * work[name]))
        assert (1 - slack) * min(true, share) <= cpu <= (1 + slack) * max(true, share), (name, cpu, true, share)


def test_cpu_of_a_thread_is_its_account(bursts):
    assert_between_accounts(bursts, total(bursts.rows, "cpu"), 0.02)


def assert_between_accounts(told, cpu, share):
    """The recording may have CPU time of Python's start, or not; the program has an account with it and one without it."""
    assert (1 - share) * sum(told.truth["cpu"].values()) <= cpu <= (1 + share) * told.truth["main_cpu"], (cpu, told.truth)


def test_no_row_has_more_cpu_than_wall(bursts, fight, async_tasks):
    for told in (bursts, fight, async_tasks):
        assert_no_row_has_more_cpu_than_wall(told)


def test_no_task_has_more_cpu_than_wall(async_tasks):
    tasks = collections.defaultdict(collections.Counter)
    for row in async_tasks.rows:
        tasks[row.labels.get("task")].update(row.values)
    assert {"even", "odd"} <= set(tasks), set(tasks)
    for name, values in tasks.items():
        assert values["cpu"] <= (1 + chance(async_tasks)) * values["wall"] + INTERVAL, (name, values)


def test_tasks_that_do_the_same_work_have_their_cpu(async_tasks):
    for name, true in async_tasks.truth["cpu"].items():
        cpu = sum(row.values["cpu"] for row in async_tasks.rows if row.labels.get("task") == name)
        assert cpu == pytest.approx(true, rel=0.15), name


@pytest.mark.parametrize("options", [(), ("--mode", "cpu"), ("--mode", "gil")])
def test_cpu_is_the_sum_of_info_in_each_mode(short_bursts, tmp_path, options):
    assert_sum_of_cpu(short_bursts, tmp_path, *options)


def test_cpu_of_a_recording_in_mode_cpu(short_bursts_cpu, tmp_path):
    assert_sum_of_cpu(short_bursts_cpu, tmp_path)


def assert_sum_of_cpu(told, tmp_path, *options):
    """CPU time of looks that a mode leaves out goes to a look that the mode keeps."""
    rows, _ = read_rows(told.path, tmp_path / "out", *options)
    if not rows:  # the mode keeps no look, so no stack can get the CPU time
        profile = pprof_check.load(tmp_path / "out")
        comments = [pprof_check.text_at(profile, index) for index in profile["comment"]]
        assert any("belong to threads without a sample" in comment for comment in comments), comments
        return
    cpu = total(rows, "cpu")
    infos = sum(thread["cpu_s"] for thread in told.info["threads"])
    assert cpu == pytest.approx(infos, abs=MOMENT * len(told.info["threads"])), (cpu, infos, told.truth)
    assert sum(weighed(told.path, "cpu", *options).values()) == pytest.approx(infos, abs=MOMENT + 1e-6 * len(rows))
    assert_between_accounts(told, cpu, 0.10)
