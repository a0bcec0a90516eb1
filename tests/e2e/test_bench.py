# SPDX-License-Identifier: MIT
"""The benchmarks work. How fast anything is, is not asked here."""

import glob
import json
import os

import pytest

from environment import BUILD, PROJECT, missing
from recording import CONVERTERS, run, succeed

BENCH = os.path.join(PROJECT, "tests", "bench")
BENCH_UNWIND = os.path.join(BUILD, "tests", "bench", "bench-unwind")
CODECS = os.path.join(BUILD, "tests", "bench", "codecs")
MAKE_RECORDING = os.path.join(BUILD, "tests", "bench", "make-recording")
SCRIPTS = sorted(os.path.basename(path) for path in glob.glob(os.path.join(BENCH, "*"))
                 if os.path.isfile(path) and os.access(path, os.X_OK))
TARGETS = sorted(os.path.basename(path)[:-3] for path in glob.glob(os.path.join(BENCH, "targets", "*.py")))


@pytest.fixture(autouse=True)
def is_built():
    if not os.access(BENCH_UNWIND, os.X_OK):
        missing(f"not built: {BENCH_UNWIND}")


def figures_of(pid, *options):
    return json.loads(succeed(BENCH_UNWIND, "--pid", pid, "--seconds", 0.2, "--json", *options).text)


def test_the_unwinder_is_measured(spinning):
    figures = figures_of(spinning.pid)
    assert figures["calls"] > 10
    assert figures["calls"] <= figures["ticks"] == figures["samples"] + figures["failed"]
    assert 0 < figures["seconds"] < 2
    assert figures["avg_us"] == pytest.approx(1e6 * figures["seconds"] / figures["calls"], rel=0.05)
    assert figures["work_rate_hz"] == pytest.approx(1e6 / figures["avg_us"], rel=0.05)
    assert 90 <= figures["success_percent"] <= 100
    assert 0 < figures["syscalls_per_call"] <= figures["pieces_per_call"] <= figures["bytes_per_call"]
    assert figures["reading_percent"] > 90
    if figures["floor_us"] is not None:  # on a busy machine, hardly a moment may have been good enough
        assert figures["floor_us"] > 0
        assert figures["times_floor"] == pytest.approx(figures["reading_us"] / figures["floor_us"], rel=0.05)
    assert spinning.running


@pytest.mark.parametrize("options", [("--threads", "main"), ("--threads", "gil"), ("--no-cache",), ("--blocking",), ("--status",)], ids=" ".join)
def test_what_is_measured_can_be_chosen(spinning, options):
    figures = figures_of(spinning.pid, *options)
    assert figures["calls"] > 10
    assert figures["samples"] > 0.5 * figures["calls"]


def test_a_number_of_calls(spinning):
    assert figures_of(spinning.pid, "--calls", 20)["calls"] == 20


def test_figures_for_people(spinning):
    lines = succeed(BENCH_UNWIND, "--pid", spinning.pid, "--seconds", 0.1).text.splitlines()
    assert "work_rate_hz" in [line.split()[0] for line in lines]
    assert all(len(line.split()) == 2 for line in lines)


@pytest.mark.parametrize("options", [(), ("--pid", "x"), ("--pid", "1", "--threads", "some"), ("--pid", "1", "more"),
                                     ("--pid", "1", "--operation", "sleep"), ("--pid", "1", "--seconds", "-1")], ids=" ".join)
def test_misuse(options):
    ended = run(BENCH_UNWIND, *options)
    assert ended.code == 2
    assert "bench-unwind" in ended.messages


def test_no_process():
    ended = run(BENCH_UNWIND, "--pid", 2 ** 22 + 1)
    assert ended.code == 1
    assert "no process" in ended.messages


def test_the_target_ends(start, python3, program):
    target = start(python3, program("spin"), 0.3)
    ended = run(BENCH_UNWIND, "--pid", target.pid, "--seconds", 20)
    assert ended.code == 1
    assert "ended" in ended.messages


@pytest.mark.parametrize("like", ["mixed", "threads", "calls"])
def test_recordings_are_made(tmp_path, like):
    paths = [str(tmp_path / name) for name in ("a.pyreel", "b.pyreel")]
    for path in paths:
        succeed(MAKE_RECORDING, "--like", like, "--samples", "20k", "--threads", 3, "--stacks", 100, "--depth", 12, path)
    with open(paths[0], "rb") as a, open(paths[1], "rb") as b:
        assert a.read() == b.read()
    told = json.loads(succeed(CONVERTERS["info"], "--json", "--verify", paths[0]).text)
    assert told["complete"] and told["samples"] == 20000 and len(told["threads"]) == 3
    lines = succeed(CONVERTERS["collapsed"], "--no-threads", paths[0]).text.splitlines()
    stacks = [line.rpartition(" ")[0].split(";") for line in lines]
    assert 30 < len(stacks) <= 100
    assert 5 < max(map(len, stacks)) <= 12


@pytest.mark.parametrize("options", [(), ("--samples", "0"), ("--samples", "x"), ("--like", "this"), ("a", "b")], ids=" ".join)
def test_misuse_of_make_recording(tmp_path, options):
    assert run(MAKE_RECORDING, *options, *([tmp_path / "c"] if options[:1] != ("a",) and options else [])).code == 2


def test_reading_is_measured():
    ended = succeed(os.path.join(BENCH, "replay-speed"), "--ours-only", "--samples", "20k", "--like", "mixed", "--rounds", 1, "--json")
    cells = json.loads(ended.text)["cells"]
    assert {cell["to"] for cell in cells} == {"collapsed", "gecko", "gecko.gz", "pprof"}
    assert all(cell["ours"]["per_second"] > 1000 and 1 < cell["ours"]["mib"] < 256 for cell in cells)


def test_codecs_are_compared():
    recording = os.path.join(PROJECT, "tests", "streams", "predicted-3.14", "recording.pyreel")
    rows = [line.split() for line in succeed(CODECS, "--rounds", 1, recording).text.splitlines()]
    sizes = {row[0]: int(row[1]) for row in rows if row[0] in ("none", "zstd", "grouped", "predicted")}
    assert sizes["predicted"] < sizes["grouped"] < sizes["zstd"] < sizes["none"]


@pytest.mark.parametrize("options", [(), ("--rounds", "0", "a"), ("--rounds", "1")], ids=" ".join)
def test_misuse_of_codecs(options):
    assert run(CODECS, *options).code == 2


def test_reading_of_what_was_recorded_is_measured(tmp_path):
    path = tmp_path / "this.pyreel"
    succeed(MAKE_RECORDING, "--samples", "3000", path)
    ended = succeed(os.path.join(BENCH, "replay-speed"), "--ours-only", "--to", "collapsed", "--rounds", 1, "--json", path)
    (cell,) = json.loads(ended.text)["cells"]
    assert cell["like"] == "this" and cell["samples"] == 3000 and path.exists()


def test_there_are_scripts():
    assert {"vs-tachyon", "recorder-cost", "slowdown", "many-threads", "start", "mode-cost", "replay-speed"} <= set(SCRIPTS)


@pytest.mark.parametrize("script", SCRIPTS)
def test_help(script):
    ended = succeed(os.path.join(BENCH, script), "--help")
    assert ended.text.startswith(f"usage: {script}")
    assert "--json" in ended.text


@pytest.mark.parametrize("name", TARGETS)
def test_targets_run(start, python3, name):
    target = start(python3, os.path.join(BENCH, "targets", f"{name}.py"))
    assert figures_of(target.pid)["samples"] > 0
    assert target.running
