# SPDX-License-Identifier: MIT
"""The real viewers accept the files and show what was recorded."""

import os
import re

import pytest

import gecko_check
import known_program
import stacks
from environment import need_go
from recording import collapsed, gecko, pprof, succeed
from viewers import handle, opened, speedscope, tree_stacks

pytestmark = pytest.mark.pythons("oldest and newest")

FUNCTIONS = ["plain", "Mill.grind", "outer", "middle", "inner", "drain", "numbers", "descend", "rounds", "nap_again"]


def times_of(recorded):
    """{function: [self, total]} in microseconds of wall-clock time."""
    return stacks.self_and_total(stacks.of_collapsed(collapsed(recorded.path, "--full-paths", "--weight", "wall")))


# ---- go tool pprof ----

def go_pprof(*arguments):
    ended = succeed(*need_go(), *arguments)
    assert ended.errors == b"", ended
    return ended.text


def top(text):
    """{function: (flat, cum)} of what -top prints."""
    row = re.compile(r"^\s*(\d+)\S*\s+\S+%\s+\S+%\s+(\d+)\S*\s+\S+%  (.*)$", re.MULTILINE)
    return {name: (int(flat), int(cum)) for flat, cum, name in row.findall(text)}


def test_pprof_top_has_the_counts(recorded):
    text = go_pprof("-top", "-sample_index=samples", "-nodefraction=0", "-nodecount=100000", pprof(recorded.path))
    assert f"Showing nodes accounting for {recorded.info['samples']}, 100% of {recorded.info['samples']} total" in text
    truth = stacks.self_and_total(recorded.threads)
    shown = top(text)
    for function in FUNCTIONS:
        assert list(shown[function]) == truth[function], function


def test_pprof_top_shows_wall_time_first(recorded):
    text = go_pprof("-top", "-unit=us", pprof(recorded.path))
    assert "Type: wall" in text
    truth = times_of(recorded)
    shown = top(text)
    for function in ("plain", "Mill.grind", "inner"):
        assert list(shown[function]) == pytest.approx(truth[function], abs=20), function
    hottest = max((name for name in truth if name in FUNCTIONS and name != "nap_again"), key=lambda name: truth[name][0])
    assert hottest == "plain"


def test_pprof_list_shows_the_source(recorded):
    text = go_pprof("-list=^plain$", "-sample_index=samples", pprof(recorded.path))
    (name, file), = re.findall(r"^ROUTINE =+ (\S+) in (.*)$", text, re.MULTILINE)
    assert (name, file) == ("plain", recorded.program)
    first, _ = known_program.RANGES["plain"]
    loop = known_program.loop_of("plain")
    on_loop = sum(n for s, n in stacks.merged(recorded.threads).items() if s[-1] == ("plain", recorded.program, loop))
    assert re.search(rf"^ +{on_loop} +{on_loop} +{loop}:    while clock\(\) < until:$", text, re.MULTILINE), text
    assert re.search(rf"^ .* {first}:def plain\(until\):$", text, re.MULTILINE), text


def test_pprof_shows_the_source_in_its_web_view(recorded, tmp_path):
    """It disassembles what it can open: the interpreter must not be offered for that."""
    page = tmp_path / "w.html"
    succeed(*need_go(), "-weblist=^plain$", f"-output={page}", pprof(recorded.path))
    assert "while clock() &lt; until:" in page.read_text()


def test_pprof_raw_accepts_every_sample(recorded):
    text = go_pprof("-raw", pprof(recorded.path))
    assert "samples/count wall/nanoseconds[dflt]" in text
    values = re.findall(r"^ +(\d+) +(\d+)(?: +\d+){3}: [\d ]+$", text, re.MULTILINE)
    assert sum(int(count) for count, _ in values) == recorded.info["samples"]
    wall_s = sum(thread["wall_s"] for thread in recorded.info["threads"])
    assert sum(int(wall) for _, wall in values) / 1e9 == pytest.approx(wall_s, abs=1e-5)
    assert re.search(r"^Period: 1000000$", text, re.MULTILINE)
    assert re.search(r"\[FN\]\[FL\]\[LN\]", text)


def test_pprof_tags_are_threads_and_processes(recorded):
    text = go_pprof("-tags", "-sample_index=samples", pprof(recorded.path))
    sections = {name: {tag: round(float(n)) for n, tag in re.findall(r"^ +([\d.]+) \([^)]*\): (.*)$", body, re.MULTILINE)}
                for name, body in re.findall(r"^ *(\w+): Total.*\n((?: +\d.*\n)*)", text, re.MULTILINE)}
    counts = {name: sum(seen.values()) for (name, _), seen in recorded.threads.items()}
    assert sections["thread"] == counts
    assert sections["thread_id"] == {str(tid): sum(seen.values()) for (_, tid), seen in recorded.threads.items()}
    assert sections["pid"] == {str(recorded.info["processes"][0]["pid"]): recorded.info["samples"]}


def test_pprof_can_focus_on_a_thread(recorded):
    text = go_pprof("-top", "-sample_index=samples", "-tagfocus=thread=^napper$", pprof(recorded.path))
    shown = top(text)
    assert shown["nap_again"][1] > 300
    assert "plain" not in shown


