# SPDX-License-Identifier: MIT
"""asyncio tasks: who waits for whom, where each waits, what runs, and that no task is shown over another one's frames."""

import collections
import json
import re
import shlex

import pytest

import stacks
from environment import as_root, python_of
from recording import attach, collapsed, run_record, whole
from task_truth import MARK, judge

LOOP = ["<module>", "run", "Runner.run", "BaseEventLoop.run_until_complete", "BaseEventLoop.run_forever",
        "BaseEventLoop._run_once", "Handle._run"]
pytestmark = pytest.mark.pythons("each version", since="3.14")  # whose tasks can be read


def prefix_of(python):
    return as_root() if python.root else ()


@pytest.fixture
def watch(python, program, start, tmp_path):
    """watch("all", "async_shapes", "shapes"): the recording of a program that runs."""
    def record(which, name, *arguments, options=(), **more):
        path = tmp_path / f"{name}.pyreel"
        attach(start(*python.command, program(name), *arguments), path, "--async", which, *options, prefix=prefix_of(python),
               **more)
        return path

    return record


@pytest.fixture
def run_tasks(python, program, tmp_path):
    """run_tasks("all", "async_late"): the recording of a program to its end, and what it printed."""
    def record(which, name, *arguments, options=()):
        path = tmp_path / f"{name}.pyreel"
        ended = run_record(*options, "--async", which, "-o", path, "--", *python.command, program(name), *arguments,
                           prefix=prefix_of(python))
        assert ended.code == 0, ended
        return path, ended.text

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


@pytest.mark.short
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

    tids = {name: tid for name, tid in threads}  # tasks belong to the thread of their loop
    assert tids["orphan"] == 0
    assert 0 != tids["on-thread"] != tids["gathers"] == tids["bottom"] != 0

    told = whole(path)  # every tick has every task
    assert told["failed"] == 0
    assert {task["samples"] for task in told["tasks"]} == {told["ticks"]}


def below_loop(path):
    """What stands below the frames of the event loop in the only stack of the only thread."""
    (counted,) = seen(path).values()
    (stack,) = counted
    assert list(stack[:len(LOOP)]) == LOOP, stack
    return list(stack[len(LOOP):])


@pytest.mark.short
def test_a_running_task_is_shown_below_those_that_wait_for_it(watch):
    assert below_loop(watch("running", "async_shapes", "runs_in_generator")) == [
        "<task Task-1>", "main", "runs", "<task outer>", "runs_in_generator", "generates", "spin"]


def test_an_eager_task_runs_on_top_of_the_one_that_started_it(watch):
    assert below_loop(watch("running", "async_shapes", "eager_outer")) == [
        "eager_outer", "create_eager_task_factory.<locals>.factory", "<task inner>", "eager_inner", "spin"]


@pytest.mark.sanitized("tasks of each kind, and tasks that change while they are read")
def test_of_a_task_and_an_eager_one_on_top_of_it_each_has_its_own_frames(watch):
    threads = seen(watch("all", "async_shapes", "eager_outer"))
    assert of_task(threads, "inner") == ["<task inner>", "eager_inner", "spin"]
    assert of_task(threads, "outer") == ["<task Task-1>", "main", "runs", "<task outer>", "eager_outer",
                                         "create_eager_task_factory.<locals>.factory"]


def test_a_thread_that_runs_no_task_has_its_plain_stack(watch):
    found = [stack for counted in seen(watch("running", "async_shapes", "shapes")).values() for stack in counted]
    assert not [stack for stack in found if any(MARK.fullmatch(frame) for frame in stack)]
    assert any("EpollSelector.select" in stack for stack in found), found


@pytest.mark.short
@pytest.mark.sanitized("tasks of each kind, and tasks that change while they are read")
@pytest.mark.pythons("newest")  # tests/oracle/test_tasks.py has the others, of which a few stacks in a million are wrong
@pytest.mark.parametrize("which, options", [("running", ()), ("running", ("--blocking",)), ("all", ()), ("all", ("--blocking",))],
                         ids=str)
def test_no_task_is_shown_over_the_frames_of_another(watch, which, options):
    path = watch(which, "async_named", options=options, samples=500)
    told, (marked, wrong) = whole(path), judge(path)
    assert marked > 0
    assert wrong.total() <= (told["figures"]["samples_live"] > 0), wrong
    assert told["failed"] <= 0.02 * told["samples"], told["failures"]


@pytest.mark.sanitized("tasks of each kind, and tasks that change while they are read")
def test_ten_thousand_tasks(watch):
    threads = seen(watch("all", "async_shapes", "many", 10_000, until=lambda found: len(found["tasks"]) > 10_000))
    names = {name for name, _ in threads if name.startswith("many-")}
    assert len(names) == 10_000
    for name in ("many-0", "many-5000", "many-9999"):
        assert of_task(threads, name) == ["<task Task-1>", "main", "many", "wait", "_wait", f"<task {name}>", *LEAF]


def test_asyncio_may_be_imported_long_after_the_start(run_tasks):
    path, _ = run_tasks("all", "async_late")
    (counted,) = [counted for (thread, _), counted in seen(path).items() if thread == "late"]
    assert counted["<task late>", "late", "sleep"] > 0, counted


@pytest.fixture
def lives(run_tasks):
    """programs/async_lives.py, recorded with --async all: (path, what it says of itself)."""
    path, text = run_tasks("all", "async_lives")
    return path, json.loads(text.splitlines()[-1])


