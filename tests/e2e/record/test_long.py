# SPDX-License-Identifier: MIT
"""Recordings that go on from file to file, the flight recorder, and pauses."""

import glob
import json
import os
import signal
import time

import pytest

import environment
from environment import CONVERTERS, RECORD
from recording import convert, gecko, info, pprof, run, run_record, succeed, wait_until, whole


def parts(stem):
    return sorted(glob.glob(f"{stem}-*.pyreel"))


def joined(paths, *options):
    ended = convert("info", paths[0], "--json", *paths[1:], *options)
    return json.loads(ended.output), ended.messages


def counted(*paths):
    """Samples by stack of these files, as one recording."""
    lines = succeed(CONVERTERS["collapsed"], "--strict", *paths).text.splitlines()
    return {line.rpartition(" ")[0]: int(line.rpartition(" ")[2]) for line in lines}


def rotated(python, program, stem, *options, every="300ms", name="pool", arguments=("2",)):
    ended = run_record("--rotate", every, "-o", stem, *options, *python.command, program(name), *arguments)
    assert ended.code == 0, ended
    assert len(parts(stem)) >= 3, ended
    return parts(stem), ended


# ---- files ----

@pytest.mark.pythons("oldest and newest")
def test_files_are_one_recording(python, program, tmp_path):
    paths, ended = rotated(python, program, tmp_path / "app", name="spin", arguments=("1.5",))
    assert f"{paths[0]} to {paths[-1]}" in ended.messages
    alone = [info(path) for path in paths]
    for at, one in enumerate(alone):
        assert one["complete"] and one["samples"] > 0 and len(one["processes"]) == 1, one
        assert one["ended"] == ("it goes on in the next file" if at < len(paths) - 1 else "the target ended")
        assert one["exact_percent"] is not None
        convert("collapsed", paths[at], "--strict")
    all_of_it, messages = joined(paths)
    assert messages == "" and all_of_it["complete"] and all_of_it["ended"] == "the target ended"
    assert all(one["files"] == 1 for one in alone) and all_of_it["files"] == len(paths)
    assert all_of_it["files_missing"] == all_of_it["files_before"] == 0
    assert f"files       {len(paths)}\n" in succeed(CONVERTERS["info"], *paths).text
    assert all_of_it["samples"] == sum(one["samples"] for one in alone)
    assert all_of_it["ticks"] == sum(one["ticks"] for one in alone)
    assert all_of_it["missed"] == sum(one["missed"] for one in alone)
    assert len(all_of_it["processes"]) == 1 and len(all_of_it["threads"]) == 1
    # No gap: the thread has the wall-clock time that it has in the files, and what lies between them.
    thread, alone_s = all_of_it["threads"][0], sum(one["threads"][0]["wall_s"] for one in alone)
    assert thread["samples"] == all_of_it["samples"]
    assert alone_s <= thread["wall_s"] + 0.01 and thread["wall_s"] <= all_of_it["duration_s"], (thread, alone_s)
    # The order of the names on the command line does not matter.
    assert counted(*reversed(paths)) == counted(*paths)
    sums = {}
    for path in paths:
        for stack, count in counted(path).items():
            sums[stack] = sums.get(stack, 0) + count
    assert sums == counted(*paths)


@pytest.mark.parametrize("options", [(), ("-f",)], ids=["", "with children"])
def test_without_python_there_is_no_file(tmp_path, options):
    ended = run_record("--rotate", "100ms", *options, "-o", tmp_path / "app", "--", "sleep", "1")
    assert ended.code == 0 and "there is no recording" in ended.messages
    assert parts(tmp_path / "app") == []


@pytest.mark.pythons("newest")
def test_every_output_takes_files_as_one(python, program, tmp_path):
    paths, _ = rotated(python, program, tmp_path / "app", name="spin", arguments=("1.2",))
    outputs = {"gecko": tmp_path / "x.json.gz", "pprof": tmp_path / "x.pb.gz", "speedscope": tmp_path / "x.speedscope.json",
               "flame": tmp_path / "x.html", "tachyon": tmp_path / "x.bin"}
    for name, output in outputs.items():
        succeed(CONVERTERS[name], "-o", output, "--strict", *paths)
    report = json.loads(succeed(CONVERTERS["report"], "--json", *paths).text)
    assert report
    later = counted("--from", "300ms", *paths)
    assert 0 < sum(later.values()) < sum(counted(*paths).values())


