# SPDX-License-Identifier: MIT
"""What threads did, from a recording that is known to the last tick (tests/tools/make-statuses.c): 100 ticks of 1 ms, in
which MainThread works for nine and sleeps in the tenth, and worker waits for the lock, each fourth time with an
exception. The CPU time of MainThread's first tick is not known yet; 7 ticks of worker are left out."""

import collections
import os
import re

import pytest

import gecko_check
import pprof_check
from environment import BUILD, PPROFS, need_pprof
from recording import collapsed, convert, info, run, succeed
from report_check import report

WITH_MODE = ["pprof", "collapsed", "gecko", "tachyon"]
WORK, WAIT = "MainThread (4242);<module> (a.py:3);work (a.py:6)", "MainThread (4242);<module> (a.py:3);wait (a.py:10)"
WORKER = "worker (4243);wait (a.py:10)"


pytestmark = pytest.mark.short


def make(path, *mode):
    succeed(os.path.join(BUILD, "tests", "make-statuses"), path, *mode)
    return path


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return make(tmp_path_factory.mktemp("modes") / "a.pyreel")


def lines(path, *options):
    return {stack: int(count) for stack, _, count in
            (line.rpartition(" ") for line in collapsed(path, *options).splitlines())}


@pytest.mark.sanitized("samples that say what a thread did")
def test_modes_keep_their_samples(path):
    everything = {WORK: 90, WAIT: 10, WORKER: 100}
    assert lines(path) == lines(path, "--mode", "wall") == everything
    assert lines(path, "--mode", "cpu") == lines(path, "--mode=gil") == {WORK: 90}
    assert lines(path, "--mode", "exception") == {WORKER: 25}


def test_weights_are_microseconds(path):
    assert lines(path, "--weight", "samples") == lines(path)
    assert lines(path, "--weight", "wall") == {WORK: 90_000, WAIT: 10_000, WORKER: 100_000}
    assert lines(path, "--weight", "cpu") == {WORK: 89_000}
    assert lines(path, "--weight", "gil") == {WORK: 90_000}
    assert lines(path, "--weight", "gil_wait") == {WORKER: 100_000}
    assert lines(path, "--weight", "gil_wait", "--mode", "exception") == {WORKER: 25_000}


@pytest.mark.parametrize("mode, options, wanted, what", [
    ([], [], {WORK: 89_000}, ""),
    ([], ["--threads", "worker"], {WORKER: 100_000}, "wall-clock time, because no CPU time was used\n"),
    (["wall", "none"], [], {WORK: 90_000, WAIT: 10_000, WORKER: 100_000}, "wall-clock time, because CPU time is not known\n"),
    (["wall", "no-cpu"], [], {WORK: 90_000, WAIT: 10_000},
     "wall-clock time without waits, because CPU time is not known; --weight wall has waits, too\n")])
def test_the_default_is_the_time_that_the_report_shows(tmp_path, mode, options, wanted, what):
    """A person is told where it is no CPU time."""
    path = make(tmp_path / "a.pyreel", *mode)
    ended = convert("collapsed", path, "--ids", "-v", *options)
    assert {stack: int(count) for stack, _, count in (line.rpartition(" ") for line in ended.text.splitlines())} == wanted
    assert f"the lines have microseconds of {what}" in ended.messages if what else "microseconds" not in ended.messages
    assert convert("collapsed", path, *options).messages == ""
    assert report(*options, path)["weight"]["all"] * 1e6 == pytest.approx(sum(wanted.values()))


def test_a_weight_that_is_0_in_all_samples(path):
    """No line is the right output, and a warning says why."""
    for options in ((), ("--mode", "cpu")):
        ended = convert("collapsed", path, "--weight", "gil_wait", "--threads", "MainThread", *options)
        assert (ended.code, ended.output) == (0, b""), ended
        assert ended.messages == ("pyreel-collapsed: warning: gil_wait is 0 in all samples of "
                                  f"{path}, so no line is written\n")


def test_a_mode_is_no_loss(path, tmp_path):
    """That samples were left out on purpose is no damage."""
    for name in WITH_MODE:
        ended = convert(name, path, "--strict", "--mode", "cpu", "-v", "-o", tmp_path / name)
        assert (ended.code, ended.output) == (0, b""), ended
        assert ended.messages.startswith(f"pyreel-{name}: wrote {tmp_path / name}: 90 samples, "), ended


