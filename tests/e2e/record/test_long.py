# SPDX-License-Identifier: MIT
"""Recordings that go on from file to file, the flight recorder, and pauses."""

import glob
import json
import os
import re
import signal
import time

import pytest

import environment
from environment import CONVERTERS, RECORD
from recording import COUNTS, PATIENCE, convert, gecko, info, pprof, run, run_record, succeed, wait_until, whole


def parts(stem):
    return sorted(glob.glob(f"{stem}-*.pyreel"))


def joined(paths, *options):
    ended = convert("info", paths[0], "--json", *paths[1:], *options)
    return json.loads(ended.output), ended.messages


def counted(*paths):
    """Samples by stack of these files, as one recording."""
    lines = succeed(CONVERTERS["collapsed"], *COUNTS, "--strict", *paths).text.splitlines()
    return {line.rpartition(" ")[0]: int(line.rpartition(" ")[2]) for line in lines}


@pytest.fixture
def rotate(python, program, start_recorder, tmp_path):
    """rotate(4): the recorder at work, when it has made so many files since the program is ready, which runs until it is told
    to end."""
    def begin(count, *options, every="250ms", name="spin", arguments=("told",)):
        prefix = environment.as_root() if python.root else ()
        recorder = start_recorder("--rotate", every, "-o", tmp_path / "app", *options, "--", *python.command, program(name),
                                  *arguments, prefix=prefix)
        recorder.wait_for_output()
        last = int(max(["0000", *(path[-11:-7] for path in parts(tmp_path / "app"))])) + count
        wait_until(lambda: (tmp_path / f"app-{last:04}.pyreel").exists(), f"{count} files")
        return recorder

    return begin


@pytest.fixture
def rotated(rotate, tmp_path):
    """rotated(): the files of such a recording, which has ended."""
    def record(*options, count=4, code=0, ending=None, **more):
        recorder = rotate(count, *options, **more)
        if ending:
            recorder.signal(ending)
        ended = recorder.wait()
        assert ended.code == code, ended
        return parts(tmp_path / "app"), ended

    return record


# ---- files ----

@pytest.mark.short
@pytest.mark.pythons("oldest and newest")
def test_files_are_one_recording(rotated):
    paths, ended = rotated()
    assert f"{paths[0]} to {paths[-1]}" in ended.messages
    alone = [info(path) for path in paths]
    for at, one in enumerate(alone):
        assert one["complete"] and len(one["processes"]) == 1, one
        assert one["ended"] == ("it goes on in the next file" if at < len(paths) - 1 else "the target ended")
        assert convert("collapsed", paths[at], "--strict").code == 0
    all_of_it, messages = joined(paths)
    assert messages == "" and all_of_it["complete"] and all_of_it["ended"] == "the target ended"
    assert all(one["files"] == 1 for one in alone) and all_of_it["files"] == len(paths)
    assert all_of_it["files_missing"] == all_of_it["files_before"] == 0
    assert f"files       {len(paths)}\n" in succeed(CONVERTERS["info"], *paths).text
    assert all_of_it["samples"] == sum(one["samples"] for one in alone) > 0
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


@pytest.mark.pythons("oldest and newest")
def test_each_file_has_its_own_time(rotated):
    """Looks are rarer than files: a file begins between two looks, and before the first one."""
    paths, _ = rotated("-r", "2", count=8, every="100ms")
    alone = [info(path) for path in paths]
    all_of_it, _ = joined(paths)
    for one in [*alone, all_of_it]:
        told = one["cpu_placed_s"] + one["cpu_native_s"] + one["cpu_not_sampled_s"]
        assert told == pytest.approx(one["cpu_s"], rel=0.02, abs=0.03), one  # a look that was told elsewhere has 200 ms and more
    alone_s, together_s = sum(one["cpu_s"] for one in alone), all_of_it["cpu_s"]
    assert abs(alone_s - together_s) <= 0.01 * together_s + 0.01, (alone_s, together_s)


@pytest.mark.parametrize("options", [(), ("-f",)], ids=["", "with children"])
def test_without_python_there_is_no_file(tmp_path, options):
    ended = run_record("--rotate", "100ms", *options, "-o", tmp_path / "app", "--", "sleep", "1")
    assert ended.code == 0 and "there is no recording" in ended.messages
    assert parts(tmp_path / "app") == []


@pytest.mark.pythons("newest")
def test_every_output_takes_files_as_one(rotated, tmp_path):
    paths, _ = rotated()
    outputs = {"gecko": tmp_path / "x.json.gz", "pprof": tmp_path / "x.pb.gz", "speedscope": tmp_path / "x.speedscope.json",
               "flame": tmp_path / "x.html", "tachyon": tmp_path / "x.bin"}
    for name, output in outputs.items():
        succeed(CONVERTERS[name], "-o", output, "--strict", *paths)
    report = json.loads(succeed(CONVERTERS["report"], "--json", *paths).text)
    assert report
    later = counted("--from", "50%", *paths)
    assert 0 < sum(later.values()) < sum(counted(*paths).values())