def weighed(path, *options):
    """{name of a task, or None for all threads: sum}"""
    sums = collections.Counter()
    for line in collapsed(path, *options).splitlines():
        stack, _, number = line.rpartition(" ")
        task = re.search(r";task ([^;]*)", stack)
        sums[task and task[1]] += int(number)
    return sums


@pytest.mark.short
def test_tasks_have_the_lives_that_the_program_says(lives):
    path, said = lives
    told = whole(path)

    # A task has the CPU time that it used, and no time counts twice. A short task may sleep before it is asked.
    cpu = weighed(path, "--weight", "cpu")
    assert 0.6e6 * said["busy"] < cpu["busy"] < 1.4e6 * said["busy"], (cpu, said)
    assert 0.3e6 * said["often"] < cpu["often"] < 1.7e6 * said["often"], (cpu, said)
    assert cpu["sleeper"] + cpu["waiter"] < 0.1e6, cpu  # as they begin
    assert cpu[None] >= 0.5e6 * said["thread"], (cpu, said)  # of the executor, and of the loop itself
    assert 0.7e6 * said["process"] <= sum(cpu.values()) <= 1.05e6 * said["process"], (cpu, said)
    gil = sum(weighed(path, "--weight", "gil").values())
    assert gil <= 1.02e6 * told["duration_s"]  # one thread at a time

    # Tasks that wait are not on a processor.
    everything, running = weighed(path), weighed(path, "--no-idle")
    assert everything["sleeper"] >= 0.9 * everything["busy"] > 0
    assert running["sleeper"] + running["waiter"] <= 0.1 * everything["sleeper"]  # as they begin
    assert 0 < weighed(path, "--mode", "gil")["often"] <= running["often"] < 0.9 * everything["often"]
    assert running["busy"] > 0.1 * running.total()

    awaited_by = {task["name"]: task["awaited_by"] for task in told["tasks"]}
    awaited_by = {name: awaited_by[name] for name in ("Task-1", "sleeper", "busy", "waiter", "often")}
    assert awaited_by == {"Task-1": None, "sleeper": None, "busy": "waiter", "waiter": "Task-1", "often": "Task-1"}

    threads = {thread["name"]: thread for thread in told["threads"]}  # have samples while they run no task
    assert {"MainThread", "asyncio_0"} <= set(threads)
    assert 0 < threads["MainThread"]["samples"] < told["ticks"]


# ---- several processes ----

@pytest.mark.parametrize("way", ["fork", "spawn"])
def test_each_process_of_a_tree_has_its_own_tasks(run_tasks, way):
    """A forked child has no task of its parent, although the fork was made by a task. Until CPython has cleared the list, the
    task is in the child, and the child on its stack."""
    path, text = run_tasks("all", "async_family", way, options=("-f",))
    said = {line["pid"]: line["tasks"] for line in map(json.loads, text.splitlines())}
    found, forked = {pid: {} for pid in said}, set()
    for task in whole(path)["tasks"]:
        if task["name"] == "parent" and "parent" not in said[task["pid"]] and way == "fork":
            assert task["samples"] <= 50 and task["tid"] in (None, task["pid"])
            forked.add((task["pid"], task["name"]))
        elif re.match("child|parent", task["name"]):  # not those that asyncio makes at the end
            found[task["pid"]][task["name"]] = task["awaited_by"]
    assert found == said and len(said) == 3
    assert shown_tasks(path) - forked == {(pid, name) for pid, tasks in said.items() for name in tasks}


def shown_tasks(path):
    """The tasks that the collapsed output shows, with the process of each."""
    lines = collapsed(path, "--roots", "process,task").splitlines()
    found = (re.match(r"pid (\d+)[^;]*;task ((?:child|parent)[^;]*);", line) for line in lines)
    return {(int(match[1]), match[2]) for match in found if match}


@pytest.mark.pythons("newest")
def test_processes_of_an_older_python_are_left_out(python, program, tmp_path):
    """Others of the tree are recorded; where there are none, this is a failure."""
    older = [*python_of("3.11").command, str(program("dies")), "0", "3"]
    alone, both = tmp_path / "alone.pyreel", tmp_path / "both.pyreel"
    ended = run_record("-f", "--async", "all", "-o", alone, "--", *older)
    assert ended.code == 125 and not alone.exists()
    assert "it runs CPython 3.11" in ended.messages and "no Python could be read" in ended.messages
    newer = [*python.command, str(program("dies")), "0", "1"]
    ended = run_record("-f", "--async", "all", "-o", both, "--", "sh", "-c", f"{shlex.join(older)} & {shlex.join(newer)}; wait")
    assert ended.code == 0 and "it runs CPython 3.11" in ended.messages, ended
    (process,) = whole(both)["processes"]
    assert process["python"] == python.full_version


def test_a_python_whose_tasks_cannot_be_read_is_refused(program, start, tmp_path):
    older = python_of("3.13")
    target = start(*older.command, program("spin"))
    path = tmp_path / "refused.pyreel"
    ended = run_record("-p", target.pid, "--async", "all", "-o", path, prefix=prefix_of(older))
    assert ended.code == 125, ended
    assert "--async needs CPython 3.14 or later, and it runs CPython 3.13" in ended.messages
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
