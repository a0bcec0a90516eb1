# SPDX-License-Identifier: MIT
"""Whatever ends the recorder: a file that opens and holds what it should, a message, and an exit code that tells."""

import os
import random
import resource
import signal
import time

import pytest

import environment
import plain_stream
from environment import CONVERTERS, RECORD
from recording import UNPROVED, collapsed, convert, info, run, run_record, wait_until, whole

ROUNDS = 6 * environment.SOAK
KILLS_A_ROUND = 4  # at once
NAPPING = "import os, time\nprint('ready', os.getpid(), flush=True)\nwhile True:\n    time.sleep(0.002)"


# ---- SIGKILL ----

def hold_killed(path):
    """What a recorder that was killed leaves: all blocks that it wrote."""
    found = info(path)
    assert not found["complete"] and ("killed" in found["ended"] or "cut" in found["ended"]), found["ended"]
    damage = found["damage"]
    assert damage["blocks"] == 0 and (damage["bytes"] == 0 or damage["cut"]), damage
    assert sum(int(line.rpartition(" ")[2]) for line in collapsed(path).splitlines()) == found["samples"]
    return found


@pytest.mark.sanitized("recordings that end anywhere")
@pytest.mark.soak
def test_sigkill_at_any_moment_leaves_what_was_written(start, start_recorder, python3, tmp_path):
    """At a random moment before the first block, behind it, and behind the next one; a block has a second."""
    pid = start(python3, "-c", NAPPING).pid
    seed = random.randrange(1 << 32)
    moments = random.Random(seed)
    for number in range(ROUNDS):
        paths = [tmp_path / f"{number}-{i}.pyreel" for i in range(KILLS_A_ROUND)]
        recorders = [start_recorder("-p", pid, "-r", 200, "-q", "-o", path) for path in paths]
        least = (0, 1, 150)[number % 3]  # samples: the first block has up to 200
        for recorder, path in zip(recorders, paths):
            if least:
                recorder.wait_for_samples(path, least)
        for recorder, path in zip(recorders, paths):
            time.sleep(moments.uniform(0, 0.3))
            recorder.signal(signal.SIGKILL)
            recorder.exit_code()
            if least or path.exists() and path.stat().st_size > 0:
                assert hold_killed(path)["samples"] >= least, (seed, path)


# ---- no more room ----

CUT = "the file could not be written any further"
NO_ROOM = "it has no end (was the recorder killed?)"


def check_cut(path, ended, cause, ends=(CUT,)):
    """The recording is cut, at the end of a block, and says so."""
    assert ended.code == 125, ended
    assert f"pyreel-record: cannot write the recording: {cause}" in ended.messages
    found = info(path)
    assert found["complete"] is False
    assert found["ended"] in ends
    assert found["damage"]["bytes"] == found["damage"]["blocks"] == 0
    assert 0 < found["samples"]
    return found


@pytest.fixture
def churning(start, python3, program):
    """A program that gives much to write, to attach to."""
    return start(python3, program("churn"), "told")


@pytest.mark.sanitized("none: writing fails in the middle of a block")
def test_a_full_disk(churning, tmp_path):
    """A file system of a few pages, which nobody but the recorder sees."""
    environment.need_command("unshare")
    disk, path = tmp_path / "disk", tmp_path / "full.pyreel"
    disk.mkdir()
    script = 'mount -t tmpfs -o size=40k none "$0" && { "$@"; code=$?; cp "$0/r.pyreel" "$0/../full.pyreel"; exit $code; }'
    ended = run(*environment.need_root(), "unshare", "-m", "sh", "-c", script, disk, RECORD, *UNPROVED, "-r", "10k", "-p",
                churning.pid, "-o", disk / "r.pyreel", "--compression", "none")
    # The last block may end so near the end of the last page that the record of the end has no room.
    found = check_cut(path, ended, "No space left on device", (CUT, NO_ROOM))
    assert churning.running
    warning = convert("collapsed", path)
    assert warning.code == 0 and warning.messages
    if found["ended"] == CUT:
        assert "samples are lost" in warning.messages and "could not be written any further" in warning.messages


QUOTA = """truncate -s 128M "$0.image" && mkfs.btrfs -q -f -M "$0.image" >&2 && mount -o loop "$0.image" "$0" &&
btrfs quota enable "$0" && btrfs qgroup limit 256K 0/5 "$0" && sync || exit 99
"$@"; code=$?; cp "$0/r.pyreel" "$0/../full.pyreel"; exit $code"""


