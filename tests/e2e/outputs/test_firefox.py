# SPDX-License-Identifier: MIT
"""What a person sees of a recording in the Firefox Profiler, as its own command line tool tells it."""

import collections
import os
import subprocess

import pytest

import gecko_check
import stacks
from environment import CONVERTERS, TOOLS, as_root, need_viewer
from recording import ALL_TICKS, collapsed, gecko, run, run_record, succeed, whole
from viewers import handle, opened, tree_stacks

pytestmark = pytest.mark.pythons("oldest and newest")

SECONDS = 0.8
Shown = collections.namedtuple("Shown", "path output profile info viewer program said")


def record(python, path, *command, options=()):
    ended = run_record(*ALL_TICKS, *options, "-o", path, "--", *python.command, *command, prefix=as_root() if python.root else ())
    assert ended.code == 0, ended
    return ended


@pytest.fixture(scope="module")
def roles(python, program, tmp_path_factory):
    """programs/roles.py: two threads fight for the lock, one sleeps; then the main thread works alone."""
    path = tmp_path_factory.mktemp("roles") / "roles.pyreel"
    said = record(python, path, program("roles"), SECONDS).text
    output = gecko(path)
    with opened(output) as viewer:
        yield Shown(path, output, gecko_check.load(output), whole(path), viewer, program("roles"), said)


def threads_of(viewer):
    return viewer.ask("thread", "list", "--limit", "0")["threads"]


def threads_that_call(roles, function):
    """The indexes of the threads that call the function."""
    return [index for index, thread in enumerate(roles.profile["threads"])
            if function in gecko_check.function_times(roles.profile, thread)]


# ---- threads and CPU time ----

def test_the_sums_are_those_of_the_recording(roles):
    assert gecko_check.compare(roles.profile, roles.info) == []


def test_each_thread_has_its_cpu_time(roles):
    """The first sample's CPU time is before the first step, and is not drawn."""
    known = {thread["tid"]: thread for thread in roles.info["threads"]}
    shown = threads_of(roles.viewer)
    assert len(shown) == len(known) == 4
    for thread in shown:
        first_ms = gecko_check.first_cpu_ms(roles.profile["threads"][thread["threadIndex"]])
        cpu_ms = known[thread["tid"]]["cpu_s"] * 1000
        assert cpu_ms - first_ms - 2 <= thread["cpuMs"] <= cpu_ms + 2, thread


def test_a_spinner_is_busy_and_a_sleeper_is_not(roles):
    (main,) = threads_that_call(roles, "work_alone")
    (sleeper,) = threads_that_call(roles, "sleep_on")
    fighters = threads_that_call(roles, "fight")
    cpu_ms = {thread["threadIndex"]: thread["cpuMs"] for thread in threads_of(roles.viewer)}
    assert len(fighters) == 2
    assert cpu_ms[sleeper] < 0.05 * sum(cpu_ms[fighter] for fighter in fighters)
    assert cpu_ms[main] > 10 * cpu_ms[sleeper]


# ---- what a thread does ----

def categories_of(viewer, thread, *options):
    """{category: share of the thread's samples}"""
    answer = viewer.ask("thread", "samples", *options, "--thread", thread["threadHandle"])["categoryBreakdown"]
    return {category["name"]: category["samples"] / answer["totalSamples"] for category in answer["categories"]}


def thread_at(viewer, index):
    (found,) = [thread for thread in threads_of(viewer) if thread["threadIndex"] == index]
    return found


def test_a_sleeper_is_idle(roles):
    """So nothing is left of it where idle samples are left out, as the tool does by default."""
    (sleeper,) = threads_that_call(roles, "sleep_on")
    thread = thread_at(roles.viewer, sleeper)
    assert categories_of(roles.viewer, thread, "--include-idle")["Idle"] > 0.9
    shown = roles.viewer.ask("thread", "samples-top-down", "--thread", thread["threadHandle"])["regularCallTree"]
    assert shown["totalSamples"] < 0.1 * roles.profile["threads"][sleeper]["samples"]["length"]


