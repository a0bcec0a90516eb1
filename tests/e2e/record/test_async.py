# SPDX-License-Identifier: MIT
"""asyncio tasks: who waits for whom, where each waits, what runs, and that no task is shown over another one's frames."""

import collections
import json
import re
import shlex

import pytest

import stacks
from conftest import environment
from recording import attach, collapsed, run_record, whole
from task_truth import MARK, judge

LOOP = ["<module>", "run", "Runner.run", "BaseEventLoop.run_until_complete", "BaseEventLoop.run_forever",
        "BaseEventLoop._run_once", "Handle._run"]
NAMED = 10_000 * environment.SOAK  # stacks with tasks in them, of each kind


@pytest.fixture(params=["3.14", "3.15"])
def tasks_python(request):
    """A Python whose tasks can be read."""
    return environment.python_of(request.param)


@pytest.fixture
def watch(tasks_python, program, start, tmp_path):
    """watch("all", "async_shapes", "shapes"): the recording of a program that runs."""
    python = tasks_python
    prefix = environment.as_root() if python.root else ()

    def record(which, name, *arguments, options=(), seconds=1.0):
        target = start(*python.command, program(name), *arguments)
        path = tmp_path / f"{name}.pyreel"
        attach(target, path, "--async", which, *options, seconds=seconds, prefix=prefix)
        return path

    return record


def seen(path):
    """{(entry, tid): {stack: samples}} with the names of functions only."""
    return {thread: stacks.functions(counted) for thread, counted in stacks.of_collapsed(collapsed(path)).items()}


def of_task(threads, name):
    """The only stack that a task was seen with."""
    (counted,) = [counted for (thread, _), counted in threads.items() if thread == name]
    assert len(counted) == 1, counted
    return list(next(iter(counted)))


LEAF = ["leaf", "sleep"]
SHAPES = {
    "gathers": ["<task gathers>", "gathers"],
    "gathered-1": ["<task gathers>", "gathers", "<task gathered-1>", *LEAF],
    "gathered-2": ["<task gathers>", "gathers", "<task gathered-2>", *LEAF],
    "grouped": ["<task groups>", "groups", "TaskGroup.__aexit__", "TaskGroup._aexit", "<task grouped>", *LEAF],
    "left": ["<task diamond>", "diamond", "<task left>", "waits_for"],
    "right": ["<task diamond>", "diamond", "<task right>", "waits_for"],
    "bottom": ["<task diamond>", "diamond", "<task left>", "waits_for", "<task bottom (2 parents)>", *LEAF],
    "wanted": ["<task waits-0>", "waits_kindly", "<task wanted (2 parents)>", *LEAF],
    "ring-0": ["<task ring-1>", "waits_in_ring", "<task ring-0>", "waits_in_ring"],
    "ring-1": ["<task ring-0>", "waits_in_ring", "<task ring-1>", "waits_in_ring"],
    "race": ["<task race>", "race", "staggered_race"],
    "uses_generator": ["<task uses_generator>", "uses_generator", "outer_counts", "counts", "sleep"],
    "uses_anext": ["<task uses_anext>", "uses_anext", "counts", "sleep"],
    "uses_asend": ["<task uses_asend>", "uses_asend", "counts", "sleep"],
    "uses_own_class": ["<task uses_own_class>", "uses_own_class"],
    "uses_old_style": ["<task uses_old_style>", "uses_old_style", "old_style", *LEAF],
    "recursive": ["<task recursive>", *["recursive"] * 61, "sleep"],
    "on-thread": ["<task Task-N>", "loop_of_thread.<locals>.main_of_thread", "<task on-thread>",
                  "loop_of_thread.<locals>.on_thread", "sleep"],
    "orphan": ["<task orphan>", "loop_that_ends.<locals>.orphan", "sleep"],
    "später 中 🐍": ["<task später 中 🐍>", "named_anew", "sleep"],
    "n" * 255 + "…": [f"<task {'n' * 255}…>", *LEAF],
}