def test_a_full_quota(churning, tmp_path):
    """A file system with a quota that holds for root, too, and room beyond it. This one, once over its quota, refuses to
    shorten a file, too: what was written of the last block stays, and all before it is good. tests/unit/formats/stream/test_stream_full.c has
    a quota that ends as a full disk does."""
    for command in ("unshare", "mkfs.btrfs", "btrfs"):
        environment.need_command(command)
    disk, path = tmp_path / "disk", tmp_path / "full.pyreel"
    disk.mkdir()
    ended = run(*environment.need_root(), "unshare", "-m", "sh", "-c", QUOTA, disk, RECORD, *UNPROVED, "-r", "20k", "--opcodes",
                "-p", churning.pid, "-o", disk / "r.pyreel", "--compression", "none")
    if ended.code == 99:
        environment.missing(f"no loop device with a quota can be had here: {ended.messages.strip()[-200:]}")
    assert ended.code == 125, ended
    assert "pyreel-record: cannot write the recording: Disk quota exceeded" in ended.messages
    assert churning.running
    found, data = info(path), path.read_bytes()
    assert found["complete"] is False
    assert found["samples"] > 0
    assert found["damage"]["blocks"] == 0
    torn = found["damage"]["bytes"]
    assert plain_stream.whole_size(data) == len(data) - torn
    warning = convert("collapsed", path).messages
    assert "is not complete" in warning
    if torn: # this file system leaves the last block's beginning, zeros in its place, or both
        assert "it is cut off" in warning or "is damaged (first problem: " in warning
        assert "samples are lost" in warning


@pytest.mark.sanitized("none: writing fails in the middle of a block")
def test_the_limit_for_files(churning, tmp_path):
    path = tmp_path / "limited.pyreel"
    ended = run_record("-r", "10k", "-p", churning.pid, "-o", path,
                       preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (20000, resource.RLIM_INFINITY)))
    check_cut(path, ended, "File too large", (CUT, NO_ROOM))  # as on a full disk, below
    assert churning.running


@pytest.mark.short
def test_a_device_that_takes_nothing(python3):
    ended = run_record("-o", "/dev/full", "--", python3, "-c", "print('to the end')")
    assert (ended.code, ended.text) == (125, "to the end\n")
    assert "cannot write the recording: No space left on device" in ended.messages


def test_a_pipe_that_nobody_reads(start_recorder, python3, program):
    """The command runs to its end."""
    recorder = start_recorder("-o", "-", "--", python3, program("dies"), 3, "told")
    assert recorder.process.stdout.read(8) == b"\x89pyreel\n"
    recorder.process.stdout.close()
    recorder.wait_for_message("cannot write the recording: Broken pipe")
    assert recorder.running
    recorder.tell()
    assert recorder.exit_code() == 125


def test_a_file_that_is_removed(start_recorder, spinning, tmp_path):
    path = tmp_path / "gone.pyreel"
    recorder = start_recorder("-p", spinning.pid, "-o", path)
    wait_until(path.exists, "the file")
    path.unlink()
    ended = recorder.wait()  # by itself
    assert ended.code == 125, ended
    assert f"{path} was removed while it was being written: the recording is lost" in ended.messages
    assert spinning.running


def test_a_file_that_is_moved_is_not_lost(start_recorder, spinning, tmp_path):
    here, there = tmp_path / "here.pyreel", tmp_path / "there.pyreel"
    recorder = start_recorder("-p", spinning.pid, "-o", here)
    wait_until(here.exists, "the file")
    here.rename(there)
    recorder.wait_for_samples(there)
    recorder.signal(signal.SIGINT)
    assert recorder.wait().code == 0
    assert whole(there)["ended"] == "stopped by a signal"


# ---- --max-size, -d and --kill ----

@pytest.mark.short
@pytest.mark.pythons("oldest and newest")
def test_the_file_stays_below_its_largest_size(python, program, start_recorder, tmp_path):
    """The command runs on, and its exit code is that of the recorder."""
    size, path = 16000, tmp_path / "s.pyreel"
    recorder = start_recorder("-r", "10k", "--max-size", "16k", "--compression", "none", "-o", path, "--", *python.command,
                              program("churn"), "told", prefix=environment.as_root() if python.root else ())
    recorder.wait_for(path, lambda found: found["complete"], "the end of the recording")
    assert recorder.running
    ended = recorder.wait()
    assert ended.code == 0 and ended.text.splitlines()[-1].isdigit(), ended
    found = whole(path)
    assert found["ended"] == "the file was as large as it may be"
    assert size * 0.6 < path.stat().st_size <= size
    assert found["samples"] > 0


@pytest.mark.short
@pytest.mark.pythons("oldest and newest")
def test_a_command_outlives_the_duration(python, program, start_recorder, tmp_path):
    path = tmp_path / "d.pyreel"
    for seconds in (0.3, 3, 30):  # Python has to start in them, or there is no file
        recorder = start_recorder("-d", seconds, "-o", path, "--", *python.command, program("dies"), 7, "told",
                                  prefix=environment.as_root() if python.root else ())
        recorder.wait_for_message("the duration was over")
        assert recorder.running
        assert recorder.wait().code == 7
        if path.exists():
            break
    found = whole(path)
    assert found["ended"] == "the duration was over" and found["duration_s"] >= seconds


@pytest.mark.sanitized("none: writing fails in the middle of a block")
@pytest.mark.parametrize("options, why", [(["-d", "0.3"], "the duration was over"), (["--max-size", "16k"], "the file was as large as it may be")])
def test_kill_ends_the_command_with_the_recording(start_recorder, python3, program, tmp_path, options, why):
    path = tmp_path / "k.pyreel"
    recorder = start_recorder("-r", "10k", *options, "--kill", "--compression", "none", "-o", path, "--", python3, program("churn"), "told")
    assert recorder.exit_code() == 143  # though nobody has told the program to end
    assert why in recorder.wait().messages
    if why != "the duration was over" or path.exists():  # in which Python has to start, or there is no file
        assert whole(path)["ended"] == why