def test_what_waits_for_threads_is_idle_and_then_works(roles):
    """The main thread waits for the others in the first half, and works in the second."""
    (main,) = threads_that_call(roles, "work_alone")
    shares = categories_of(roles.viewer, thread_at(roles.viewer, main), "--include-idle")
    together, alone = map(float, roles.said.split())
    assert shares["Idle"] > 0.5 * together / (together + alone) * 0.8
    assert shares["Your code"] > 0.5 * alone / (together + alone) * 0.8
    times = gecko_check.function_times(roles.profile, roles.profile["threads"][main], leaves=True)
    assert times["work_alone"][0] > 0.9 * times["work_alone"][1], "who works is not idle"


@pytest.mark.pythons("newest")
def test_a_fight_for_the_lock_is_seen(roles):
    """Who wants the lock while another has it waits: about half of the time, each of the two."""
    fighters = threads_that_call(roles, "fight")
    shares = [categories_of(roles.viewer, thread_at(roles.viewer, index), "--include-idle") for index in fighters]
    for share in shares:
        assert share["Waiting for GIL"] > 0.15, shares
        assert share["Your code"] > 0.15, shares
    tree = [stack for index in fighters for stack in gecko_check.stacks(roles.profile, roles.profile["threads"][index], leaves=True)]
    assert any(stack[-2:] == ("fight", "[waiting for GIL]") for stack in tree)
    (main,) = threads_that_call(roles, "work_alone")
    alone = categories_of(roles.viewer, thread_at(roles.viewer, main), "--include-idle")
    assert alone.get("Waiting for GIL", 0) < 0.15, "nobody has the lock that it waits for"


def test_origins_have_categories_and_packages(roles):
    """A function of the program is of the program, and one of the standard library is of its module."""
    shared, names = roles.profile["shared"], [category["name"] for category in roles.profile["meta"]["categories"]]
    strings, functions = shared["stringArray"], shared["funcTable"]
    found = {}
    for function, category in zip(shared["frameTable"]["func"], shared["frameTable"]["category"]):
        resource = functions["resource"][function]
        package = strings[shared["resourceTable"]["name"][resource]] if resource >= 0 else None
        found[strings[functions["name"][function]]] = names[category], package
    assert found["work_alone"] == ("Your code", "roles.py")
    assert found["Thread.run"] == ("Standard library", "threading")
    assert found["[idle]"] == ("Idle", None)
    assert roles.profile["meta"]["categories"][names.index("Idle")]["color"] == "transparent"


def test_what_works_is_selected(roles):
    (main,) = threads_that_call(roles, "work_alone")
    assert roles.profile["meta"]["initialSelectedThreads"] == [main]
    assert [thread["threadIndex"] for thread in threads_of(roles.viewer) if thread["selected"]] == [main]


def test_each_call_tree_is_the_recording(roles):
    """The tree of each thread is its collapsed stacks, as a multiset."""
    known = stacks.of_collapsed(collapsed(roles.path, "--full-paths"))
    for thread in threads_of(roles.viewer):
        answer = roles.viewer.ask("thread", "samples-top-down", "--include-idle", "--max-lines", "1000000", "--thread",
                                  thread["threadHandle"])
        (mine,) = [seen for (_, tid), seen in known.items() if tid == thread["tid"]]
        assert tree_stacks(answer["regularCallTree"]) == stacks.functions(mine), thread


# ---- sources ----