def test_gecko_has_the_samples_of_the_mode(path, tmp_path):
    for mode, wanted in (("wall", 200), ("cpu", 90), ("exception", 25)):
        assert convert("gecko", path, "--mode", mode, "-o", tmp_path / "out").code == 0
        profile = gecko_check.load(tmp_path / "out")
        shown = [thread["samples"] for thread in profile["threads"]]
        count = sum(sum(1 for stack in samples["stack"] if stack is not None) for samples in shown)
        assert wanted <= count <= (200 if mode == "wall" else 199)


def test_pprof_has_columns(path, tmp_path):
    for options, default in (((), "cpu"), (("--mode", "cpu"), "cpu"), (("--threads", "worker"), "wall")):
        assert convert("pprof", path, *options, "-o", tmp_path / "out").code == 0
        profile = pprof_check.load(tmp_path / "out")
        assert pprof_check.check(profile) == []
        text = succeed(need_pprof("machine"), "-raw", tmp_path / "out").text
        shown = re.search(r"^Samples:\n(.*)$", text, re.MULTILINE)[1].split()
        names = ["samples/count", "wall/nanoseconds", "cpu/nanoseconds", "gil/nanoseconds", "gil_wait/nanoseconds"]
        assert shown == [name + ("[dflt]" if name.startswith(default + "/") else "") for name in names]


@pytest.mark.parametrize("which", PPROFS)
def test_pprof_shows_each_column(path, tmp_path, which):
    """In numbers: one pprof writes 89ms, another one 89.0ms."""
    assert convert("pprof", path, "-o", tmp_path / "out").code == 0
    for column, total in (("wall", 200), ("cpu", 89), ("gil", 90), ("gil_wait", 100), ("samples", 200)):
        text = succeed(need_pprof(which), "-top", "-unit=ms", f"-sample_index={column}", tmp_path / "out").text
        shown, whole = re.search(r"^Showing nodes accounting for ([\d.]+)(?:ms)?, 100% of ([\d.]+)(?:ms)? total$", text, re.MULTILINE).groups()
        assert float(shown) == float(whole) == total, text
    text = succeed(need_pprof(which), "-tags", "-sample_index=cpu", "-unit=ms", tmp_path / "out").text
    whole, main = re.search(r"^ *thread: Total ([\d.]+)ms\b.*\n +([\d.]+)ms \( *100%\): MainThread$", text, re.MULTILINE).groups()
    assert float(whole) == float(main) == 89


def test_info_tells_what_threads_did(path):
    figures = info(path)
    assert figures["left_out"] == 7
    main, worker = figures["threads"]
    assert (main["left_out"], main["cpu_s"], main["cpu_percent"], main["gil_percent"]) == (0, 0.089, 90, 90)
    assert (main["gil_wait_percent"], main["exception_percent"]) == (0, 0)
    assert (worker["left_out"], worker["cpu_s"], worker["cpu_percent"], worker["gil_percent"]) == (7, 0, 0, 0)
    assert (worker["gil_wait_percent"], worker["exception_percent"]) == (100, 25)
    text = convert("info", path).text
    assert re.search(r"^left out +7 samples of threads", text, re.MULTILINE), text
    row = r"^ +4242 +4242 +100 +0 +0\.089 +90\.0 +90\.0 +0\.0 +0\.0 +0\.000 +MainThread$"
    assert re.search(row, text, re.MULTILINE), text


@pytest.mark.parametrize("name", WITH_MODE)
def test_the_mode_of_the_recording_is_all_there_is(name, tmp_path):
    only_cpu = make(tmp_path / "cpu.pyreel", "cpu")
    for mode, code in (("cpu", 0), ("wall", 1), ("gil", 1)):
        ended = convert(name, only_cpu, "--mode", mode, "-o", tmp_path / "out")
        assert ended.code == code, ended
        if code:
            assert "it was recorded in mode cpu" in ended.messages and f"with pyreel-record -m {mode}" in ended.messages
    assert convert(name, only_cpu, "-o", tmp_path / "out").code == 0


@pytest.mark.parametrize("name", WITH_MODE)
def test_what_was_not_recorded_cannot_be_kept(name, tmp_path):
    """Nothing is written, and it says what would have recorded it."""
    nothing, no_cpu = make(tmp_path / "old", "wall", "none"), make(tmp_path / "no-cpu", "wall", "no-cpu")
    for path, mode in ((nothing, "cpu"), (nothing, "gil"), (nothing, "exception"), (no_cpu, "cpu")):
        ended = convert(name, path, "--mode", mode, "-o", tmp_path / "out")
        assert (ended.code, ended.output) == (1, b""), ended
        assert f"{path}: its samples do not say" in ended.messages and f"pyreel-record -m {mode}" in ended.messages
        assert not (tmp_path / "out").exists()
    for path, mode in ((nothing, "wall"), (no_cpu, "gil")):
        assert convert(name, path, "--mode", mode, "-o", tmp_path / "out").code == 0