# ---- what is there already ----

@pytest.mark.short
def test_only_recordings_are_replaced(spinning, tmp_path):
    path = tmp_path / "r.pyreel"
    for seconds in (0.2, 0.1):
        assert run_record("-p", spinning.pid, "-d", seconds, "-o", path).code == 0
        assert f"-d {seconds} " in whole(path)["recorder_command"]
    path.write_text("the only copy of something")
    ended = run_record("-p", spinning.pid, "-d", 0.2, "-o", path)
    assert ended.code == 125
    assert "it exists and is not a recording; name another file, or replace it with --force" in ended.messages
    assert path.read_text() == "the only copy of something"
    assert run_record("-p", spinning.pid, "-d", 0.2, "--force", "-o", path).code == 0
    assert whole(path)["ended"] == "the duration was over"


def test_a_read_only_recording_is_not_replaced(spinning, tmp_path):
    path = tmp_path / "r.pyreel"
    assert run_record("-p", spinning.pid, "-d", 0.2, "-o", path).code == 0
    path.chmod(0o444)
    before = path.read_bytes()
    ended = run_record("-p", spinning.pid, "-d", 0.2, "-o", path)
    assert ended.code == 125 and path.read_bytes() == before
    assert "it is read-only; name another file, or replace it with --force" in ended.messages
    assert run_record("-p", spinning.pid, "-d", 0.2, "--force", "-o", path).code == 0
    assert path.read_bytes() != before


def test_a_command_is_not_started_when_there_is_nowhere_to_record_to(python3, tmp_path):
    path = tmp_path / "r.pyreel"
    path.write_text("something else")
    ended = run_record("-o", path, "--", python3, "-c", "print('ran')")
    assert (ended.code, ended.text) == (125, "")


def test_a_link_in_a_shared_folder_is_not_followed(python3, tmp_path):
    folder, victim = tmp_path / "shared", tmp_path / "victim"
    folder.mkdir()
    folder.chmod(0o1777)
    victim.write_bytes(b"")
    (folder / "r.pyreel").symlink_to(victim)
    for options in ([], ["--force"]):
        ended = run_record("-o", folder / "r.pyreel", *options, "--", python3, "-c", "print('ran')")
        assert (ended.code, ended.text) == (125, "")
        assert "it is a symbolic link, in a folder that everyone can write to" in ended.messages
    assert victim.read_bytes() == b""


def link_of_another(folder, victim):
    """A link in a folder where everybody may make one, and somebody else did."""
    root = environment.need_root()
    folder.mkdir()
    folder.chmod(0o1777)
    link = folder / "out"
    link.symlink_to(victim)
    run(*root, "chown", "-h", str(environment.NOBODY if os.geteuid() == 0 else 0), link)
    return link


@pytest.mark.parametrize("name", CONVERTERS)
def test_a_link_of_another_user_is_not_followed_by_converters(tmp_path, name):
    recording = os.path.join(environment.PROJECT, "tests", "streams", "plain-3.11", "recording.pyreel")
    victim = tmp_path / "victim"
    victim.write_bytes(b"precious")
    ended = convert(name, recording, "-o", link_of_another(tmp_path / "shared", victim))
    assert (ended.code, ended.text) == (1, ""), ended
    assert "it is a symbolic link of another user, in a folder that everyone can write to" in ended.messages
    assert victim.read_bytes() == b"precious"
    (tmp_path / "own").symlink_to(victim)
    assert convert(name, recording, "--force", "-o", tmp_path / "own").code == 0
    assert (tmp_path / "own").is_symlink() and victim.read_bytes() != b"precious"


def test_a_file_of_another_user_in_a_shared_folder_is_not_used(python3, tmp_path):
    root = environment.need_root()
    folder = tmp_path / "shared"
    folder.mkdir()
    folder.chmod(0o1777)
    path = folder / "r.pyreel"
    path.write_bytes(b"")
    run(*root, "chown", str(environment.NOBODY if os.geteuid() == 0 else 0), path)
    ended = run_record("-o", path, "--force", "--", python3, "-c", "print('ran')")
    assert (ended.code, ended.text) == (125, "")


def test_two_recorders_do_not_share_a_file(start_recorder, spinning, tmp_path):
    path = tmp_path / "one.pyreel"
    first = start_recorder("-p", spinning.pid, "-o", path)
    wait_until(lambda: path.exists() and path.stat().st_size > 0, "the file")
    ended = run_record("-p", spinning.pid, "-d", 0.2, "-o", path)
    assert ended.code == 125
    assert f"cannot write {path}: another pyreel-record is writing to it" in ended.messages
    first.signal(signal.SIGINT)
    assert first.wait().code == 0
    assert whole(path)["ended"] == "stopped by a signal"