@pytest.mark.sanitized("tasks of each kind, and tasks that change while they are read")
def test_every_task_is_shown_below_those_that_wait_for_it(watch):
    path = watch("all", "async_shapes", "shapes")
    threads = seen(path)
    for name, wanted in SHAPES.items():
        stack = [re.sub(r"^<task Task-\d+>$", "<task Task-N>", frame) for frame in of_task(threads, name)]
        assert stack == wanted, name
    contender = ["race.<locals>.contender", "sleep"]
    assert sum(list(stack)[-2:] == contender for counted in threads.values() for stack in counted) == 2  # of the race
    names = collections.Counter(name for name, _ in threads)
    assert max(names.values()) == 1, names


def test_tasks_belong_to_the_thread_of_their_loop(watch):
    tids = {name: tid for name, tid in seen(watch("all", "async_shapes", "shapes"))}
    assert tids["orphan"] == 0
    assert 0 != tids["on-thread"] != tids["gathers"] == tids["bottom"] != 0


def test_every_tick_has_every_task(watch):
    told = whole(watch("all", "async_shapes", "shapes"))
    assert told["failed"] == 0
    assert {task["samples"] for task in told["tasks"]} == {told["ticks"]}


def below_loop(stack):
    """What stands below the frames of the event loop."""
    assert stack[:len(LOOP)] == LOOP, stack
    return stack[len(LOOP):]


def most(path):
    """The stack that was seen most in the only thread."""
    (counted,) = seen(path).values()
    stack, count = counted.most_common(1)[0]
    assert count >= 0.95 * sum(counted.values()), counted
    return list(stack)


def test_a_running_task_is_shown_below_those_that_wait_for_it(watch):
    assert below_loop(most(watch("running", "async_shapes", "runs_in_generator"))) == [
        "<task Task-1>", "main", "runs", "<task outer>", "runs_in_generator", "generates", "spin"]


def test_an_eager_task_runs_on_top_of_the_one_that_started_it(watch):
    assert below_loop(most(watch("running", "async_shapes", "eager_outer"))) == [
        "eager_outer", "create_eager_task_factory.<locals>.factory", "<task inner>", "eager_inner", "spin"]


@pytest.mark.sanitized("tasks of each kind, and tasks that change while they are read")
def test_of_a_task_and_an_eager_one_on_top_of_it_each_has_its_own_frames(watch):
    threads = seen(watch("all", "async_shapes", "eager_outer"))
    assert of_task(threads, "inner") == ["<task inner>", "eager_inner", "spin"]
    assert of_task(threads, "outer") == ["<task Task-1>", "main", "runs", "<task outer>", "eager_outer",
                                         "create_eager_task_factory.<locals>.factory"]


def test_a_thread_that_runs_no_task_has_its_plain_stack(watch):
    threads = seen(watch("running", "async_shapes", "shapes"))
    marked = [stack for counted in threads.values() for stack in counted if any(MARK.fullmatch(frame) for frame in stack)]
    # On a busy machine, the task that said that all is ready may still be about to wait.
    assert all(below_loop(list(stack))[:3] == ["<task Task-1>", "main", "shapes"] for stack in marked), str(marked)
    assert sum(counted[stack] for counted in threads.values() for stack in marked) <= 5
    assert any("EpollSelector.select" in stack for counted in threads.values() for stack in counted)


@pytest.mark.sanitized("tasks of each kind, and tasks that change while they are read")
@pytest.mark.soak
@pytest.mark.parametrize("which", ["running", "all"])
def test_no_task_is_shown_over_the_frames_of_another(watch, which):
    marked = 0
    for _ in range(8 * environment.SOAK):
        path = watch(which, "async_named", options=("-r", "100k"), seconds=1)
        told, (more, wrong) = whole(path), judge(path)
        assert not wrong, wrong
        assert told["failed"] < 0.25 * told["samples"], told  # by a slow build; tests/oracle/run-async has the limit
        marked += more
        if marked >= NAMED:
            break
    assert marked >= 1000  # a slow machine or build


