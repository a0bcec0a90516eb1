# SPDX-License-Identifier: MIT
"""Whatever ends the recorder: a file that opens and holds what it should, a message, and an exit code that tells."""

import concurrent.futures
import os
import random
import resource
import subprocess
import time

import pytest

import environment
import plain_stream
from environment import CONVERTERS, RECORD
from recording import ENVIRONMENT, LIVE, collapsed, convert, info, run, run_record, wait_until, waited, whole

KILLS = 40 * environment.SOAK
AT_ONCE = 8
LONGEST = 2.3  # seconds: past the second and third block
KEPT = 1.0  # a second may be lost, and ...
LATE = 0.3  # ... writing takes a while, besides the time in which other programs had the processors
STARTED = 1.0  # by then the recorder has begun
NAPPING = "import os, time\nprint('ready', os.getpid(), flush=True)\nwhile True:\n    time.sleep(0.002)"


# ---- SIGKILL ----

def kill_at(path, pid, seconds):
    """Ends a recorder after so long; what is wrong with what it leaves, or None; and whether it left anything."""
    command = [RECORD, "-p", str(pid), "-r", "200", "-q", "-o", str(path)]
    recorder = subprocess.Popen(command, stdin=subprocess.DEVNULL, env=ENVIRONMENT)
    started = time.time()
    time.sleep(seconds)
    killed, late = time.time(), LATE + waited(recorder.pid)
    recorder.kill()
    recorder.wait()
    if not path.exists() or path.stat().st_size == 0:
        return (None if killed - started < STARTED + late else f"nothing after {seconds} s"), False
    found = info(path)
    lines = collapsed(path).splitlines()
    if found["complete"] or "killed" not in found["ended"] and "cut" not in found["ended"]:
        return f"{seconds}: {found['ended']}", True
    if found["damage"]["blocks"] or found["damage"]["bytes"] and not found["damage"]["cut"]:
        return f"{seconds}: {found['damage']}", True
    if sum(int(line.rpartition(" ")[2]) for line in lines) != found["samples"]:
        return f"{seconds}: {found['samples']} samples, {lines}", True
    lost = killed - (found["start_unix_ns"] / 1e9 + found["duration_s"])
    if lost > KEPT + late:
        return f"{seconds}: the last {lost:.3f} s are lost", True
    return None, True


@pytest.mark.sanitized("recordings that end anywhere")
@pytest.mark.soak
def test_sigkill_at_any_moment_costs_a_second_at_most(start, python3, tmp_path):
    pid = start(python3, "-c", NAPPING).pid
    seed = random.randrange(1 << 32)
    moments = random.Random(seed)
    work = [(tmp_path / f"{i}.pyreel", pid, moments.uniform(0, LONGEST)) for i in range(KILLS)]
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        results = list(pool.map(lambda one: kill_at(*one), work))
    problems = [problem for problem, _ in results if problem]
    assert not problems, f"seed {seed}: {len(problems)} problems: {problems[:10]}"
    assert sum(left for _, left in results) > KILLS / 2
    late = [path for path, _, seconds in work if seconds > 1.8]
    assert sum(info(path)["samples"] > 0 for path in late) >= len(late) / 4


def test_what_is_killed_says_so_to_strict(start_recorder, spinning, tmp_path):
    path = tmp_path / "k.pyreel"
    recorder = start_recorder("-p", spinning.pid, "-o", path)
    wait_until(lambda: path.exists() and path.stat().st_size > 1000, "a block")
    recorder.process.kill()
    recorder.wait()
    ended = convert("collapsed", path, "--strict")
    assert ended.code == 1
    assert "is not complete: it has no end (was the recorder killed?)" in ended.messages


# ---- no more room ----

def churning(python3, program, seconds):
    """A program that gives much to write."""
    return ["--", python3, program("churn"), seconds]


def check_cut(path, ended, cause):
    """The recording is cut, at the end of a block, and says so."""
    assert ended.code == 125, ended
    assert f"pyreel-record: cannot write the recording: {cause}" in ended.messages
    found = info(path)
    assert found["complete"] is False
    assert found["damage"]["bytes"] == found["damage"]["blocks"] == 0
    assert 0 < found["samples"]
    return found


@pytest.mark.sanitized("none: writing fails in the middle of a block")
def test_a_full_disk(python3, program, tmp_path):
    """A file system of a few pages, which nobody but the recorder sees."""
    environment.need_command("unshare")
    disk, path = tmp_path / "disk", tmp_path / "full.pyreel"
    disk.mkdir()
    script = 'mount -t tmpfs -o size=40k none "$0" && { "$@"; code=$?; cp "$0/r.pyreel" "$0/../full.pyreel"; exit $code; }'
    ended = run(*environment.need_root(), "unshare", "-m", "sh", "-c", script, disk, RECORD, *LIVE, "-r", "10k", "-o",
                disk / "r.pyreel", "--compression", "none", *churning(python3, program, 6))
    found = check_cut(path, ended, "No space left on device")
    assert found["ended"] == "the file could not be written any further"
    assert ended.text.strip().isdigit(), "the program did not run to its end"
    warning = convert("collapsed", path)
    assert warning.code == 0
    assert "samples are lost" in warning.messages and "could not be written any further" in warning.messages


QUOTA = """truncate -s 128M "$0.image" && mkfs.btrfs -q -f -M "$0.image" >&2 && mount -o loop "$0.image" "$0" &&
btrfs quota enable "$0" && btrfs qgroup limit 64K 0/5 "$0" && sync || exit 99
"$@"; code=$?; cp "$0/r.pyreel" "$0/../full.pyreel"; exit $code"""