@pytest.mark.pythons("newest")
def test_a_missing_file_is_told(rotated, tmp_path):
    paths, _ = rotated()
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
def test_only_the_newest_files_stay(rotated, tmp_path):
    other = tmp_path / "app-0001.pyreel"
    other.write_bytes(b"of somebody else")
    paths, _ = rotated("--keep", "2", count=5)
    assert other.read_bytes() == b"of somebody else"
    assert paths[0] == str(other) and len(paths) == 3, paths
    all_of_it, messages = joined(paths[1:])
    assert messages == "" and all_of_it["complete"] and all_of_it["files"] == 2 and all_of_it["files_before"] > 0


@pytest.mark.pythons("newest")
def test_a_size_is_kept(rotated):
    # A file is at least 250 ms old, whatever its size: 40 kB is more than a recorder writes in that time at 5 kHz.
    paths, _ = rotated("-r", "5khz", "--compression", "none", every="40k", name="mix", arguments=("600",), count=3,
                       code=128 + signal.SIGTERM, ending=signal.SIGTERM)
    assert all(os.path.getsize(path) <= 40_000 for path in paths), [os.path.getsize(path) for path in paths]
    assert joined(paths)[0]["complete"]


@pytest.mark.pythons("newest")
def test_tasks_and_threads_go_on(rotated):
    paths, _ = rotated("--async", "all", name="awaits", arguments=(), code=128 + signal.SIGTERM, ending=signal.SIGTERM)
    all_of_it, messages = joined(paths)
    assert messages == "" and all_of_it["complete"] and all_of_it["tasks"]
    numbers = [(thread["tid"], thread["name"]) for thread in all_of_it["threads"]]
    assert len(numbers) == len(set(numbers)), numbers


@pytest.mark.pythons("newest")
def test_the_recording_goes_on_where_no_new_file_can_be_made(python, program, start_recorder, tmp_path):
    folder = tmp_path / "there"
    folder.mkdir()
    recorder = start_recorder("--rotate", "250ms", "-o", folder / "app", "--", *python.command, program("spin"), "told",
                              prefix=environment.as_root() if python.root else ())
    wait_until(lambda: parts(folder / "app"), "the first file")
    os.rename(folder, tmp_path / "elsewhere")
    recorder.wait_for_message("goes on in")
    assert recorder.wait().code == 0
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
def test_a_full_disk_ends_the_recording(python, start, program, tmp_path):
    """The disk is full while the recording goes on from file to file: the files are whole, and the user is told once."""
    environment.need_command("unshare")
    disk = tmp_path / "disk"
    disk.mkdir()
    target = start(*(environment.as_root() if python.root else ()), *python.command, program("mix"), 600)
    ended = run(*environment.need_root(), "unshare", "-m", "sh", "-c", FULL, "full", disk, RECORD, "--rotate", "250ms", "-r", "5khz",
                "--disturb", "0", "--compression", "none", "-o", "app", "-p", target.pid)
    assert ended.code == 125, ended
    assert ended.messages.count("No space left on device") == 1, ended
    paths = parts(tmp_path / "app")
    assert len(paths) >= 2 and f"app-0001.pyreel to {os.path.basename(paths[-1])}" in ended.messages, ended
    alone = [info(path) for path in paths]
    assert all(one["complete"] for one in alone[:-1]), ended
    assert joined(paths)[0]["samples"] == sum(one["samples"] for one in alone) > 0


# ---- the flight recorder ----

class Flight:
    """A flight recorder at work, which says when it has found a Python."""

    def __init__(self, start_recorder, folder, *arguments, prefix=()):
        self.stem, self.seen = folder / "f", 0
        self.recorder = start_recorder("-v", "--flight-recorder", *arguments[:1], "-o", self.stem, *arguments[1:], prefix=prefix)

    def attached(self):
        """The pid of the next process in which the recorder has found a Python."""
        while len(found := re.findall(rb"process (\d+) runs CPython", self.recorder.complained)) == self.seen:
            assert self.recorder.read_message(), self.recorder.wait()
        self.seen += 1
        return int(found[self.seen - 1])

    def write(self):
        """What the recorder has, once it has something: the file of it."""
        message, give_up = "", time.monotonic() + PATIENCE
        while "wrote the last" not in message:
            assert time.monotonic() < give_up, message
            time.sleep(0.05)
            self.recorder.signal(signal.SIGUSR1)
            message = self.recorder.wait_for_message("SIGUSR1: ")
        return written(message)


def written(message):
    """The file that a message of a flight recorder names."""
    return re.search(r"/\S*\.pyreel", message)[0]


