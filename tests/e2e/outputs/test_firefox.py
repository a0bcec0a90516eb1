# SPDX-License-Identifier: MIT
"""What a person sees of a recording in the Firefox Profiler, as the viewer itself tells it. What a file holds is for
test_streams.py, the rules of gecko_check and the unit tests; here the viewer must show that."""

import os
import pathlib

import pytest

import gecko_check
import stacks
from environment import BUILD, CONVERTERS, PROJECT
from recording import attach, collapsed, gecko, info, run_record, succeed
from viewers import opened

STREAMS = pathlib.Path(PROJECT) / "tests" / "streams"
CASES = ["plain-3.11", "threads-3.11", "names-3.11", "native-3.12", "cpu-mode-3.13", "exceptions-3.13", "interpreters-3.14",
         "free-threaded-3.14", "async-running-3.14", "gc-3.15", "gil-thread-3.15", "measures-3.15", "opcodes-3.15", "damaged", "spans"]


def recording_of(case):
    return STREAMS / case / "recording.pyreel"


def profile_of(folder, *arguments):
    """The file, and the profile in it."""
    path = folder / "out.json"
    succeed(CONVERTERS["gecko"], "--force", "-o", path, *arguments)
    return path, gecko_check.load(path)


def assert_shown(viewer, profile):
    """The viewer has the threads, times and trees of the profile. It draws no CPU time of a first sample: that is before the
    first step."""
    rows = viewer.threads()
    assert [row["threadIndex"] for row in rows if row["selected"]] == profile["meta"]["initialSelectedThreads"]
    assert len(rows) == len(profile["threads"])
    for row in rows:
        thread, handle = profile["threads"][row["threadIndex"]], row["threadHandle"]
        about = viewer.ask("thread", "info", thread=handle)
        assert (about["name"], about["tid"], about["sampleCount"]) == (thread["name"], thread["tid"], thread["samples"]["length"])
        assert about["createdAt"] == pytest.approx(thread["registerTime"], abs=1)
        assert row["cpuMs"] == pytest.approx(gecko_check.cpu_ms(thread) or 0, abs=0.5), row
        names = [profile["shared"]["stringArray"][name] for name in thread["markers"]["name"]]
        shown = [marker["name"] for marker in viewer.markers(handle) if marker["name"] != "Jank"]  # drawn of delays
        assert sorted(shown) == sorted(names)
        weights = +gecko_check.stacks(profile, thread)  # the viewer's tree leaves out what has no weight
        assert viewer.tree(handle) == pytest.approx(weights, abs=1e-6), row


def assert_opens(path, profile):
    with opened(path) as viewer:
        assert_shown(viewer, profile)


@pytest.mark.parametrize("case", CASES)
def test_each_call_tree_is_the_recording(case, tmp_path):
    path, profile = profile_of(tmp_path, "--weight=samples", recording_of(case))
    with opened(path) as viewer:
        assert_shown(viewer, profile)
        trees = [viewer.tree(thread["threadHandle"]) for thread in viewer.threads()]
        counters = [counter["name"] for counter in viewer.ask("counter", "list")["counters"]]
    known = stacks.merged(stacks.of_collapsed(collapsed(recording_of(case))))
    assert stacks.merged(dict(enumerate(trees))) == stacks.functions(known)
    assert counters == [counter["name"] for counter in profile["counters"]]


def test_what_a_thread_did_has_its_category(tmp_path):
    """A recording that is known to the last tick: see test_statuses.py."""
    recording = tmp_path / "statuses.pyreel"
    succeed(os.path.join(BUILD, "tests", "make-statuses"), recording)
    assert_opens(*profile_of(tmp_path, recording))
    path, profile = profile_of(tmp_path, "--weight=samples", recording)
    with opened(path) as viewer:
        assert_shown(viewer, profile)
        main, worker = (thread["threadHandle"] for thread in viewer.threads())
        assert viewer.categories(main) == {"Your code": 90, "Idle": 10}
        assert viewer.categories(worker) == {"Waiting": 100}
        assert viewer.tree(main) == {("<module>", "work"): 90, ("<module>", "wait"): 10}
        assert {f["name"]: f["selfSamples"] for f in viewer.functions(worker)} == {"[waiting for GIL]": 100, "wait": 0}
        # The tool leaves idle samples out by default.
        shown = viewer.ask("thread", "samples-top-down", thread=main)["regularCallTree"]
        assert shown["totalSamples"] == 90
        counters = {counter["name"]: counter["graph"] for counter in viewer.ask("counter", "list")["counters"]}
    assert {"GIL held", "Waiting for GIL", "CPU"} <= set(counters)
    assert max(counters["GIL held"]) == pytest.approx(1) and max(counters["Waiting for GIL"]) == 1


def test_a_function_weighs_what_the_user_wants(tmp_path):
    for weight in ("cpu", "wall"):
        path, profile = profile_of(tmp_path, "--weight", weight, recording_of("gil-thread-3.15"))
        with opened(path) as viewer:
            assert_shown(viewer, profile)


