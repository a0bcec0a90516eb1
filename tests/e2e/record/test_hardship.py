# SPDX-License-Identifier: MIT
"""What makes reading or writing hard: deep stacks, odd surroundings, things that end or change at the wrong moment."""

import os
import signal
import subprocess
import time

import pytest

import stacks
from environment import CONVERTERS, NOBODY, RECORD, as_root, missing
from recording import ENVIRONMENT, LIVE, collapsed, convert, run, run_record, whole


def depths(path, function):
    """How many samples have so many frames of this function."""
    seen = {}
    for stack, count in stacks.merged(stacks.of_collapsed(collapsed(path, "--full-paths"))).items():
        depth = sum(frame[0] == function for frame in stack)
        seen[depth] = seen.get(depth, 0) + count
    return seen


# ---- deep stacks ----

@pytest.mark.sanitized("deep stacks in the data stack, on the C stack and in generators")
@pytest.mark.pythons("oldest and newest")
@pytest.mark.parametrize("kind, depth", [("calls", 5000), ("through_c", 150), ("generators", 300)])
def test_a_deep_stack_is_kept_to_its_root(python, program, tmp_path, kind, depth):
    prefix = as_root() if python.root else ()
    path = tmp_path / "d.pyreel"
    run_record("-r", "200", "-o", path, "--", *python.command, program("deep"), kind, depth, "1", prefix=prefix)
    figures = whole(path)
    assert figures["failed"] <= 0.05 * figures["samples"], figures["failures"]
    assert depths(path, kind).get(depth + 1, 0) > 0.5 * figures["samples"]


@pytest.mark.pythons("oldest and newest")
def test_a_very_deep_stack_is_read_at_first_sight(python, program, tmp_path):
    """Though it takes hundreds of pieces of memory, and each call in it is new."""
    prefix = as_root() if python.root else ()
    path = tmp_path / "d.pyreel"
    command = (*python.command, program("deep"), "calls", 30000, "3")
    run_record("-r", "50", "--max-depth", "50000", "-o", path, "--", *command, prefix=prefix)
    assert depths(path, "calls").get(30001, 0) > 10, whole(path)["failures"]


def test_a_stack_that_is_deeper_than_can_be_read_is_said_to_be(python3, program, tmp_path):
    path = tmp_path / "d.pyreel"
    ended = run_record(*LIVE, "-r", "50", "-o", path, "--", python3, program("deep"), "wide_calls", "20000", "3")
    assert ended.code == 0, ended
    figures = whole(path)
    assert figures["failures"]["stack too deep"] > 20, figures["failures"]
    assert figures["figures"]["reads"] < 1500 * figures["ticks"]


@pytest.mark.sanitized("more frames than one call reads")
def test_more_frames_than_one_call_can_read_are_failures_not_faults(python3, program, tmp_path):
    path = tmp_path / "d.pyreel"
    ended = run_record(*LIVE, "-r", "100", "-o", path, "--", python3, program("deep"), "both", "495", "2")
    assert ended.code == 0, ended
    figures = whole(path)
    assert figures["failures"].keys() <= {"stack too deep", "changed while read"}
    assert figures["samples"] + figures["failed"] > 50


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
def test_a_closed_standard_file_does_not_become_the_recording(python3, program, tmp_path, closed):
    path = tmp_path / "c.pyreel"
    command = f'"$@" {closed}>&-'
    subprocess.run(["sh", "-c", command, "sh", RECORD, "-v", "-o", path, "--", python3, program("spin"), "0.3"],
                   env=ENVIRONMENT, check=False, capture_output=True, timeout=60)
    assert whole(path)["samples"] > 10


@pytest.fixture(scope="module")
def recording_file(python3, program, tmp_path_factory):
    path = tmp_path_factory.mktemp("hardship") / "r.pyreel"
    assert run_record("-o", path, "--", python3, program("spin"), "0.3").code == 0
    return path


def test_a_link_stays_a_link(recording_file, tmp_path):
    real, link = tmp_path / "real.txt", tmp_path / "link.txt"
    real.write_text("old stack 1\n")
    link.symlink_to("real.txt")
    assert convert("collapsed", recording_file, "-o", link).code == 0
    assert link.is_symlink()
    assert "spin" in real.read_text()


def test_a_converter_that_is_interrupted_leaves_nothing(recording_file, tmp_path):
    fifo = tmp_path / "in"
    os.mkfifo(fifo)
    converter = subprocess.Popen([CONVERTERS["pprof"], "-o", tmp_path / "out.pb.gz", fifo], env=ENVIRONMENT)
    with open(fifo, "wb") as feed:
        feed.write(recording_file.read_bytes()[:200])
        feed.flush()
        time.sleep(0.2)
        converter.send_signal(signal.SIGINT)
        assert converter.wait(timeout=60) == -signal.SIGINT
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
    converter = subprocess.Popen([CONVERTERS["collapsed"], "-o", out, into], env=ENVIRONMENT)
    with open(into, "wb") as feed:
        feed.write(recording_file.read_bytes())
    assert "spin" in out.read_text()
    assert converter.wait(timeout=60) == 0


# ---- processes ----

def test_a_zombie_is_a_program_that_ended(tmp_path, python3):
    """Attached to a child whose parent never asks for its end."""
    parent = subprocess.Popen([python3, "-c", "import subprocess, sys, time\n"
                               "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(1)'])\n"
                               "print(child.pid, flush=True)\n"
                               "time.sleep(30)"], stdout=subprocess.PIPE, env=ENVIRONMENT)
    try:
        child = int(parent.stdout.readline())
        ended = run_record("-p", child, "-o", tmp_path / "z.pyreel")
        assert ended.code == 0, ended
        assert parent.poll() is None
        assert whole(tmp_path / "z.pyreel")["ended"] == "the target ended"
    finally:
        parent.kill()
        parent.wait()


def test_a_program_that_forbids_to_be_read_is_not_one_that_ended(python3, tmp_path):
    """Without privileges: a process that is not dumpable any more may not be read."""
    if os.geteuid() == 0:
        unprivileged = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
    else:
        unprivileged = []
    folder = tmp_path
    os.chmod(folder, 0o777)
    code = ("import ctypes, time; time.sleep(0.5); ctypes.CDLL(None).prctl(4, 0, 0, 0, 0); time.sleep(0.7)")
    readable = "/usr/bin/python3" if os.path.exists("/usr/bin/python3") else python3
    copy = folder / "pyreel-record"
    copy.write_bytes(open(RECORD, "rb").read())
    copy.chmod(0o755)
    for above in folder.parents:
        if above.stat().st_uid == os.geteuid() and above != above.parent and not above.stat().st_mode & 0o001:
            above.chmod(above.stat().st_mode | 0o011)
    ended = run(*unprivileged, copy, "-o", folder / "p.pyreel", "--", readable, "-c", code)
    assert ended.code == 125, ended
    assert "not permitted to read process" in ended.messages


def test_a_short_duration_is_no_duration_at_all_or_refused():
    ended = run_record("-d", "1e-10", "--", "true")
    assert ended.code == 2, ended
    assert "--duration" in ended.messages