@pytest.fixture
def fly(python, start_recorder, tmp_path):
    return lambda *arguments: Flight(start_recorder, tmp_path, *arguments, prefix=environment.as_root() if python.root else ())


@pytest.mark.short
@pytest.mark.pythons("newest")
def test_the_last_seconds_are_written(python, program, fly):
    flight = fly("1s", "--", *python.command, program("spin"), "told")
    flight.attached()
    first = later = info(flight.write())
    while later["start_unix_ns"] == first["start_unix_ns"]:
        time.sleep(1.2)
        later = info(flight.write())
    ended = flight.recorder.wait()
    assert ended.code == 0 and "SIGUSR1: wrote the last" in ended.messages, ended
    *_, asked, last = parts(flight.stem)
    for path, why in (asked, "the flight recorder wrote what it had"), (last, "the target ended"):
        one = whole(path)
        assert one["ended"] == why and one["samples"] > 0 and len(one["threads"]) == 1
        assert one["duration_s"] > 0.99, one  # at 1 kHz, the last interval may be missing
        pprof(path)
        gecko(path)


@pytest.mark.pythons("newest")
def test_conditions_write_what_there_is(python, program, fly):
    flight = fly("1s", "--when", "memory>1M", "--when", "cpu>900%", "--", *python.command, program("spin"), "told")
    flight.recorder.wait_for_message("memory>1M: ")
    ended = flight.recorder.wait()
    assert ended.code == 0 and "cpu>900%" not in ended.messages.partition("memory>1M: ")[2], ended


@pytest.mark.pythons("newest")
def test_a_crash_is_written(python, program, fly):
    flight = fly("10s", "--", *python.command, program("dies"), -signal.SIGABRT, "told")
    flight.attached()
    ended = flight.recorder.wait()
    assert ended.code == 128 + signal.SIGABRT, ended
    assert info(parts(flight.stem)[0])["exit_code"] == 128 + signal.SIGABRT


SERVER = """
import os, select, signal, sys

def last_words():
    while not select.select([0], [], [], 0)[0]:
        pass
    os.read(0, 1)

def worker(death):
    if os.fork() == 0:
        last_words()
        os.kill(os.getpid(), death) if death else os._exit(1)
    os.wait()

for death in signal.SIGTERM, None, signal.SIGSEGV, signal.SIGKILL:
    worker(death)
"""


@pytest.mark.pythons("newest")
def test_the_death_of_a_worker_is_written_while_the_server_lives(python, fly):
    flight = fly("10m", "-f", "--", *python.command, "-c", SERVER)

    def see_worker():
        pid = flight.attached()
        wait_until(lambda: "last_words" in convert("collapsed", flight.write(), *COUNTS, "--threads", str(pid)).text, "samples of it")
        return pid

    server, workers = flight.attached(), []
    for _ in range(3):
        workers.append(see_worker())
        flight.recorder.tell(b"x")
    told = flight.recorder.wait_for_message(f"process {workers[-1]} was killed by SIGSEGV: wrote the last")
    found = whole(written(told))
    of_server, *others = found["processes"]
    assert of_server["pid"] == server and of_server["fate"] is None
    deaths = list(zip(workers, [signal.SIGTERM, None, signal.SIGSEGV]))
    assert [(one["pid"], one["signal"]) for one in others[:3]] == deaths  # the next worker may be there, too
    # A death soon after the first one does not have a file at once; the end of the recording writes it.
    workers.append(see_worker())
    flight.recorder.tell(b"x")
    ended = flight.recorder.wait()
    assert f"process {workers[-1]} was killed by SIGKILL: wrote the last" in ended.messages and ended.code == 0, ended
    killed = info(parts(flight.stem)[-1])["processes"][-1]
    assert killed["pid"] == workers[-1] and killed["signal"] == signal.SIGKILL


# ---- pauses ----

@pytest.mark.short
@pytest.mark.pythons("newest")
def test_a_pause_is_no_time_of_any_sample(python, start, program, start_recorder, tmp_path):
    prefix = environment.as_root() if python.root else ()
    target = start(*prefix, *python.command, program("spin"))
    path = tmp_path / "p.pyreel"
    recorder = start_recorder("-p", target.pid, "-o", path, prefix=prefix)
    before = recorder.wait_for_samples(path)["samples"]
    recorder.signal(signal.SIGUSR1)
    recorder.wait_for_message("paused; SIGUSR2 ends the pause")
    began = time.monotonic()
    time.sleep(0.5)  # as long as the pause is at least
    paused = time.monotonic() - began
    recorder.signal(signal.SIGUSR2)
    recorder.wait_for_samples(path, before + 1)
    recorder.signal(signal.SIGINT)
    ended = recorder.wait()
    assert ended.code == 0, ended
    one = whole(path)
    assert one["threads"][0]["wall_s"] <= one["duration_s"] - paused + 0.002, (one, paused)  # two intervals
