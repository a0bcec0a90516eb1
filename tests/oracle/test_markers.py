# SPDX-License-Identifier: MIT
"""Markers of a Firefox Profiler file, against what the program says of itself (programs/marked.py)."""

import collections
import json

import pytest

import environment
import gecko_check
from recording import convert, run_record

Marker = collections.namedtuple("Marker", "thread name type start end data pid")
TEXTS = ("held", "function", "task", "label", "by", "coroutine")
CLEAR = 40  # ms: recordings whose looks are further apart are made again, because other work had the processors
ATTEMPTS = 4


@pytest.fixture
def marked(program, tmp_path):
    """marked("fight", version="3.15"): what the program said, and the profile of its recording."""

    def record(*arguments, version="3.15", options=(), convert_options=()):
        python = environment.python_of(version)
        path, out = tmp_path / "marked.pyreel", tmp_path / "marked.json"
        for _ in range(ATTEMPTS):
            ended = run_record(*options, "--force", "-o", path, "--", *python.command, program("marked"), *arguments,
                               prefix=environment.as_root() if python.root else ())
            assert ended.code == 0, ended
            assert convert("gecko", path, *convert_options, "--force", "-o", out).code == 0
            said = json.loads(ended.text)
            if blur(out, pids=said if isinstance(said, dict) else None) <= CLEAR:
                break
        return said, out

    return record


def markers(path, *names):
    """The markers with these names or types, in the order of time."""
    profile = gecko_check.load(path)
    strings, found = profile["shared"]["stringArray"], []
    for thread in profile["threads"]:
        columns = thread["markers"]
        for i in range(columns["length"]):
            data = {key: strings[value] if key in TEXTS else value for key, value in columns["data"][i].items()}
            name = strings[columns["name"][i]]
            if {name, data["type"]} & set(names):
                found.append(Marker(thread["name"], name, data["type"], columns["startTime"][i], columns["endTime"][i], data,
                                    thread["pid"]))
    return sorted(found, key=lambda marker: marker.start)


def blur(path, thread=None, pids=None):
    """How far a time may be off, in ms: what begins between two looks is seen by the second one."""
    profile = gecko_check.load(path)
    times = [t["samples"]["time"] for t in profile["threads"]
             if thread in (None, t["name"]) and (pids is None or t["pid"] in pids)]
    return 2 + max(later - time for of_thread in times for time, later in zip(of_thread, of_thread[1:]))


def joined(found):
    """Markers less than 50 ms apart as one: where no processor was left for looks, a span has several. Spans of the
    programs are 100 ms apart."""
    whole = []
    for marker in found:
        if whole and marker.start - whole[-1].end < 50:
            whole[-1] = whole[-1]._replace(end=marker.end)
        else:
            whole.append(marker)
    return whole


def assert_spans(found, spans, off):
    """The markers are the spans that the program noted, but for where its clock began."""
    assert len(found) == len(spans), (found, spans)
    for marker, (begin, end) in zip(found, spans):
        assert abs((marker.end - marker.start) - (end - begin) * 1000) <= off, (marker, (end - begin) * 1000, off)
        shift = (marker.start - found[0].start) - (begin - spans[0][0]) * 1000
        assert abs(shift) <= 2 * off, (marker, shift, off)


# ---- threads ----

def test_a_wait_for_the_lock_says_who_held_it(marked):
    waits, path = marked("fight")
    found = markers(path, "Waits for GIL")
    assert {marker.thread for marker in found} >= {"hog-1", "hog-2", "asks"}
    for marker in found:
        by = {"hog-1": {"hog-2 in hog", "hog-2 in work"}, "hog-2": {"hog-1 in hog", "hog-1 in work"}}.get(marker.thread)
        if by:  # the thread that asks holds the lock for some microseconds
            assert marker.data["held"] in by, marker
        assert "stack" in marker.data["cause"] and marker.end - marker.start >= 4.5, marker
    # It asks when its sleep is over, and has the lock when it says so.
    asked = [marker.end - marker.start for marker in found if marker.thread == "asks"]
    told = sorted(((end - begin) * 1000 for begin, end in waits), reverse=True)
    for ours, theirs in zip(sorted(asked, reverse=True)[:5], told):
        assert abs(ours - theirs) <= blur(path, "asks"), (asked, told)


