# SPDX-License-Identifier: MIT
"""Profiles for stores of many machines: a file for each window of time, also while the program runs."""

import calendar
import pathlib
import signal
import subprocess
import time

import pytest

import pprof_check
from environment import CONVERTERS, PROJECT, RECORD
from recording import ENVIRONMENT, PATIENCE, run, succeed, wait_until

STREAMS = pathlib.Path(PROJECT) / "tests" / "streams"
SECOND = 1_000_000_000
NAME = "app-%Y%m%dT%H%M%S.pb.gz"
SAMPLES, WALL, CPU, GIL, GIL_WAIT = range(5)


def profile(path):
    read, problems = pprof_check.examine(path)
    assert problems == [], path
    return pprof_check.summary(read)


def windows_in(folder):
    """The profiles of all windows in a folder, by the time in their names, in seconds since 1970."""
    return {calendar.timegm(time.strptime(path.name, NAME)): profile(path) for path in sorted(folder.glob("app-*"))}


def totals(profiles):
    return [sum(values) for values in zip(*(one["totals"] for one in profiles))]


def assert_same_totals(windows, whole):
    """One file is made from runs of equal looks, windows from single looks. The time of a run is held beside the clock at
    its ends only (formats/model/wall.h), so less than an interval goes to the one or the other of two runs."""
    assert [windows[SAMPLES], windows[CPU]] == [whole["totals"][SAMPLES], whole["totals"][CPU]]
    assert windows[WALL] == pytest.approx(whole["totals"][WALL], abs=whole["period"])
    for column in (GIL, GIL_WAIT):
        assert windows[column] == pytest.approx(whole["totals"][column], rel=0.01)


def split(recording, folder, every, *options):
    folder.mkdir(exist_ok=True)
    return run(CONVERTERS["pprof"], "--every", every, "-o", folder / NAME, *options, recording)


# ---- windows of a recording ----

@pytest.mark.parametrize("stream", ["plain-3.11", "threads-3.11", "gil-thread-3.15", "cpu-mode-3.13", "grouped-3.14",
                                    "predicted-3.14", "weighted", "interpreters-3.14"])
@pytest.mark.parametrize("every", [1, 1.5])
def test_the_windows_add_up_to_the_recording(stream, every, tmp_path):
    recording = STREAMS / stream / "recording.pyreel"
    assert split(recording, tmp_path / "windows", every, "-q").code == 0
    succeed(CONVERTERS["pprof"], "-q", "-o", tmp_path / "all.pb.gz", recording)
    windows, whole = windows_in(tmp_path / "windows"), profile(tmp_path / "all.pb.gz")
    begin = whole["time_nanos"]
    end = begin + whole["duration_nanos"]
    assert_same_totals(totals(windows.values()), whole)
    for named, window in windows.items():
        assert window["sample_types"] == whole["sample_types"] and window["period"] == whole["period"]
        number = window["time_nanos"] // int(every * SECOND)
        due, next_due = number * int(every * SECOND), (number + 1) * int(every * SECOND)
        assert named == due // SECOND  # the name has the window's own begin, ...
        assert window["time_nanos"] == max(begin, due)  # ... and the profile the time that was recorded
        assert window["time_nanos"] + window["duration_nanos"] == min(end, next_due)
    assert every > 1 or len(windows) > 1


def test_windows_of_a_part_of_the_recording(recorded, tmp_path):
    whole = windows_in_of(recorded.path, tmp_path / "whole")
    part = windows_in_of(recorded.path, tmp_path / "part", "--from", 0.5, "--to", 1.75, "--mode", "cpu")
    assert set(part) <= set(whole)
    succeed(CONVERTERS["pprof"], "-q", "--from", 0.5, "--to", 1.75, "--mode", "cpu", "-o", tmp_path / "part.pb.gz",
            recorded.path)
    one = profile(tmp_path / "part.pb.gz")
    assert totals(part.values())[SAMPLES] == one["totals"][SAMPLES] > 0
    assert totals(part.values())[CPU] == pytest.approx(one["totals"][CPU], abs=len(part))
    assert min(window["time_nanos"] for window in part.values()) >= one["time_nanos"]


def windows_in_of(recording, folder, *options):
    ended = split(recording, folder, 1, "-q", *options)
    assert ended.code == 0, ended
    return windows_in(folder)


def test_each_file_is_reported(recorded, tmp_path):
    ended = split(recorded.path, tmp_path, 1, "-v")
    written = [line.split()[2].rstrip(":") for line in ended.messages.splitlines() if "wrote" in line]
    assert written == sorted(map(str, tmp_path.glob("app-*"))) and len(written) > 1
    counts = [int(line.split()[3]) for line in ended.messages.splitlines() if "wrote" in line]
    assert sum(counts) == recorded.info["samples"]


def test_a_window_says_nothing_of_the_whole_recording(recorded, tmp_path):
    split(recorded.path, tmp_path, 1, "-q")
    for window in windows_in(tmp_path).values():
        said = [comment for comment in window["comments"] if "since the start of the recording" in comment]
        assert len(said) == 1 and said[0].startswith(f"{window['totals'][SAMPLES]} samples of ")
        assert not [comment for comment in window["comments"] if "missed" in comment or "cut off" in comment]