def test_a_full_quota(python3, program, tmp_path):
    """A file system with a quota that holds for root, too, and room beyond it. This one, once over its quota, refuses to
    shorten a file, too: what was written of the last block stays, and all before it is good. tests/unit/formats/stream/test_stream_full.c has
    a quota that ends as a full disk does."""
    for command in ("unshare", "mkfs.btrfs", "btrfs"):
        environment.need_command(command)
    disk, path = tmp_path / "disk", tmp_path / "full.pyreel"
    disk.mkdir()
    ended = run(*environment.need_root(), "unshare", "-m", "sh", "-c", QUOTA, disk, RECORD, *LIVE, "-r", "20k", "--opcodes",
                "-o", disk / "r.pyreel", "--compression", "none", *churning(python3, program, 6))
    if ended.code == 99:
        environment.missing(f"no loop device with a quota can be had here: {ended.messages.strip()[-200:]}")
    assert ended.code == 125, ended
    assert "pyreel-record: cannot write the recording: Disk quota exceeded" in ended.messages
    assert ended.text.strip().isdigit(), "the program did not run to its end"
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
def test_the_limit_for_files(start, python3, program, tmp_path):
    target = start(python3, "-c", "import runpy, os, sys\nprint('ready', os.getpid(), flush=True)\n"
                   "sys.argv[1:] = ['60']\nrunpy.run_path(%r)" % program("churn"))
    path = tmp_path / "limited.pyreel"
    ended = run_record("-r", "10k", "-p", target.pid, "-o", path,
                       preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (20000, resource.RLIM_INFINITY)))
    found = check_cut(path, ended, "File too large")
    assert found["ended"] == "the file could not be written any further"
    assert target.running


def test_a_device_that_takes_nothing(python3):
    ended = run_record("-o", "/dev/full", "--", python3, "-c", "print('to the end')")
    assert (ended.code, ended.text) == (125, "to the end\n")
    assert "cannot write the recording: No space left on device" in ended.messages


def test_a_pipe_that_nobody_reads(start_recorder, python3):
    code = "import sys, time\ntime.sleep(2.5)\nprint('to the end', file=sys.stderr)"
    recorder = start_recorder("-o", "-", "--", python3, "-c", code)
    assert recorder.process.stdout.read(8) == b"\x89pyreel\n"
    recorder.process.stdout.close()
    errors = recorder.process.stderr.read().decode()
    assert recorder.process.wait(timeout=60) == 125
    assert "cannot write the recording: Broken pipe" in errors
    assert "to the end" in errors


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
    path = tmp_path / "here.pyreel"
    recorder = start_recorder("-p", spinning.pid, "-d", 1.5, "-o", path)
    wait_until(path.exists, "the file")
    path.rename(tmp_path / "there.pyreel")
    assert recorder.wait().code == 0
    assert whole(tmp_path / "there.pyreel")["ended"] == "the duration was over"


# ---- --max-size, -d and --kill ----

@pytest.mark.parametrize("size", [16000, 24000])
def test_the_file_stays_below_its_largest_size(python3, program, tmp_path, size):
    path = tmp_path / "s.pyreel"
    ended = run_record("-r", "10k", "--max-size", f"{size / 1000}k", "--compression", "none", "-o", path,
                       *churning(python3, program, 3))
    assert ended.code == 0, ended
    assert ended.text.strip().isdigit(), "the program did not run to its end"
    found = whole(path)
    assert found["ended"] == "the file was as large as it may be"
    assert size * 0.6 < path.stat().st_size <= size
    assert found["duration_s"] < 2.9
    assert found["figures"]["samples"] > 0


@pytest.mark.sanitized("none: writing fails in the middle of a block")
@pytest.mark.parametrize("options", [["-d", "0.3"], ["--max-size", "16k"]], ids=" ".join)
def test_kill_ends_the_command_with_the_recording(python3, program, tmp_path, options):
    path = tmp_path / "k.pyreel"
    ended = run_record("-r", "10k", *options, "--kill", "--compression", "none", "-o", path,
                       *churning(python3, program, 50))
    assert ended.code == 143, ended
    assert not ended.text, "the program ran to its end"
    assert whole(path)["samples"] > 0


def test_a_command_outlives_the_duration(python3, tmp_path):
    path = tmp_path / "d.pyreel"
    ended = run_record("-d", "0.3", "-o", path, "--", python3, "-c", "import time\ntime.sleep(1)\nprint('to the end')\nexit(7)")
    assert (ended.code, ended.text) == (7, "to the end\n")
    found = whole(path)
    assert found["duration_s"] < 0.9
    assert found["ended"] == "the duration was over"


# ---- what is there already ----


def test_only_recordings_are_replaced(spinning, tmp_path):
    path = tmp_path / "r.pyreel"
    for seconds in (0.4, 0.2):
        assert run_record("-p", spinning.pid, "-d", seconds, "-o", path).code == 0
        assert f"-d {seconds} " in whole(path)["recorder_command"]
    path.write_text("the only copy of something")
    ended = run_record("-p", spinning.pid, "-d", 0.2, "-o", path)
    assert ended.code == 125
    assert "it exists and is not a recording; name another file, or replace it with --force" in ended.messages
    assert path.read_text() == "the only copy of something"
    assert run_record("-p", spinning.pid, "-d", 0.2, "--force", "-o", path).code == 0
    assert whole(path)["samples"] > 0


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
    first = start_recorder("-p", spinning.pid, "-d", 1.5, "-o", path)
    wait_until(lambda: path.exists() and path.stat().st_size > 0, "the file")
    ended = run_record("-p", spinning.pid, "-d", 0.2, "-o", path)
    assert ended.code == 125
    assert f"cannot write {path}: another pyreel-record is writing to it" in ended.messages
    assert first.wait().code == 0
    assert whole(path)["ended"] == "the duration was over"