def test_collections(marked):
    spans, path = marked("collects")
    found = [marker for marker in markers(path, "GC") if marker.data.get("generation") == 2 and marker.end - marker.start > 20
             and marker.data["function"] == "collects"]
    assert_spans(found, spans, blur(path))
    schema = next(schema for schema in gecko_check.load(path)["meta"]["markerSchema"] if schema["name"] == "GC")
    assert "timeline-memory" in schema["display"]


def test_collections_of_two_processes(marked):
    """Ticks of the processes of a tree come in turn; each marker is on the track of its process, when it was."""
    spans, path = marked("pair", version="3.13", options=("-f",))
    off, begins = blur(path, pids=spans), []
    for pid, of_process in spans.items():
        found = [marker for marker in markers(path, "GC") if marker.pid == pid and marker.end - marker.start > 20
                 and marker.data["function"] == "collects"]
        assert_spans(joined(found), of_process, off)
        begins.append(found[0].start - of_process[0][0] * 1000)
    assert len(begins) == 2 and abs(begins[0] - begins[1]) <= 2 * off, (begins, off)
    (first, second) = ([(begin, end) for begin, end in of_process] for of_process in spans.values())
    assert any(a < d and c < b for a, b in first for c, d in second), "the collections were at the same time"


def test_exceptions(marked):
    spans, path = marked("handles", version="3.13")
    found = [marker for marker in markers(path, "Handles exception") if marker.data["function"] in ("work", "fails")]
    assert_spans(found, spans, blur(path))
    for marker in found:
        assert marker.data["time"] == pytest.approx(marker.end - marker.start, abs=blur(path))


# ---- the event loop ----

@pytest.mark.parametrize("which", ["running", "all"])
@pytest.mark.parametrize("version", ["3.14", "3.15"])
def test_a_blocked_loop(marked, which, version):
    spans, path = marked("blocks", options=("--async", which), version=version)
    found = markers(path, "Loop blocked")
    # Where the recorder had no processor at one end of a block of 200 ms, the marker is that much shorter.
    assert_spans(joined(found), spans, blur(path) + 50)
    assert {marker.data["function"] for marker in found} == {"blocks"}
    # The viewer draws jank from the delays: each fall is the end of a bar.
    (samples,) = [thread["samples"] for thread in gecko_check.load(path)["threads"] if "eventDelay" in thread["samples"]]
    delays = [(time - delay, time) for time, delay in zip(samples["time"], samples["eventDelay"]) if delay >= 50]
    assert [(pytest.approx(marker.start, abs=1), pytest.approx(marker.end, abs=1)) for marker in found] == delays


def test_tasks_are_lives(marked):
    spans, path = marked("lives", options=("--async", "all"))
    found = markers(path, "client")
    assert {(marker.type, marker.thread) for marker in found} == {("Task", "marked.py")}
    assert sorted(marker.data["label"] for marker in found) == sorted(2 * [f"client-{n}" for n in range(5)])
    ours = sorted(marker.end - marker.start for marker in found)
    told = sorted((end - begin) * 1000 for begin, end in spans)
    for one, other in zip(ours, told):
        assert abs(one - other) <= 2 * blur(path), (ours, told)
    for marker in found:
        assert marker.data["by"] == "Task-1" and marker.data["coroutine"] == "live", marker
    run = sum(marker.data.get("run", 0) for marker in found)
    assert abs(run - 10 * 20) <= 10 * blur(path), run
    # The line shows what the loop's thread really did: it mostly waited, and looked at no moment twice.
    (thread,) = gecko_check.load(path)["threads"]
    leaves = collections.Counter(stack[-1] for stack in gecko_check.stacks(gecko_check.load(path), thread, leaves=True).elements())
    assert leaves["[idle]"] > leaves["work"] > 0, leaves