# ---- Firefox Profiler ----

@pytest.fixture(scope="session")
def profiler(recorded):
    with opened(gecko(recorded.path)) as viewer:
        yield viewer


def test_firefox_profile_info(recorded, profiler):
    figures = profiler.ask("profile", "info")
    (process,) = figures["processes"]
    version = re.sub(r"\.0$", "", recorded.python.full_version)  # the viewer shows 3.13.0 as 3.13
    assert figures["name"].startswith(f"known.py – Python {version} ")
    assert (figures["threadCount"], figures["processCount"]) == (3, 1)
    assert process["pid"] == str(recorded.info["processes"][0]["pid"])
    tids = {thread["tid"]: thread["name"] for thread in process["threads"]}
    for (name, tid) in recorded.threads:
        assert tids[tid] == ("known.py" if name == stacks.MAIN else name)  # the main thread is shown by its program
    text = profiler.say("profile", "info")
    assert f"Name: known.py – Python {version} " in text
    assert "3 threads across 1 processes" in text


@pytest.mark.parametrize("thread", ["known.py", "napper", "waiter"])
def test_firefox_thread_info(recorded, profiler, thread):
    figures = profiler.ask("thread", "info", "--thread", handle(profiler, thread))
    name = stacks.MAIN if thread == "known.py" else thread
    (known,) = [t for t in recorded.info["threads"] if t["name"] == name]
    assert (figures["name"], figures["tid"], figures["sampleCount"]) == (thread, known["tid"], known["samples"])
    assert abs(figures["createdAt"] - known["start_s"] * 1000) < 1
    assert f"contains {known['samples']} samples" in profiler.say("thread", "info", "--thread", handle(profiler, thread))


@pytest.mark.parametrize("thread", ["known.py", "napper", "waiter"])
def test_firefox_call_tree_is_the_recording(recorded, profiler, thread):
    answer = profiler.ask("thread", "samples-top-down", "--include-idle", "--max-lines", "1000000",
                          "--thread", handle(profiler, thread))
    known = stacks.functions(stacks.of_thread(recorded.threads, stacks.MAIN if thread == "known.py" else thread))
    assert answer["regularCallTree"]["totalSamples"] == sum(known.values())
    assert tree_stacks(answer["regularCallTree"]) == known


def test_firefox_prints_the_call_tree(recorded, profiler):
    text = profiler.say("thread", "samples-top-down", "--include-idle", "--thread", handle(profiler, "known.py"))
    seen = stacks.of_thread(recorded.threads, stacks.MAIN)
    for function in ("plain", "Mill.grind", "inner", "numbers"):
        share = 100 * stacks.samples(seen, function) / sum(seen.values())
        (shown,) = re.findall(rf"[ !]{re.escape(function)} \[total: ([\d.]+)%, self: [\d.]+%\]", text)
        assert abs(float(shown) - share) < 0.11, function


def test_firefox_functions_have_their_file(recorded, profiler):
    answer = profiler.ask("thread", "functions", "--include-idle", "--limit", "0", "--thread", handle(profiler, "known.py"))
    shown = {f["name"]: [f["selfSamples"], f["totalSamples"]] for f in answer["functions"]}
    truth = stacks.self_and_total({0: stacks.of_thread(recorded.threads, stacks.MAIN)})
    profile = gecko_check.load(gecko(recorded.path))
    waits = gecko_check.function_times(profile, profile["threads"][0], leaves=True)
    for function in FUNCTIONS[:-1]:
        assert shown[function] == waits[function], function  # what waits counts for [idle]
        assert shown[function][1] == truth[function][1], function


# ---- speedscope ----

def test_speedscope_shows_the_pprof_file(recorded):
    profile = speedscope(pprof(recorded.path))
    wall_s = sum(thread["wall_s"] for thread in recorded.info["threads"])
    assert (profile["unit"], profile["total"] / 1e9) == ("nanoseconds", pytest.approx(wall_s, abs=1e-5))
    frames = {frame["name"]: frame for frame in profile["frames"] if frame["file"] == recorded.program}
    truth = times_of(recorded)
    for function in FUNCTIONS:
        shown = frames[function]
        assert [shown["self"] / 1e3, shown["total"] / 1e3] == pytest.approx(truth[function], abs=100), function
        first, last = known_program.RANGES[function]
        assert first <= shown["line"] <= last, function


def test_speedscope_shows_the_collapsed_stacks(recorded):
    path = os.path.join(os.path.dirname(recorded.path), "known.txt")
    with open(path, "w") as file:
        file.write(collapsed(recorded.path, "--full-paths"))
    profile = speedscope(path)
    assert profile["total"] == recorded.info["samples"]
    frames = {frame["name"]: frame for frame in profile["frames"]}
    loop = f"plain ({recorded.program}:{known_program.loop_of('plain')})"
    on_loop = sum(n for s, n in stacks.merged(recorded.threads).items() if s[-1][0:3] == ("plain", recorded.program, known_program.loop_of("plain")))
    assert frames[loop]["self"] == on_loop > 0
    for (name, tid), seen in recorded.threads.items():
        assert frames[f"{name} ({tid})"]["total"] == sum(seen.values())