@pytest.mark.parametrize("which", ["running", "all"])
def test_tasks_of_a_program_that_is_stopped_meanwhile(watch, which):
    path = watch(which, "async_named", options=("--blocking",))
    marked, wrong = judge(path)
    assert marked > 0 and not wrong, wrong
    found = whole(path)  # on a loaded machine a thread may be too late to be stopped
    assert found["failed"] <= found["samples"] / 100, found["failed"]


@pytest.mark.sanitized("tasks of each kind, and tasks that change while they are read")
def test_ten_thousand_tasks(watch):
    path = watch("all", "async_shapes", "many", 10_000, seconds=4)
    threads = seen(path)
    names = {name for name, _ in threads if name.startswith("many-")}
    assert len(names) == 10_000
    for name in ("many-0", "many-5000", "many-9999"):
        assert of_task(threads, name) == ["<task Task-1>", "main", "many", "wait", "_wait", f"<task {name}>", *LEAF]


def test_asyncio_may_be_imported_long_after_the_start(tasks_python, program, tmp_path):
    python = tasks_python
    path = tmp_path / "late.pyreel"
    prefix = environment.as_root() if python.root else ()
    ended = run_record("--async", "all", "-o", path, "--", *python.command, program("async_late"), prefix=prefix)
    assert ended.code == 0, ended
    (counted,) = [counted for (thread, _), counted in seen(path).items() if thread == "late"]
    assert counted["<task late>", "late", "sleep"] >= 0.9 * sum(counted.values()), counted


@pytest.fixture
def lives(tasks_python, program, tmp_path):
    """programs/async_lives.py, recorded with --async all: (path, what it says of itself)."""
    path = tmp_path / "lives.pyreel"
    prefix = environment.as_root() if tasks_python.root else ()
    ended = run_record("--async", "all", "-o", path, "--", *tasks_python.command, program("async_lives"), prefix=prefix)
    assert ended.code == 0, ended
    return path, json.loads(ended.text.splitlines()[-1])


def weighed(path, *options):
    """{name of a task, or None for all threads: sum}"""
    sums = collections.Counter()
    for line in collapsed(path, *options).splitlines():
        stack, _, number = line.rpartition(" ")
        task = re.search(r";task ([^;]*)", stack)
        sums[task and task[1]] += int(number)
    return sums


def test_a_task_has_the_cpu_time_that_it_used_and_no_time_counts_twice(lives):
    path, said = lives
    cpu = weighed(path, "--weight", "cpu")
    for name, margin in (("busy", 0.25), ("often", 0.5)):  # on a busy machine, a short task sleeps before it is asked
        assert cpu[name] == pytest.approx(1e6 * said[name], rel=margin), (name, cpu, said)
    assert cpu["sleeper"] + cpu["waiter"] < 0.05e6  # as they begin
    assert cpu[None] >= 0.7e6 * said["thread"], (cpu, said)  # of the executor, and of the loop itself
    total = sum(cpu.values())
    assert 0.9e6 * said["process"] <= total <= 1.1e6 * said["process"], (cpu, said)
    gil = sum(weighed(path, "--weight", "gil").values())
    assert gil <= 1.02e6 * whole(path)["duration_s"]  # one thread at a time


def test_tasks_that_wait_are_not_on_a_processor(lives):
    path, _ = lives
    everything, running = weighed(path), weighed(path, "--no-idle")
    assert everything["sleeper"] >= everything["busy"] > 100
    assert running["sleeper"] + running["waiter"] <= 0.05 * everything["sleeper"]  # as they begin
    assert running["busy"] > 0.3 * running.total()
    assert weighed(path, "--mode", "gil")["often"] <= running["often"] < 0.8 * everything["often"]


