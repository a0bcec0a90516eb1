# SPDX-License-Identifier: MIT
"""Asyncio tasks and instructions, from recordings that are known to the last tick (tests/tools/make-tasks.c).

running: in 100 ticks of 1 ms MainThread's loop runs "fetch 1" for 40, selects for 20, and runs "Task-3" for 40, in
turn at two instructions; worker runs nothing of asyncio. all: three tasks in ten ticks, of which "fetch 1" waits for
"Task-2", and "Task-3" is an orphan."""

import os
import re

import pytest

import gecko_check
import pprof_check
from environment import BUILD, PROJECT, need_pprof
from recording import collapsed, convert, info, succeed
from viewers import opened, speedscope

LOOP = ("<module>", "run_forever")
MARKED = {  # what MainThread does, by the functions' names
    (*LOOP, "<task fetch 1>", "fetch", "parse"): 40,
    LOOP: 20,
    (*LOOP, "<task Task-3>", "parse"): 40,
}
FIRST, SECOND, ORPHAN = (
    ("<task fetch 1>", "fetch"),
    ("<task fetch 1>", "fetch", "<task Task-2 (2 parents)>", "fetch", "parse"),
    ("<task Task-3>", "fetch"),
)
LEAVES = {"LOAD_ATTR_SLOT": ("LOAD_ATTR", 60), "RESUME": ("RESUME", 20), "CALL_PY_EXACT_ARGS": ("CALL", 120)}
MANY = 10_000


def make(path, *arguments):
    succeed(os.path.join(BUILD, "tests", "make-tasks"), path, *arguments)
    return path


@pytest.fixture(scope="module")
def running(tmp_path_factory):
    return make(tmp_path_factory.mktemp("tasks") / "running.pyreel", "running")


@pytest.fixture(scope="module")
def entries(tmp_path_factory):
    return make(tmp_path_factory.mktemp("tasks") / "all.pyreel", "all")


@pytest.fixture(scope="module")
def many(tmp_path_factory):
    return make(tmp_path_factory.mktemp("tasks") / "many.pyreel", "all", MANY)


def lines(path, *options):
    """{stack: count} by the functions' names."""
    found = {}
    for line in collapsed(path, *options).splitlines():
        stack, _, count = line.rpartition(" ")
        found[tuple(re.sub(r" \((?:\w+/)?\w+\.py:\d+\)$", "", frame) for frame in stack.split(";"))] = int(count)
    return found


def write(name, path, folder, *options):
    out = folder / f"out.{name}"
    ended = succeed(*convert(name, path, *options, "-o", out).command)
    assert ended.errors == b"", ended
    return out


# ---- info ----

@pytest.mark.short
def test_info_tells_of_running_tasks(running):
    figures = info(running)
    told = [(t["number"], t["name"], t["pid"], t["tid"], t["thread"], t["samples"]) for t in figures["tasks"]]
    assert told == [(1, "fetch 1", 4242, 4242, "MainThread", 40), (2, "Task-2", 4242, None, None, 0),
                    (3, "Task-3", 4242, 4242, "MainThread", 40)]
    assert [thread["name"] for thread in figures["threads"]] == ["MainThread", "worker"]
    text = succeed(*convert("info", running).command).text
    assert "\ntasks       3 tasks of asyncio, and labels of the program\n" in text
    assert text.endswith("     pid      tid    samples  task\n"
                         "    4242     4242         40  fetch 1 in MainThread\n"
                         "    4242     4242         40  Task-3 in MainThread\n"
                         "    4242                   0  Task-2\n")


@pytest.mark.short
def test_info_tells_of_entries_as_tasks(entries):
    figures = info(entries)
    assert [(t["name"], t["tid"], t["samples"]) for t in figures["tasks"]] == [
        ("fetch 1", 4242, 10), ("Task-2", 4242, 10), ("Task-3", None, 10)]
    assert [(thread["name"], thread["samples"]) for thread in figures["threads"]] == [("MainThread", 0), ("worker", 0)]


@pytest.mark.sanitized("very many tasks")
def test_info_of_very_many_tasks_is_short(many):
    assert len(info(many)["tasks"]) == MANY
    text = succeed(*convert("info", many).command).text
    assert text.count("\n") < 50
    assert text.endswith(f" and {MANY - 20} more tasks (--all shows them)\n")


# ---- collapsed stacks ----

@pytest.mark.short
def test_stacks_keep_the_loop_below_a_running_task(running):
    main = {("MainThread (4242)", *stack): count for stack, count in MARKED.items()}
    assert lines(running) == {**main, ("worker (4243)", "<module>"): 100}


@pytest.mark.short
def test_entries_stand_behind_their_thread(entries):
    assert lines(entries) == {("MainThread (4242)", "task fetch 1", *FIRST): 10,
                              ("MainThread (4242)", "task Task-2", *SECOND): 10,
                              ("task Task-3", *ORPHAN): 10}