@pytest.mark.pythons("newest")
def test_a_missing_file_is_told(python, program, tmp_path):
    paths, _ = rotated(python, program, tmp_path / "app", name="spin", arguments=("1.5",))
    middle, last = paths[1], paths[-1]
    os.rename(middle, tmp_path / "middle")
    ended = convert("collapsed", paths[0], *paths[2:])
    assert "1 part is missing" in ended.messages, ended
    with_a_gap, _ = joined([paths[0], *paths[2:]])
    assert with_a_gap["files"] == len(paths) - 1 and with_a_gap["files_missing"] == 1, with_a_gap
    # The time of the file that is missing is no time of any sample.
    lost_s = with_a_gap["duration_s"] - with_a_gap["threads"][0]["wall_s"]
    assert lost_s > 0.2, with_a_gap
    os.rename(tmp_path / "middle", middle)
    os.unlink(last)
    all_of_it, messages = joined(paths[:-1])
    assert not all_of_it["complete"] and "the next part is missing" in messages
    # The oldest files may be gone on purpose.
    ended = convert("collapsed", paths[1], *paths[2:-1])
    assert "of the recording that begins with" not in ended.messages
    twice = tmp_path / "twice.pyreel"
    twice.write_bytes(open(paths[0], "rb").read())
    refused = run(CONVERTERS["collapsed"], paths[0], twice)
    assert refused.code == 2 and "are the same part of a recording" in refused.messages, refused


@pytest.mark.pythons("newest")
def test_only_the_newest_files_stay(python, program, tmp_path):
    other = tmp_path / "app-0001.pyreel"
    other.write_bytes(b"of somebody else")
    ended = run_record("--rotate", "200ms", "--keep", "2", "-o", tmp_path / "app.pyreel", *python.command, program("spin"), "1.5")
    assert ended.code == 0, ended
    assert other.read_bytes() == b"of somebody else"
    kept = parts(tmp_path / "app")[1:]
    assert len(kept) == 2, kept
    all_of_it, messages = joined(kept)
    assert messages == "" and all_of_it["complete"] and all_of_it["files"] == 2 and all_of_it["files_before"] > 0


@pytest.mark.pythons("newest")
def test_a_size_is_kept(python, program, tmp_path):
    # A file is at least 250 ms old, whatever its size: 40 kB is more than a recorder writes in that time at 5 kHz.
    ended = run_record("--rotate", "40k", "-r", "5khz", "--compression", "none", "-o", tmp_path / "app", *python.command,
                       program("mix"), "3")
    assert ended.code == 0, ended
    paths = parts(tmp_path / "app")
    assert len(paths) >= 2, ended
    assert all(os.path.getsize(path) <= 40_000 for path in paths), [os.path.getsize(path) for path in paths]
    assert joined(paths)[0]["complete"]


@pytest.mark.pythons("newest")
def test_tasks_and_threads_go_on(python, program, tmp_path):
    paths, _ = rotated(python, program, tmp_path / "app", "--async", "all", name="many_tasks", arguments=("50", "2"))
    all_of_it, messages = joined(paths)
    assert messages == "" and all_of_it["complete"]
    numbers = [(thread["tid"], thread["name"]) for thread in all_of_it["threads"]]
    assert len(numbers) == len(set(numbers)), numbers


@pytest.mark.pythons("newest")
def test_the_recording_goes_on_where_no_new_file_can_be_made(python, program, start_recorder, tmp_path):
    folder = tmp_path / "there"
    folder.mkdir()
    recorder = start_recorder("--rotate", "300ms", "-o", folder / "app", *python.command, program("spin"), "3")
    wait_until(lambda: parts(folder / "app"), "the first file")
    os.rename(folder, tmp_path / "elsewhere")
    ended = recorder.wait()
    assert ended.code == 0 and "goes on in" in ended.messages, ended
    assert joined(parts(tmp_path / "elsewhere" / "app"))[0]["complete"]


FULL = """
mount -t tmpfs -o size=48k none "$1" && cd "$1" || exit 99
shift
"$@"
code=$?
cp * ..
exit $code
"""


@pytest.mark.pythons("newest")
def test_a_full_disk_ends_the_recording(python, program, tmp_path):
    """The disk is full while the recording goes on from file to file: the files are whole, and the user is told once."""
    environment.need_command("unshare")
    disk = tmp_path / "disk"
    disk.mkdir()
    ended = run(*environment.need_root(), "unshare", "-m", "sh", "-c", FULL, "full", disk, RECORD, "--rotate", "300ms", "-r", "5khz",
                "--disturb", "0", "--compression", "none", "-o", "app", *python.command, program("mix"), "3")
    assert ended.code == 125, ended
    assert ended.messages.count("No space left on device") == 1, ended
    paths = parts(tmp_path / "app")
    assert len(paths) >= 2 and f"app-0001.pyreel to {os.path.basename(paths[-1])}" in ended.messages, ended
    alone = [info(path) for path in paths]
    assert all(one["complete"] and one["samples"] > 0 for one in alone[:-1]), ended
    assert joined(paths)[0]["samples"] == sum(one["samples"] for one in alone)


