# SPDX-License-Identifier: MIT
"""asyncio tasks: who waits for whom, where each waits, what runs, and that no task is shown over another one's frames."""

import collections
import json
import re
import shlex

import pytest

import stacks
from environment import pythons
from recording import CHANGES, attach, collapsed, run_record, whole
from task_truth import MARK, judge, weighed

LOOP = ["<module>", "run", "Runner.run", "BaseEventLoop.run_until_complete", "BaseEventLoop.run_forever",
        "BaseEventLoop._run_once", "Handle._run"]
EAGER = pytest.mark.pythons("each version", since="3.12")  # which brought eager tasks


@pytest.fixture
def watch(python, program, start, tmp_path):
    """watch("all", "async_shapes", "shapes"): the recording of a program that runs."""
    def record(which, name, *arguments, options=(), **more):
        path = tmp_path / f"{name}.pyreel"
        attach(start(*python.command, program(name), *arguments), path, "--async", which, *options, prefix=python.prefix,
               **more)
        return path

    return record


def seen(path):
    """{(entry, tid): {stack: samples}} with the names of functions only. The recorder may come before the program has said that
    it is ready: that moment is left out."""
    found = {thread: stacks.functions(counted) for thread, counted in stacks.of_collapsed(collapsed(path)).items()}
    return {thread: collections.Counter({stack: count for stack, count in counted.items() if stack[-1:] != ("ready",)})
            for thread, counted in found.items()}


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
    "grouped": ["<task groups>", "groups", "TaskGroup.__aexit__", "<task grouped>", *LEAF],
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
def test_every_task_is_shown_below_those_that_wait_for_it(watch, python):
    path = watch("all", "async_shapes", "shapes")
    threads = seen(path)
    for name, wanted in SHAPES.items():
        stack = [re.sub(r"^<task Task-\d+>$", "<task Task-N>", frame) for frame in of_task(threads, name)]
        if name == "race" and python.minor < 14:
            wanted = [*wanted, "wait", "_wait"]
        stack = [frame for frame in stack if frame != "TaskGroup._aexit"]  # later releases have the function
        if python.own:  # until 3.14.8 and 3.15.0, CPython keeps waiters whose shield() was cancelled, which have ended
            stack = [frame.replace("(20 parents)", "(2 parents)") for frame in stack]
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
    assert {task["samples"] for task in told["tasks"] if task["samples"] or not python.own} == {told["ticks"]}


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


@EAGER
def test_an_eager_task_runs_on_top_of_the_one_that_started_it(watch):
    assert below_loop(watch("running", "async_shapes", "eager_outer")) == [
        "eager_outer", "create_eager_task_factory.<locals>.factory", "<task inner>", "eager_inner", "spin"]


@EAGER
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
    assert told["failures"].keys() <= CHANGES


@pytest.mark.sanitized("tasks of each kind, and tasks that change while they are read")
def test_ten_thousand_tasks(watch):
    threads = seen(watch("all", "async_shapes", "many", 10_000, until=lambda found: len(found["tasks"]) > 10_000))
    names = {name for name, _ in threads if name.startswith("many-")}
    assert len(names) == 10_000
    for name in ("many-0", "many-5000", "many-9999"):
        assert of_task(threads, name) == ["<task Task-1>", "main", "many", "wait", "_wait", f"<task {name}>", *LEAF]


def test_asyncio_may_be_imported_long_after_the_start(python, program, start_recorder, tmp_path):
    path = tmp_path / "a.pyreel"
    recorder = start_recorder("--async", "all", "-o", path, "--", *python.command, program("async_late"), prefix=python.prefix)
    recorder.wait_for_samples(path)
    recorder.tell(b"\n")
    recorder.wait_for_functions(path, "late", "sleep")
    assert recorder.wait().code == 0
    (counted,) = [counted for (thread, _), counted in seen(path).items() if thread == "late"]
    assert any(stack[-3:] == ("<task late>", "late", "sleep") for stack in counted), counted


AWAITED_BY = {"Task-1": None, "sleeper": None, "busy": "waiter", "waiter": "Task-1", "often": "Task-1"}