@pytest.mark.parametrize("form", [(), ("--compact",)])
def test_the_viewer_takes_a_profile_with_all_options(form, tmp_path):
    options = ["--opcodes=frames", "--weight=cpu", "--markers=all", "--full-paths", "--from=10%", "--to=90%", "--mode=cpu",
               "--max-samples=40"]
    path, profile = profile_of(tmp_path, *form, *options, recording_of("opcodes-3.15"))
    with opened(path) as viewer:
        assert_shown(viewer, profile)
        names = {function["name"] for function in viewer.functions("t-0")}
    assert any(name.startswith("[") and name.isupper() for name in names), names


def test_recordings_of_two_processes(tmp_path):
    """Each is a process of its own, with its threads and its CPU time."""
    paths = [recording_of("threads-3.11"), recording_of("measures-3.15")]
    path, profile = profile_of(tmp_path, *paths)
    with opened(path) as viewer:
        assert_shown(viewer, profile)
        figures = viewer.ask("profile", "info", all=True)
    assert (figures["processCount"], figures["threadCount"]) == (2, 3)
    shown = {process["pid"]: process for process in figures["processes"]}
    for known, name in zip(map(info, paths), ("doing.py", "generations.py")):
        (process,) = known["processes"]
        mine = shown[str(process["pid"])]
        cpu = sum(gecko_check.cpu_ms(thread) for thread in profile["threads"] if thread["pid"] == mine["pid"])
        assert name in mine["name"] and mine["cpuMs"] == pytest.approx(cpu, abs=1)


# ---- programs that run now ----

@pytest.mark.pythons("newest")
def test_a_recording_of_now(recorded):
    """The whole way: a program, the recorder, the converter, the viewer."""
    path = gecko(recorded.path)
    with opened(path) as viewer:
        figures = viewer.ask("profile", "info")
        assert figures["name"].startswith(f"known.py – Python {recorded.python.full_version.removesuffix('.0')} ")
        assert (figures["threadCount"], figures["processCount"]) == (3, 1)
        assert_shown(viewer, gecko_check.load(path))
        for name, known in (("known.py", stacks.MAIN), ("napper", "napper"), ("waiter", "waiter")):
            assert viewer.tree(viewer.handle(name)) == stacks.functions(stacks.of_thread(recorded.threads, known))


@pytest.mark.pythons("newest")
def test_short_lived_threads_share_lanes(python, program, tmp_path):
    """programs/brief.py: 188 threads, of which three live at a time. Few threads have a line each."""
    recording = tmp_path / "brief.pyreel"
    assert run_record("-o", recording, "--", *python.command, program("brief"), 189, 3, prefix=python.prefix).code == 0
    path = gecko(recording)
    known = stacks.merged(stacks.of_collapsed(collapsed(recording)))
    with opened(path) as viewer:
        threads = viewer.threads()
        trees = [viewer.tree(thread["threadHandle"]) for thread in threads]
    assert stacks.merged(dict(enumerate(trees))) == stacks.functions(known)
    assert len(threads) <= 10 or len(info(recording)["threads"]) < 100


@pytest.mark.pythons("newest")
def test_very_many_tasks_are_one_track(python, program, start, tmp_path):
    """Each is a marker; tasks of one kind have one name, so that the viewer packs them into the rows of that name."""
    recording, count = tmp_path / "tasks.pyreel", 1000
    target = start(*python.prefix, *python.command, program("waiting_tasks"), count)
    attach(target, recording, "--async", "all", "-r", "20", samples=2 * count, prefix=python.prefix)
    path, profile = profile_of(tmp_path, recording)
    with opened(path) as viewer:
        assert_shown(viewer, profile)
        (thread,) = viewer.threads()
        groups = {group["markerName"]: group["count"] for group in viewer.ask("thread", "markers", thread=thread["threadHandle"])["byType"]}
        labels = [marker["label"] for marker in viewer.markers(thread["threadHandle"]) if marker["name"] == "job"]
    assert groups["job"] == count and set(labels) == {f"job-{n}" for n in range(count)}
    tracks, shown = profile_of(tmp_path, "--tasks=tracks", recording)
    assert 500 < len(shown["threads"]) <= 503
    (others,) = [thread for thread in shown["threads"] if thread["name"] == "other tasks"]
    assert others["unregisterTime"] is None or others["unregisterTime"] >= others["samples"]["time"][-1]


def test_a_request_is_found_by_its_trace(tmp_path):
    """The search of the viewer's marker table has the stretches of both spans of a trace, and of no other one."""
    trace = "4bf92f3577b34da6a3ce929d0e0e4736"
    path, _ = profile_of(tmp_path, recording_of("spans"))
    with opened(path) as viewer:
        handle = viewer.threads()[0]["threadHandle"]
        found = viewer.ask("thread", "markers", thread=handle, markerFilters={"list": True, "searchString": trace})["flatMarkers"]
        every = viewer.markers(handle)
    assert [marker["name"] for marker in found] == ["Span"] * 3
    assert [marker["label"] for marker in found] == [f"{span} of trace {trace}" for span in (
        "00f067aa0ba902b7", "b7ad6b7169203331", "00f067aa0ba902b7")]
    assert len([marker for marker in every if marker["name"] == "Span"]) == 4