def test_the_source_shows_samples_by_line(roles, tmp_path):
    succeed(CONVERTERS["gecko"], "--embed-sources", "-o", tmp_path / "sources.json", roles.path)
    text = open(roles.program).read().splitlines()
    known = stacks.merged(stacks.of_collapsed(collapsed(roles.path, "--full-paths")))
    on_line = collections.Counter()
    for stack, count in known.items():
        on_line.update(dict.fromkeys({frame[2] for frame in stack if frame[:2] == ("work_alone", roles.program)}, count))
    (main,) = threads_that_call(roles, "work_alone")
    with opened(tmp_path / "sources.json") as viewer:
        viewer.say("thread", "select", f"t-{main}")
        functions = viewer.ask("thread", "functions", "--limit", "0")["functions"]
        (function,) = [one["functionHandle"] for one in functions if stacks.bare(one["name"])[0] == "work_alone"]
        shown = viewer.ask("function", "annotate", function)["srcAnnotation"]
    assert shown["filename"].endswith("roles.py")
    assert shown["totalFileLines"] in (len(text), len(text) + 1)
    lines = {line["lineNumber"]: line for line in shown["lines"]}
    assert all(line["sourceText"] == text[number - 1] for number, line in lines.items() if number <= len(text))
    hot, count = on_line.most_common(1)[0]
    assert text[hot - 1].strip() == "while time.perf_counter() < until:"
    assert lines[hot]["totalSamples"] == pytest.approx(count, abs=0.05 * count)  # it leaves idle samples out


# ---- options ----

OPTIONS = ["--opcodes", "--opcodes=frames", "--weight=cpu", "--weight=wall", "--sanitize", "--embed-sources", "--full-paths",
           "--from=25%", "--to=50%", "--mode=cpu", "--mode=gil"]


@pytest.fixture(scope="module")
def with_instructions(python, program, tmp_path_factory):
    path = tmp_path_factory.mktemp("options") / "roles.pyreel"
    record(python, path, program("roles"), 0.2, options=["--opcodes", "--native"])
    return path


@pytest.mark.pythons("newest")
@pytest.mark.parametrize("option", OPTIONS)
def test_the_viewer_takes_the_profile_of_each_option(with_instructions, option, tmp_path):
    """What the rules and the schema say of it: recording.run."""
    output = tmp_path / "option.json.gz"
    ended = run(CONVERTERS["gecko"], option, "-o", output, with_instructions)
    assert ended.code == 0 and output.exists(), ended
    with opened(output) as viewer:
        samples = sum(thread["samples"]["length"] for thread in gecko_check.load(output)["threads"])
        shown = [viewer.ask("thread", "info", "--thread", thread["threadHandle"])["sampleCount"] for thread in threads_of(viewer)]
        assert sum(shown) == samples


# ---- processes ----

def test_recordings_of_two_processes(roles, recorded, tmp_path):
    """Each is a process of its own, with its threads and its CPU time."""
    output = tmp_path / "both.json"
    succeed(CONVERTERS["gecko"], "-o", output, roles.path, recorded.path)
    with opened(output) as viewer:
        figures = viewer.ask("profile", "info", "--all")
    assert figures["processCount"] == 2
    shown = {process["pid"]: process for process in figures["processes"]}
    for one in (roles, recorded):
        (process,) = one.info["processes"]
        mine = shown[str(process["pid"])]
        assert os.path.basename(one.program) in mine["name"]
        cpu_ms = sum(thread["cpu_s"] for thread in one.info["threads"]) * 1000
        first_ms = sum(map(gecko_check.first_cpu_ms, gecko_check.load(gecko(one.path))["threads"]))
        assert cpu_ms - first_ms - 20 <= mine["cpuMs"] <= cpu_ms + 20


# ---- what our own tool prints ----

def test_gecko_look_shows_the_tracks(roles):
    need_viewer("profiler-cli")
    looked = subprocess.run([os.path.join(TOOLS, "gecko-look"), roles.output, "--width", "50"], capture_output=True,
                            text=True, timeout=60)
    assert looked.returncode == 0, looked.stderr
    lines = looked.stdout.splitlines()
    assert "4 of 4 tracks are visible" in lines
    assert len([line for line in lines if line.startswith("> ")]) == 1
    bars = [line for line in lines if line.startswith("  |") and len(line) == 54]
    assert len(bars) >= 8
    assert "work_alone" in looked.stdout
