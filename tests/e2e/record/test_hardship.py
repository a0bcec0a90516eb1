# SPDX-License-Identifier: MIT
"""What makes reading or writing hard: deep stacks, odd surroundings, things that end or change at the wrong moment."""

import fcntl
import os
import signal
import sys
import termios

import pytest

import stacks
from environment import CONVERTERS, NOBODY, as_root, missing
from recording import (CHANGES, UNPROVED, Talk, attach, collapsed, convert, process_state, record_told, run, run_record, succeed,
                       wait_until, whole)


def depths(path, function):
    """How many samples have so many frames of this function."""
    seen = {}
    for stack, count in stacks.merged(stacks.of_collapsed(collapsed(path, "--full-paths"))).items():
        depth = sum(frame[0] == function for frame in stack)
        seen[depth] = seen.get(depth, 0) + count
    return seen


# ---- deep stacks ----

def record_deep(python, program, start, path, kind, depth, *options, samples=20):
    prefix = as_root() if python.root else ()
    target = start(*prefix, *python.command, program("deep"), kind, depth)
    attach(target, path, *options, samples=samples, prefix=prefix)
    return whole(path)


@pytest.mark.sanitized("deep stacks in the data stack, on the C stack and in generators")
@pytest.mark.pythons("oldest and newest")
@pytest.mark.parametrize("kind, depth", [pytest.param("calls", 5000, marks=pytest.mark.short), ("through_c", 150), ("generators", 300)])
def test_a_deep_stack_is_kept_to_its_root(python, program, start, tmp_path, kind, depth):
    figures = record_deep(python, program, start, tmp_path / "d.pyreel", kind, depth, "-r", 200)
    assert figures["failures"].keys() <= CHANGES  # it has said that it is there, and is about to sleep
    assert set(depths(tmp_path / "d.pyreel", kind)) == {depth + 1}


@pytest.mark.pythons("oldest and newest")
def test_a_very_deep_stack_is_read_at_first_sight(python, program, start, tmp_path):
    """Though it takes hundreds of pieces of memory, and each call in it is new."""
    path = tmp_path / "d.pyreel"
    figures = record_deep(python, program, start, path, "calls", 30000, "-r", 50, "--max-depth", 50000)
    assert set(depths(path, "calls")) == {30001}, figures["failures"]


def record_too_deep(start, start_recorder, python3, program, path, kind, depth, rate):
    target = start(python3, program("deep"), kind, depth)
    recorder = start_recorder(*UNPROVED, "-r", rate, "-p", target.pid, "-o", path)
    recorder.wait_for(path, lambda found: found["samples"] + found["failed"] > 50, "looks at the program")
    recorder.signal(signal.SIGINT)
    ended = recorder.wait()
    assert ended.code == 0, ended
    return whole(path)


def test_a_stack_that_is_deeper_than_can_be_read_is_said_to_be(start, start_recorder, python3, program, tmp_path):
    figures = record_too_deep(start, start_recorder, python3, program, tmp_path / "d.pyreel", "wide_calls", 20000, 50)
    assert figures["failures"]["stack too deep"] > 20, figures["failures"]
    assert figures["figures"]["reads"] < 1500 * figures["ticks"]


@pytest.mark.sanitized("more frames than one call reads")
def test_more_frames_than_one_call_can_read_are_failures_not_faults(start, start_recorder, python3, program, tmp_path):
    figures = record_too_deep(start, start_recorder, python3, program, tmp_path / "d.pyreel", "both", 495, 100)
    assert figures["failures"].keys() <= CHANGES | {"stack too deep"}


# ---- files ----

def test_a_command_that_cannot_run_costs_nobody_a_file(tmp_path):
    mine = tmp_path / "precious"
    mine.write_text("mine")
    assert run_record("--force", "-o", mine, "--", "no-such-command-anywhere").code == 127
    assert mine.read_text() == "mine"
    assert run_record("-o", tmp_path / "new", "--", "no-such-command-anywhere").code == 127
    assert sorted(os.listdir(tmp_path)) == ["precious"]


@pytest.mark.sanitized("none: file numbers 0 to 2 are free")
@pytest.mark.parametrize("closed", [0, 1, 2])
def test_a_closed_standard_file_does_not_become_the_recording(start_recorder, spinning, tmp_path, closed):
    path = tmp_path / "c.pyreel"
    recorder = start_recorder("-v", "-p", spinning.pid, "-o", path, prefix=("sh", "-c", f'exec "$@" {closed}>&-', "sh"))
    recorder.wait_for_samples(path)
    recorder.signal(signal.SIGINT)
    recorder.exit_code()
    assert whole(path)["ended"] == "stopped by a signal"