@pytest.mark.short
def test_merged_threads_merge_tasks_without_a_name(entries, many):
    """What one wants of a flame graph: tasks that do alike are one box, and those that have a name keep it."""
    assert lines(entries, "--no-threads") == {FIRST: 10, (*FIRST, "<task>", "fetch", "parse"): 10, ("<task>", "fetch"): 10}
    assert sum(lines(many, "--no-threads").values()) == MANY * 10
    assert len(lines(many, "--no-threads")) == 3


@pytest.mark.short
def test_an_entry_is_chosen_by_a_name_that_it_has_later(tmp_path):
    renamed = make(tmp_path / "renamed.pyreel", "renamed")
    assert lines(renamed, "--threads", "late") == {("task Task-3", *ORPHAN): 10}
    assert lines(renamed, "--threads", "fetch 1") == {("MainThread (4242)", "task fetch 1", *FIRST): 10}


@pytest.mark.short
def test_instructions_are_frames_of_their_own(running):
    shown = lines(running, "--opcodes", "--no-threads")
    assert {stack[-1] for stack in shown} == {f"[{name}]" for name in LEAVES}
    for name, (_, samples) in LEAVES.items():
        assert sum(count for stack, count in shown.items() if stack[-1] == f"[{name}]") == samples


@pytest.mark.short
def test_speedscope_shows_tasks_and_instructions(running, tmp_path):
    text = tmp_path / "a.txt"
    text.write_text(collapsed(running, "--opcodes"))
    profile = speedscope(text)
    frames = {frame["name"]: frame for frame in profile["frames"]}
    assert profile["total"] == 200
    assert frames["<task fetch 1>"]["total"] == 40
    for name, (_, samples) in LEAVES.items():
        assert frames[f"[{name}]"]["self"] == samples


# ---- pprof ----

def tags(path, *options):
    """{label: {value: samples}} as pprof tells them."""
    text = succeed(need_pprof("machine"), "-tags", "-sample_index=samples", *options, path).text
    return {name: {tag: int(float(n)) for n, tag in re.findall(r"^ +([\d.]+) \([^)]*\): (.*)$", body, re.MULTILINE)}
            for name, body in re.findall(r"^ *(\w+): Total.*\n((?: +\d.*\n)*)", text, re.MULTILINE)}


@pytest.mark.short
def test_go_pprof_shows_tasks_as_tags(running, entries, tmp_path):
    out = write("pprof", running, tmp_path)
    assert pprof_check.check(pprof_check.load(out)) == []
    shown = tags(out)
    assert shown["task"] == {"fetch 1": 40, "Task-3": 40}
    assert shown["task_id"] == {"1": 40, "3": 40}
    assert shown["thread"] == {"MainThread": 100, "worker": 100}
    assert "opcode" not in shown
    shown = tags(write("pprof", entries, tmp_path))
    assert shown["task"] == {"fetch 1": 10, "Task-2": 10, "Task-3": 10}
    assert shown["thread"] == {"MainThread": 20, "unknown thread": 10}


@pytest.mark.short
def test_go_pprof_can_focus_on_a_task(running, tmp_path):
    out = write("pprof", running, tmp_path)
    for focus in ("-tagfocus=task=^fetch 1$", "-tagfocus=task_id=1"):
        text = succeed(need_pprof("machine"), "-top", "-sample_index=samples", "-cum", focus, out).text
        assert re.search(r" 40 .* fetch$", text, re.MULTILINE) and " 40 20.00%" in text, text
    text = succeed(need_pprof("machine"), "-traces", "-tagroot=task", "-sample_index=samples", out).text
    assert re.search(r"^ +run_forever\n +<module>\n +Task-3$", text, re.MULTILINE), text


@pytest.mark.short
def test_go_pprof_shows_instructions_as_tags(running, tmp_path):
    out = write("pprof", running, tmp_path, "--opcodes")
    assert pprof_check.check(pprof_check.load(out)) == []
    shown = tags(out)
    assert shown["opcode"] == {name: samples for name, (_, samples) in LEAVES.items()}
    assert shown["opcode_base"] == {base: samples for base, samples in LEAVES.values()}
    assert sum(shown["task"].values()) == 80


def test_pprof_of_very_many_tasks(many, tmp_path):
    profile = pprof_check.summary(pprof_check.load(write("pprof", many, tmp_path)))
    assert len(profile["samples"]) == MANY
    assert {values[0] for _, _, values in profile["samples"]} == {10}


# ---- Firefox Profiler ----

def checked(path, folder, *options):
    out = write("gecko", path, folder, *options)
    profile = gecko_check.load(out)
    assert gecko_check.problems(profile) == []
    return out, profile


@pytest.mark.short
def test_gecko_marks_which_task_ran(running, tmp_path):
    out, profile = checked(running, tmp_path)
    main = profile["threads"][0]
    # Each task is a marker. A task that the program gave no name has that of its coroutine.
    assert gecko_check.marker_times(profile, main) == {"fetch": [1, 40], "parse": [1, 40]}
    assert gecko_check.stacks(profile, main) == MARKED
    shown = [(profile["shared"]["stringArray"][data["label"]], data["run"], data["steps"]) for data in main["markers"]["data"]]
    assert shown == [("fetch 1", 40, 1), ("Task-3", 40, 1)]
    every = checked(running, tmp_path, "--markers=all")[1]
    assert gecko_check.marker_times(every, every["threads"][0])["Runs task"] == [2, 80]
    out, profile = checked(running, tmp_path)
    assert gecko_check.summary(profile)["extra"]["Asyncio tasks"] == 3
    with opened(out) as viewer:
        thread = viewer.handle("app.py")
        assert [(marker["name"], marker["label"], marker["duration"]) for marker in viewer.markers(thread)] == [
            ("fetch", "fetch 1", 40), ("parse", "Task-3", 40)]
        assert viewer.tree(thread) == MARKED