@pytest.mark.parametrize("arguments, said", [
    (("--every", "15"), "name the files by their time"),
    (("--every", "15", "-o", "app.pb.gz"), "name the files by their time"),
    (("--every", "15", "-o", "-"), "name the files by their time"),
    (("--every", "15", "-o", "app-%H%M%S.pb.gz"), "windows a day apart one name"),
    (("--every", "0.5", "-o", NAME), "invalid value '0.5' for --every"),
    (("--every", "soon", "-o", NAME), "invalid value 'soon' for --every"),
    (("--every", "15", "-o", NAME, "another.pyreel"), "--every takes one recording"),
])
def test_misuse(arguments, said, tmp_path):
    ended = run(CONVERTERS["pprof"], STREAMS / "plain-3.11" / "recording.pyreel", *arguments, cwd=tmp_path)
    assert ended.code == 2 and said in ended.messages
    assert list(tmp_path.iterdir()) == []


def test_a_recording_without_a_date_has_no_windows(tmp_path):
    succeed(CONVERTERS["tachyon"], "-q", "-o", tmp_path / "app.bin", STREAMS / "plain-3.11" / "recording.pyreel")
    ended = split(tmp_path / "app.bin", tmp_path / "windows", 1)
    assert ended.code == 1 and "does not say when it was recorded" in ended.messages


def test_a_name_without_every_is_taken_as_it_is(tmp_path):
    succeed(CONVERTERS["pprof"], "-q", "-o", tmp_path / NAME, STREAMS / "plain-3.11" / "recording.pyreel")
    assert [path.name for path in tmp_path.iterdir()] == [NAME]


# ---- while the program runs ----

class Pipe:
    """A program that is recorded into pyreel-pprof, each in a process of its own."""

    def __init__(self, target, folder, *options):
        self.folder = folder
        self.record = subprocess.Popen([RECORD, "-q", "-o", "-", "-p", str(target.pid)], stdin=subprocess.DEVNULL,
                                       stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=ENVIRONMENT)
        self.pprof = subprocess.Popen([CONVERTERS["pprof"], "--every", "2", "-o", str(folder / NAME), *options, "-"],
                                      stdin=self.record.stdout, stderr=subprocess.PIPE, env=ENVIRONMENT)
        self.record.stdout.close()

    def files(self):
        return sorted(self.folder.glob("app-*"))

    def end(self):
        """The exit code and the messages of pyreel-pprof."""
        _, said = self.pprof.communicate(timeout=PATIENCE)
        self.record.communicate(timeout=PATIENCE)
        return self.pprof.returncode, said.decode()

    def close(self):
        for process in (self.record, self.pprof):
            if process.poll() is None:
                process.kill()
            process.wait()
            process.stderr.close()


@pytest.fixture
def pipe(spinning, tmp_path):
    live = Pipe(spinning, tmp_path)
    yield live
    live.close()


def test_a_window_is_written_while_the_program_runs(pipe):
    wait_until(lambda: len(pipe.files()) >= 2, "two windows")
    assert pipe.record.poll() is None and pipe.pprof.poll() is None
    first, second = pipe.files()[:2]  # whole, as soon as they have a name
    assert profile(first)["totals"][SAMPLES] > 0
    assert profile(second)["duration_nanos"] == 2 * SECOND
    pipe.record.send_signal(signal.SIGINT)
    assert pipe.end() == (0, "")


def test_the_end_of_the_pipe_writes_the_last_window(pipe):
    """^C goes to both programs. What the recorder writes at its end is not lost."""
    wait_until(pipe.files, "a window")
    pipe.pprof.send_signal(signal.SIGINT)
    time.sleep(0.3)
    assert pipe.pprof.poll() is None
    pipe.record.send_signal(signal.SIGINT)
    assert pipe.end() == (0, "")
    last = list(windows_in(pipe.folder).values())[-1]
    assert last["totals"][SAMPLES] > 0 and last["duration_nanos"] < 2 * SECOND
    assert not [comment for comment in last["comments"] if "cut off" in comment]


@pytest.mark.parametrize("signals", [[signal.SIGTERM], [signal.SIGINT, signal.SIGINT]])
def test_a_signal_to_the_converter_alone_writes_what_there_is(pipe, signals):
    wait_until(pipe.files, "a window")
    for number in signals:
        pipe.pprof.send_signal(number)
        time.sleep(0.1)
    code, said = pipe.end()
    assert code == 0 and "is not complete" in said
    last = list(windows_in(pipe.folder).values())[-1]
    assert "the recording was cut off" in last["comments"]


def test_a_closed_standard_error_costs_no_window(spinning, tmp_path):
    live = Pipe(spinning, tmp_path, "-v")
    try:
        live.pprof.stderr.close()
        wait_until(lambda: len(live.files()) >= 2, "two windows")
        live.record.send_signal(signal.SIGINT)
        assert live.pprof.wait(PATIENCE) == 0
    finally:
        live.close()