def test_it_is_said_who_awaits_a_task(lives):
    awaited_by = {task["name"]: task["awaited_by"] for task in whole(lives[0])["tasks"]}
    awaited_by = {name: awaited_by[name] for name in ("Task-1", "sleeper", "busy", "waiter", "often")}
    assert awaited_by == {"Task-1": None, "sleeper": None, "busy": "waiter", "waiter": "Task-1", "often": "Task-1"}


def test_threads_have_samples_while_they_run_no_task(lives):
    told = whole(lives[0])
    threads = {thread["name"]: thread for thread in told["threads"]}
    assert {"MainThread", "asyncio_0"} <= set(threads)
    assert 0 < threads["MainThread"]["samples"] < told["ticks"]


# ---- several processes ----

@pytest.mark.parametrize("way", ["fork", "spawn"])
def test_each_process_of_a_tree_has_its_own_tasks(tasks_python, program, tmp_path, way):
    """A forked child has no task of its parent, although the fork was made by a task."""
    path = tmp_path / "family.pyreel"
    ended = run_record("-f", "--async", "all", "-o", path, "--", *tasks_python.command, program("async_family"), way)
    assert ended.code == 0, ended
    said = {line["pid"]: line["tasks"] for line in map(json.loads, ended.text.splitlines())}
    found = {pid: {} for pid in said}
    for task in whole(path)["tasks"]:
        if re.match("child|parent", task["name"]):  # not those that asyncio makes at the end
            found[task["pid"]][task["name"]] = task["awaited_by"]
    assert found == said and len(said) == 3
    assert shown_tasks(path) == {(pid, name) for pid, tasks in said.items() for name in tasks}


def shown_tasks(path):
    """The tasks that the collapsed output shows, with the process of each."""
    lines = collapsed(path, "--roots", "process,task").splitlines()
    found = (re.match(r"pid (\d+)[^;]*;task ((?:child|parent)[^;]*);", line) for line in lines)
    return {(int(match[1]), match[2]) for match in found if match}


def test_processes_of_an_older_python_are_left_out(tasks_python, program, tmp_path):
    """Others of the tree are recorded; where there are none, this is a failure."""
    sleep = [*environment.python_of("3.11").command, "-c", "import time; time.sleep(0.5)"]
    alone, both = tmp_path / "alone.pyreel", tmp_path / "both.pyreel"
    ended = run_record("-f", "--async", "all", "-o", alone, "--", *sleep)
    assert ended.code == 125 and not alone.exists()
    assert "it runs CPython 3.11" in ended.messages and "no Python could be read" in ended.messages
    spin = [*tasks_python.command, str(program("spin")), "0.5"]
    ended = run_record("-f", "--async", "all", "-o", both, "--", "sh", "-c", f"{shlex.join(sleep)} & {shlex.join(spin)}; wait")
    assert ended.code == 0 and "it runs CPython 3.11" in ended.messages, ended
    (process,) = whole(both)["processes"]
    assert process["python"] == tasks_python.full_version


@pytest.mark.parametrize("version", ["3.11", "3.13"])
def test_a_python_whose_tasks_cannot_be_read_is_refused(version, program, start, tmp_path):
    python = environment.python_of(version)
    target = start(*python.command, program("spin"))
    path = tmp_path / "refused.pyreel"
    ended = run_record("-p", target.pid, "--async", "all", "-o", path, prefix=environment.as_root() if python.root else ())
    assert ended.code == 125, ended
    assert f"--async needs CPython 3.14 or later, and it runs CPython {version}" in ended.messages
    assert not path.exists() and target.running


@pytest.mark.parametrize("options, words", [
    (("--async", "some"), "--async running|all: "),
    (("--async", "all", "-m", "cpu"), "--async all"),
    (("--async", "all", "-t", "gil"), "--async all"),
    (("--async", "running", "--opcodes"), "--opcodes and --async exclude each other"),
], ids=str)
def test_what_does_not_go_together_is_refused(options, words):
    ended = run_record(*options, "-p", 1)
    assert ended.code == 2, ended
    assert words in ended.messages