@pytest.mark.short
def test_tasks_have_the_lives_that_the_program_says(python, program, record_until, tmp_path):
    """How much of the time each has is for tests/oracle/test_tasks.py."""
    path = tmp_path / "lives.pyreel"

    def all_is_seen(found):
        threads = {thread["name"] for thread in found["threads"] if thread["samples"] > 0}
        return ({task["name"] for task in found["tasks"]} >= AWAITED_BY.keys() and threads >= {"MainThread", "asyncio_0"}
                and {"busy", "often"} <= weighed(path, "--mode", "gil").keys())

    done = record_until(path, all_is_seen, "--async", "all", "--", *python.command, program("async_lives"), prefix=python.prefix)
    told = done.info
    # No time counts twice. The program ends after it has said so.
    assert sum(weighed(path, "--weight", "cpu").values()) <= 1e6 * (1.02 * done.said["process"] + 0.1)
    assert sum(weighed(path, "--weight", "gil").values()) <= 1.02e6 * told["duration_s"] * python.at_once
    everything, running, locked = weighed(path), weighed(path, "--no-idle"), weighed(path, "--mode", "gil")
    assert locked.keys() <= running.keys() <= everything.keys()
    assert all(locked[task] <= running[task] <= everything[task] for task in running)
    assert running["sleeper"] < everything["sleeper"]
    assert {task["name"]: task["awaited_by"] for task in told["tasks"] if task["name"] in AWAITED_BY} == AWAITED_BY
    threads = {thread["name"]: thread for thread in told["threads"]}  # have samples while they run no task
    assert 0 < threads["MainThread"]["samples"] < told["ticks"]


# ---- several processes ----

FAMILY = {"parent", "parent-own"} | {f"child-{number}{end}" for number in (0, 1) for end in ("", "-a", "-b")}


@pytest.mark.parametrize("way", ["fork", "spawn"])
def test_each_process_of_a_tree_has_its_own_tasks(python, program, start_recorder, tmp_path, way):
    """A forked child has no task of its parent, although the fork was made by a task. Until CPython has cleared the list, the
    task is in the child, and the child on its stack."""
    path = tmp_path / "family.pyreel"
    recorder = start_recorder("-f", "-r", "10k", "--async", "all", "-o", path, "--", *python.command, program("async_family"), way,
                              prefix=python.prefix)
    # A forked child may seem to have a task of its parent, for a moment.
    recorder.wait_for(path, lambda _: {name for _, name in shown_tasks(path)} >= FAMILY, "all tasks")
    ended = recorder.wait()
    assert ended.code == 0, ended
    said = {line["pid"]: line["tasks"] for line in map(json.loads, ended.text.splitlines())}
    found, forked = {pid: {} for pid in said}, set()
    for task in whole(path)["tasks"]:
        if task["name"] == "parent" and "parent" not in said[task["pid"]] and way == "fork":
            assert task["tid"] in (None, task["pid"])
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


def refused_python():
    """A build whose tasks cannot be read."""
    for python in pythons():
        if python.minor < 14 and not python.has_lock:
            return python
    return pytest.skip("no free-threaded build of 3.13 in PYREEL_PYTHONS")


@pytest.mark.pythons("newest")
def test_processes_of_a_build_that_is_refused_are_left_out(python, program, start_recorder, tmp_path):
    """Others of the tree are recorded; where there are none, this is a failure."""
    older, newer = ([*which.command, str(program("dies")), "0", "told"] for which in (refused_python(), python))
    alone, both = tmp_path / "alone.pyreel", tmp_path / "both.pyreel"
    recorder = start_recorder("-f", "--async", "all", "-o", alone, "--", *older)
    recorder.wait_for_message("it runs CPython 3.13")
    ended = recorder.wait()
    assert ended.code == 125 and not alone.exists()
    assert "no Python could be read" in ended.messages
    recorder = start_recorder("-f", "--async", "all", "-o", both, "--",
                              "sh", "-c", f"exec 3<&0; {shlex.join(older)} <&3 & {shlex.join(newer)}; wait")
    recorder.wait_for_message("it runs CPython 3.13")
    recorder.wait_for_samples(both)
    ended = recorder.wait()
    assert ended.code == 0, ended
    (process,) = whole(both)["processes"]
    assert process["python"] == python.full_version


def test_a_python_whose_tasks_cannot_be_read_is_refused(program, start, tmp_path):
    older = refused_python()
    target = start(*older.command, program("spin"))
    path = tmp_path / "refused.pyreel"
    ended = run_record("-p", target.pid, "--async", "all", "-o", path, prefix=older.prefix)
    assert ended.code == 125, ended
    assert "--async reads no free-threaded build of CPython before 3.14, and it runs CPython 3.13" in ended.messages
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