@pytest.fixture(scope="module")
def recording_file(python3, program, tmp_path_factory):
    path = tmp_path_factory.mktemp("hardship") / "r.pyreel"
    assert record_told(path, python3, program("spin"), "told").code == 0
    return path


def test_a_link_stays_a_link(recording_file, tmp_path):
    real, link = tmp_path / "real.txt", tmp_path / "link.txt"
    real.write_text("old stack 1\n")
    link.symlink_to("real.txt")
    assert convert("collapsed", recording_file, "-o", link).code == 0
    assert link.is_symlink()
    assert "spin" in real.read_text()


def unread(pipe):
    """The bytes in a pipe that nobody has read."""
    return int.from_bytes(fcntl.ioctl(pipe, termios.FIONREAD, bytes(4)), sys.byteorder)


def test_a_converter_that_is_interrupted_leaves_nothing(recording_file, tmp_path):
    fifo = tmp_path / "in"
    os.mkfifo(fifo)
    converter = Talk([CONVERTERS["pprof"], "-o", tmp_path / "out.pb.gz", fifo])
    try:
        with open(fifo, "r+b", buffering=0) as feed:  # for reading, too, so this waits for nobody
            feed.write(recording_file.read_bytes()[:200])
            wait_until(lambda: unread(feed) == 0, "the converter waits for more")
            converter.signal(signal.SIGINT)
            assert converter.exit_code() == -signal.SIGINT
    finally:
        converter.close()
    assert os.listdir(tmp_path) == ["in"]


@pytest.mark.parametrize("by_link", [False, True], ids=["itself", "by a link"])
def test_a_pipe_of_somebody_else_in_a_shared_folder_hangs_nobody(recording_file, tmp_path, by_link):
    """Nobody opens the other side: to open the pipe, for reading or writing, would be to wait for ever."""
    if os.geteuid() != 0:
        missing("needs root: only root makes pipes of other users")
    theirs, folder = tmp_path / "theirs", tmp_path / "shared"
    folder.mkdir()
    folder.chmod(0o1777)
    pipe = folder / "pipe"
    os.mkfifo(theirs if by_link else pipe)
    os.chown(theirs if by_link else pipe, NOBODY, NOBODY)
    if by_link:
        pipe.symlink_to(theirs)
        os.chown(pipe, NOBODY, NOBODY, follow_symlinks=False)
    for ended in (run_record("-o", pipe, "--force", "--", "true"),
                  convert("pprof", recording_file, "-o", pipe), convert("collapsed", recording_file, "-o", pipe, "--force"),
                  convert("collapsed", pipe), run(CONVERTERS["info"], pipe), run(CONVERTERS["report"], pipe)):
        assert ended.code in (1, 125), ended
        (line,) = ended.messages.splitlines()
        assert "folder that everyone can write to" in line


def test_a_pipe_of_ones_own_is_an_input_and_an_output(recording_file, tmp_path):
    """The writer waits for the reader, and the reader for the writer, as with each other program."""
    os.chmod(tmp_path, 0o1777)
    into, out = tmp_path / "in", tmp_path / "out"
    os.mkfifo(into)
    os.mkfifo(out)
    script = '"$0" -o "$1" "$2" & cat "$3" > "$2"; cat "$1"; wait $!'
    assert "spin" in succeed("sh", "-c", script, CONVERTERS["collapsed"], out, into, recording_file).text


# ---- processes ----

PARENT = """
import subprocess, sys, time
child = subprocess.Popen([sys.executable, sys.argv[1], "told"], stdout=subprocess.PIPE)
child.stdout.readline()
print("ready", child.pid, flush=True)
while True:
    time.sleep(1)
"""


def test_a_zombie_is_a_program_that_ended(start, start_recorder, tmp_path, python3, program):
    """Attached to a child whose parent never asks for its end."""
    family = start(python3, "-c", PARENT, program("spin"))
    recorder = start_recorder("-p", family.pid, "-o", tmp_path / "z.pyreel")
    recorder.wait_for_samples(tmp_path / "z.pyreel")
    family.tell()  # the child, which has the same standard input
    ended = recorder.wait()
    assert ended.code == 0, ended
    assert family.running and process_state(family.pid) == "Z"
    assert whole(tmp_path / "z.pyreel")["ended"] == "the target ended"


def test_a_short_duration_is_no_duration_at_all_or_refused():
    ended = run_record("-d", "1e-10", "--", "true")
    assert ended.code == 2, ended
    assert "--duration" in ended.messages