def test_weights_that_were_not_recorded(tmp_path):
    nothing, no_cpu = make(tmp_path / "old", "wall", "none"), make(tmp_path / "no-cpu", "wall", "no-cpu")
    for path, weight, word in ((nothing, "cpu", "-m cpu"), (nothing, "gil", "GIL"), (nothing, "gil_wait", "GIL"),
                               (no_cpu, "cpu", "-m cpu")):
        ended = convert("collapsed", path, "--weight", weight)
        assert (ended.code, ended.output) == (1, b""), ended
        assert f"--weight {weight} cannot be applied to {path}: " in ended.messages and word in ended.messages
    assert lines(nothing, "--weight", "wall") == {WORK: 90_000, WAIT: 10_000, WORKER: 100_000}
    assert lines(no_cpu, "--weight", "gil") == {WORK: 90_000}


def test_markers_of_a_profile_are_chosen(path, tmp_path):
    """The worker waits for the lock for all of the 100 ms; each state of MainThread lasts 9 ms or less."""
    for options, wanted in (((), {"Waits for GIL": [1, 100]}), (("--min-gil-wait", "200ms"), {}), (("--markers=none",), {})):
        assert convert("gecko", path, "--force", *options, "-o", tmp_path / "out").code == 0
        profile = gecko_check.load(tmp_path / "out")
        found = collections.Counter()
        for thread in profile["threads"]:
            found.update(gecko_check.marker_times(profile, thread))
        assert {name: row for name, row in found.items() if name != "Handles exception"} == wanted, options
    assert convert("gecko", path, "--force", "--markers=all", "-o", tmp_path / "out").code == 0
    profile = gecko_check.load(tmp_path / "out")
    main, worker = (gecko_check.marker_times(profile, thread) for thread in profile["threads"])
    assert main == {"Holds GIL": [10, 90], "On CPU": [10, 90], "Off CPU": [10, 10]}
    assert worker == {"Waits for GIL": [1, 100], "Off CPU": [1, 100], "Handles exception": [1, 97]}


def test_nothing_is_told_of_what_was_not_recorded(tmp_path):
    nothing, no_cpu = make(tmp_path / "old", "wall", "none"), make(tmp_path / "no-cpu", "wall", "no-cpu")
    known = ["cpu_s", "cpu_percent", "gil_percent", "gil_wait_percent", "exception_percent"]
    assert [info(nothing)["threads"][0][key] for key in known] == [None] * 5
    assert [info(no_cpu)["threads"][0][key] for key in known] == [None, None, 90, 0, 0]
    assert "GIL" not in convert("info", nothing).text
    for path, unknown in (nothing, ["cpu", "gil", "gil_wait"]), (no_cpu, ["cpu"]):
        assert convert("pprof", path, "-o", tmp_path / "out").code == 0
        assert len(pprof_check.load(tmp_path / "out")["sample_type"]) == 5
        said = succeed(need_pprof("machine"), "-comments", tmp_path / "out").text
        assert [name for name in ("cpu", "gil", "gil_wait") if f"value {name} is not known and 0: " in said] == unknown


def test_pprof_shows_cpu_time_first_when_that_was_recorded(tmp_path):
    path = make(tmp_path / "cpu.pyreel", "cpu")
    assert convert("pprof", path, "-o", tmp_path / "out").code == 0
    assert "cpu/nanoseconds[dflt]" in succeed(need_pprof("machine"), "-raw", tmp_path / "out").text


@pytest.mark.parametrize("name", ["pprof", "collapsed", "gecko", "info"])
@pytest.mark.parametrize("option, belongs", [("--mode=on-cpu", WITH_MODE), ("--mode=", WITH_MODE), ("--mode", WITH_MODE),
                                             ("--weight=exception", ["collapsed"]), ("--weight", ["collapsed"])])
def test_misuse(path, tmp_path, name, option, belongs):
    ended = run(os.path.join(BUILD, "convert", f"pyreel-{name}"), option, *([path] if "=" in option else []), cwd=tmp_path)
    assert (ended.code, ended.output) == (2, b""), ended
    assert f"Try 'pyreel-{name} --help'" in ended.messages
    if name in belongs and "=" in option:
        word, value = option.split("=")
        assert f"invalid value '{value}' for {word}" in ended.messages
    assert os.listdir(tmp_path) == []