# ---- the flight recorder ----

@pytest.mark.pythons("newest")
def test_the_last_seconds_are_written(python, program, start_recorder, tmp_path):
    recorder = start_recorder("--flight-recorder", "1s", "-o", tmp_path / "f", *python.command, program("spin"), "5")
    time.sleep(2.5)
    recorder.signal(signal.SIGUSR1)
    wait_until(lambda: parts(tmp_path / "f"), "an incident")
    ended = recorder.wait()
    assert ended.code == 0 and "SIGUSR1: wrote the last" in ended.messages, ended
    paths = parts(tmp_path / "f")
    assert len(paths) == 2, ended
    first, last = [info(path) for path in paths]
    for one in (first, last):
        assert one["complete"] and one["samples"] > 0 and len(one["threads"]) == 1
        assert 0.8 < one["duration_s"] < 3, one
    assert first["ended"] == "the flight recorder wrote what it had" and last["ended"] == "the target ended"
    for path in paths:
        whole(path)
        pprof(path)
        gecko(path)


@pytest.mark.pythons("newest")
def test_conditions_write_what_there_is(python, program, tmp_path):
    ended = run_record("--flight-recorder", "1s", "--when", "memory>1M", "--when", "cpu>900%", "-o", tmp_path / "f",
                       *python.command, program("spin"), "2")
    assert ended.code == 0 and "memory>1M: " in ended.messages and "cpu>900%" not in ended.messages, ended


@pytest.mark.pythons("newest")
def test_a_crash_is_written(python, tmp_path):
    crash = "import os, time\nt = time.time()\nwhile time.time() < t + 1: sum(range(100))\nos.abort()"
    ended = run_record("--flight-recorder", "10s", "-o", tmp_path / "f", *python.command, "-c", crash)
    assert ended.code == 128 + signal.SIGABRT, ended
    assert info(parts(tmp_path / "f")[0])["exit_code"] == 128 + signal.SIGABRT


SERVER = """
import os, signal, time

def last_words():
    give_up = time.time() + 0.5
    while time.time() < give_up:
        sum(range(100))

def worker(death):
    if os.fork() == 0:
        last_words()
        os.kill(os.getpid(), death) if death else os._exit(1)
    os.wait()

signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR2])
for death in signal.SIGTERM, None, signal.SIGSEGV:
    worker(death)
signal.sigwait([signal.SIGUSR2])
worker(signal.SIGKILL)
"""


@pytest.mark.pythons("newest")
def test_the_death_of_a_worker_is_written_while_the_server_lives(python, start_recorder, tmp_path):
    recorder = start_recorder("-f", "--flight-recorder", "10m", "-o", tmp_path / "f", *python.command, "-c", SERVER)
    wait_until(lambda: parts(tmp_path / "f"), "a file")
    first, = parts(tmp_path / "f")
    wait_until(lambda: b'"complete": true' in run(CONVERTERS["info"], "--json", first).output, "the whole file")
    of_server, *others = info(first)["processes"]
    os.kill(of_server["pid"], signal.SIGUSR2)
    ended = recorder.wait()
    told = [line for line in ended.messages.splitlines() if "wrote the last" in line]
    assert ended.code == 0 and len(told) == 2, ended
    whole(first)
    assert of_server["fate"] is None and [one["signal"] for one in others] == [signal.SIGTERM, None, signal.SIGSEGV]
    assert f"process {others[-1]['pid']} was killed by SIGSEGV: wrote the last" in told[0], ended
    stacks = convert("collapsed", first, "--strict", "--threads", str(others[-1]["pid"])).text
    assert "last_words" in stacks
    # A death soon after the first one does not have a file at once; the end of the recording writes it.
    killed = info(parts(tmp_path / "f")[-1])["processes"][-1]
    assert killed["signal"] == signal.SIGKILL
    assert f"the target ended; process {killed['pid']} was killed by SIGKILL: wrote the last" in told[1], ended


# ---- pauses ----

@pytest.mark.pythons("newest")
def test_a_pause_is_no_time_of_any_sample(python, start, program, start_recorder, tmp_path):
    target = start(*python.command, program("spin"))
    path = tmp_path / "p.pyreel"
    recorder = start_recorder("-p", target.pid, "-o", path)
    time.sleep(0.7)
    recorder.signal(signal.SIGUSR1)
    time.sleep(1.5)
    recorder.signal(signal.SIGUSR2)
    time.sleep(0.7)
    recorder.signal(signal.SIGINT)
    ended = recorder.wait()
    assert ended.code == 0 and "paused; SIGUSR2 ends the pause" in ended.messages, ended
    one = info(path)
    wall = one["threads"][0]["wall_s"]
    assert one["duration_s"] - wall > 1.2, (one["duration_s"], wall)