@pytest.mark.short
def test_gecko_shows_entries_as_threads(entries, tmp_path):
    out, profile = checked(entries, tmp_path)
    assert [thread["name"] for thread in profile["threads"]] == ["app.py", "fetch 1", "Task-2", "Task-3"]
    assert [gecko_check.stacks(profile, thread) for thread in profile["threads"]] == [{}, {FIRST: 10}, {SECOND: 10}, {ORPHAN: 10}]
    assert len({thread["pid"] for thread in profile["threads"]}) == 1
    with opened(out) as viewer:
        for name, stack in (("fetch 1", FIRST), ("Task-2", SECOND)):
            assert viewer.tree(viewer.handle(name)) == {stack: 10}


@pytest.mark.short
def test_gecko_shows_instructions(running, tmp_path):
    out, profile = checked(running, tmp_path, "--opcodes=frames", "--markers=all")
    main, worker = profile["threads"]
    by_leaf = {}
    for thread in (main, worker):
        for stack, count in gecko_check.stacks(profile, thread).items():
            by_leaf[stack[-1]] = by_leaf.get(stack[-1], 0) + count
    assert by_leaf == {f"[{name}]": samples for name, (_, samples) in LEAVES.items()}
    # Of Task-3 no two samples in a row found the same instruction.
    assert gecko_check.marker_times(profile, main) == {"fetch": [1, 40], "parse": [1, 40], "Runs task": [2, 80], "Opcode": [2, 60]}
    assert gecko_check.marker_times(profile, worker) == {"Opcode": [1, 100]}
    (bases,) = [c["subcategories"] for c in profile["meta"]["categories"] if c["name"] == "Instructions"]
    assert sorted(bases) == sorted(["Other", *{base for base, _ in LEAVES.values()}])
    with opened(out) as viewer:
        functions = {f["name"]: [f["selfSamples"], f["totalSamples"]] for f in viewer.functions(viewer.handle("app.py"))}
        assert (functions["[RESUME]"], functions["parse"]) == ([20, 20], [0, 80])


def test_gecko_of_very_many_tasks(many, tmp_path):
    """The viewer can't work with so many threads."""
    out, profile = checked(many, tmp_path)
    assert len(profile["threads"]) == 502
    assert sum(thread["samples"]["length"] for thread in profile["threads"]) == MANY * 10
    assert (profile["threads"][-1]["name"], profile["threads"][-1]["samples"]["length"]) == ("other tasks", (MANY - 500) * 10)


def task_markers(profile):
    """[(thread, name, start, end, label)] of lives of tasks."""
    strings = profile["shared"]["stringArray"]
    return [(number, strings[name], start, end, strings[data["label"]])
            for number, thread in enumerate(profile["threads"])
            for name, start, end, data in zip(*(thread["markers"][column] for column in ("name", "startTime", "endTime", "data")))
            if data["type"] == "Task"]


def overlapping(markers):
    """Pairs of neighbours of one thread and name, of which one begins before the other ends."""
    ordered = sorted(markers)
    return [pair for pair in zip(ordered, ordered[1:]) if pair[0][:2] == pair[1][:2] and pair[1][2] < pair[0][3]]


@pytest.mark.short
def test_tasks_in_rows_do_not_overlap(tmp_path):
    """As Perfetto needs them. They are the same tasks as in one row."""
    recording = os.path.join(PROJECT, "tests", "streams", "async-all-3.15", "recording.pyreel")
    lives = task_markers(checked(recording, tmp_path)[1])
    rows = task_markers(checked(recording, tmp_path, "--tasks=rows")[1])
    assert overlapping(lives) and not overlapping(rows)
    assert sorted((thread, re.sub(r"^#\d+ ", "", name), *more) for thread, name, *more in rows) == sorted(lives)


# ---- no instructions to show ----

@pytest.mark.short
@pytest.mark.parametrize("name", ["pprof", "collapsed", "gecko"])
def test_a_recording_without_instructions_is_told(name, tmp_path):
    path = tmp_path / "a.pyreel"
    succeed(os.path.join(BUILD, "tests", "make-statuses"), path)
    ended = convert(name, path, "--opcodes", "-o", tmp_path / "out")
    assert ended.code == 0
    assert ended.messages == (f"pyreel-{name}: warning: {path} has no instructions to show; record again with "
                              "pyreel-record --opcodes\n")
    plain = convert(name, path, "-o", tmp_path / "plain")
    assert (plain.code, plain.messages) == (0, "")
    if name != "gecko":  # which says what its colours are
        assert (tmp_path / "out").read_bytes() == (tmp_path / "plain").read_bytes()
