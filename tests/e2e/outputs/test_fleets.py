# SPDX-License-Identifier: MIT
"""Profiles for stores of many machines: a file for each window of time, also while the program runs."""

import calendar
import gzip
import http.server
import pathlib
import random
import re
import signal
import subprocess
import tempfile
import threading
import time
import urllib.parse

import pytest

import made_stream
import pprof_check
from environment import CONVERTERS, PROJECT, RECORD
from golden import frozen
from recording import ENVIRONMENT, PATIENCE, info, run, succeed, wait_until, whole

SECOND = 1_000_000_000
LONG = frozen("calculator-3.14")  # two seconds
NAME = "app-%Y%m%dT%H%M%S.pb.gz"
FILES = "app-*.pb.gz"  # not one that is being written
SAMPLES, WALL, CPU, GIL, GIL_WAIT = range(5)


def profile(path):
    read, problems = pprof_check.examine(path)
    assert problems == [], path
    return pprof_check.summary(read)


def windows_in(folder):
    """The profiles of all windows in a folder, by the time in their names, in seconds since 1970."""
    return {calendar.timegm(time.strptime(path.name, NAME)): profile(path) for path in sorted(folder.glob(FILES))}


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

@pytest.mark.short
@pytest.mark.parametrize("stream", ["plain-3.11", "threads-3.11", "gil-thread-3.15", "cpu-mode-3.13", "grouped-3.14",
                                    "calculator-3.14", "weighted", "interpreters-3.14"])
@pytest.mark.parametrize("every", [1, 1.5])
def test_the_windows_add_up_to_the_recording(stream, every, tmp_path):
    recording = frozen(stream)
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


@pytest.mark.short
def test_windows_of_a_part_of_the_recording(tmp_path):
    options = ["--from", 0.5, "--to", 1.75, "--mode", "cpu"]
    whole, part = windows_in_of(LONG, tmp_path / "whole"), windows_in_of(LONG, tmp_path / "part", *options)
    assert set(part) <= set(whole) and len(part) > 1
    succeed(CONVERTERS["pprof"], "-q", *options, "-o", tmp_path / "part.pb.gz", LONG)
    one = profile(tmp_path / "part.pb.gz")
    assert totals(part.values())[SAMPLES] == one["totals"][SAMPLES] > 0
    assert totals(part.values())[CPU] == pytest.approx(one["totals"][CPU], abs=len(part))
    assert min(window["time_nanos"] for window in part.values()) >= one["time_nanos"]


def windows_in_of(recording, folder, *options):
    ended = split(recording, folder, 1, "-q", *options)
    assert ended.code == 0, ended
    return windows_in(folder)


@pytest.mark.short
def test_each_file_is_reported(tmp_path):
    ended = split(LONG, tmp_path, 1, "-v")
    written = [line.split()[2].rstrip(":") for line in ended.messages.splitlines() if "wrote" in line]
    assert written == sorted(map(str, tmp_path.glob(FILES))) and len(written) > 1
    counts = [int(line.split()[3]) for line in ended.messages.splitlines() if "wrote" in line]
    assert sum(counts) == info(LONG)["samples"]


@pytest.mark.short
def test_a_window_says_nothing_of_the_whole_recording(tmp_path):
    split(LONG, tmp_path, 1, "-q")
    for window in windows_in(tmp_path).values():
        said = [comment for comment in window["comments"] if "since the start of the recording" in comment]
        assert len(said) == 1 and said[0].startswith(f"{window['totals'][SAMPLES]} samples of ")
        assert not [comment for comment in window["comments"] if "missed" in comment or "cut off" in comment]


@pytest.mark.short
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
    ended = run(CONVERTERS["pprof"], frozen("plain-3.11"), *arguments, cwd=tmp_path)
    assert ended.code == 2 and said in ended.messages
    assert list(tmp_path.iterdir()) == []


@pytest.mark.short
def test_a_recording_without_a_date_has_no_windows(tmp_path):
    succeed(CONVERTERS["tachyon"], "-q", "-o", tmp_path / "app.bin", frozen("plain-3.11"))
    ended = split(tmp_path / "app.bin", tmp_path / "windows", 1)
    assert ended.code == 1 and "does not say when it was recorded" in ended.messages


@pytest.mark.short
def test_a_name_without_every_is_taken_as_it_is(tmp_path):
    succeed(CONVERTERS["pprof"], "-q", "-o", tmp_path / NAME, frozen("plain-3.11"))
    assert [path.name for path in tmp_path.iterdir()] == [NAME]


# ---- while the program runs ----

class Pipe:
    """A program that is recorded into pyreel-pprof, each in a process of its own; tee keeps a copy of the recording."""

    def __init__(self, target, folder, *options):
        self.folder, self.copy = folder, folder / "copy.pyreel"
        self.record = subprocess.Popen([RECORD, "-q", "-o", "-", "-p", str(target.pid)], stdin=subprocess.DEVNULL,
                                       stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=ENVIRONMENT)
        self.tee = subprocess.Popen(["tee", self.copy], stdin=self.record.stdout, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.pprof = subprocess.Popen([CONVERTERS["pprof"], "--every", "2", "-o", str(folder / NAME), *options, "-"],
                                      stdin=self.tee.stdout, stderr=subprocess.PIPE, env=ENVIRONMENT)
        self.record.stdout.close()
        self.tee.stdout.close()

    def files(self):
        return sorted(self.folder.glob(FILES))

    def samples(self):
        return totals(windows_in(self.folder).values())[SAMPLES] if self.files() else 0

    def wait_for_windows(self, count):
        wait_until(lambda: len(self.files()) >= count and self.samples() > 0, f"{count} windows")

    def end(self):
        """The exit code and the messages of pyreel-pprof."""
        _, said = self.pprof.communicate(timeout=PATIENCE)
        self.tee.communicate(timeout=PATIENCE)
        self.record.communicate(timeout=PATIENCE)
        return self.pprof.returncode, said.decode()

    def close(self):
        for process in (self.record, self.tee, self.pprof):
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
    pipe.wait_for_windows(2)
    assert pipe.record.poll() is None and pipe.pprof.poll() is None
    assert profile(pipe.files()[1])["duration_nanos"] == 2 * SECOND  # whole, as soon as it has a name
    pipe.record.send_signal(signal.SIGINT)
    assert pipe.end() == (0, "")


@pytest.mark.short
def test_the_end_of_the_pipe_writes_the_last_window(pipe):
    """^C goes to both programs. What the recorder writes at its end is not lost."""
    pipe.wait_for_windows(1)
    pipe.pprof.send_signal(signal.SIGINT)
    time.sleep(0.3)  # not to make the test pass: one that does not wait would have ended by now
    assert pipe.pprof.poll() is None
    pipe.record.send_signal(signal.SIGINT)
    assert pipe.end() == (0, "")
    assert pipe.samples() == whole(pipe.copy)["samples"]
    assert not [comment for window in windows_in(pipe.folder).values() for comment in window["comments"] if "cut off" in comment]


def has_taken(pid, number):
    """Whether it no longer has that signal before it: of two at once it would see one."""
    with open(f"/proc/{pid}/status") as file:
        return not any(int(mask, 16) >> number - 1 & 1 for mask in re.findall(r"^S(?:ig|hd)Pnd:\s*(\w+)", file.read(), re.MULTILINE))


@pytest.mark.parametrize("signals", [[signal.SIGTERM], [signal.SIGINT, signal.SIGINT]])
def test_a_signal_to_the_converter_alone_writes_what_there_is(pipe, signals):
    pipe.wait_for_windows(1)
    for number in signals:
        pipe.pprof.send_signal(number)
        wait_until(lambda: has_taken(pipe.pprof.pid, number), "the signal is taken")
    code, said = pipe.end()
    assert code == 0 and "is not complete" in said
    last = list(windows_in(pipe.folder).values())[-1]
    assert "the recording was cut off" in last["comments"]


def test_a_closed_standard_error_costs_no_window(spinning, tmp_path):
    live = Pipe(spinning, tmp_path, "-v")
    try:
        live.pprof.stderr.close()
        live.wait_for_windows(2)
        live.record.send_signal(signal.SIGINT)
        assert live.pprof.wait(PATIENCE) == 0
        assert live.samples() == whole(live.copy)["samples"]
    finally:
        live.close()


# ---- the commands of docs/fleets.md ----

def many_stacks(count, depth=80):
    """Distinct stacks of a program whose calls share their callers."""
    dice, stacks, stack = random.Random(1), {}, ()
    while len(stacks) < count:
        stack = stack[:max(3, len(stack) - dice.randrange(8))]
        for _ in range(min(dice.randrange(1, 9), depth - len(stack))):
            function = dice.randrange(600)
            stack += ((f"function_{function}", f"/srv/app/module_{function % 40}.py", 10 * function + dice.randrange(5)),)
        stacks[stack] = None
    return list(stacks)


def made(tmp_path, stacks=(((("f", "f.py", 1),)),), age_s=0):
    recording = tmp_path / "made.pyreel"
    made_stream.write(recording, made_stream.Samples(stacks), pid=1, start_unix_ns=time.time_ns() - age_s * SECOND)
    return recording


class Store(http.server.BaseHTTPRequestHandler):
    """Takes profiles as Pyroscope's /ingest does, within the limits of docs/fleets.md."""

    def answer(self, body):
        url = urllib.parse.urlparse(self.path)
        query = urllib.parse.parse_qs(url.query)
        size = len(gzip.decompress(body))
        if size > 2 << 20:
            return 429, f"push rate limit exceeded while adding {size}"
        with tempfile.NamedTemporaryFile() as file:
            file.write(body)
            file.flush()
            profile, problems = pprof_check.examine(file.name)
        if problems:
            return 400, f"failed to parse: {problems}"
        if url.path != "/ingest" or query.get("format") != ["pprof"] or not query.get("name"):
            return 400, "no path of ours, or no name, or no format"
        age_s = time.time() - profile["time_nanos"] / 1e9
        if len(profile["sample"]) > 16000 or not -600 <= age_s <= 3600:
            return 422, f"{len(profile['sample'])} samples, {age_s} s old"
        return 200, ""

    def do_POST(self):
        code, said = self.answer(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.answers.append(code)
        self.send_response(code)
        self.send_header("Content-Length", str(len(said)))
        self.end_headers()
        self.wfile.write(said.encode())

    def log_message(self, *_):
        pass


@pytest.fixture
def store():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Store)
    server.answers = []
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


DOCUMENT = (pathlib.Path(PROJECT) / "docs" / "fleets.md").read_text()
SCRIPTS = [script for script in re.findall(r"^```sh\n(.*?)^```", DOCUMENT, re.DOTALL | re.MULTILINE) if "curl" in script]
CURLS = [curl.partition(" &&")[0] for script in SCRIPTS for curl in re.findall(r"curl (?:[^\n]*\\\n)*[^\n]*", script)]


def run_in_shell(script, store, folder, **variables):
    port = store.server_address[1]
    return subprocess.run(["bash", "-c", re.sub(r"localhost:\d+", f"127.0.0.1:{port}", script)], cwd=folder,
                          env={**ENVIRONMENT, **variables}, capture_output=True, timeout=PATIENCE)


@pytest.mark.short
def test_the_document_has_commands():
    assert len(CURLS) == 2 and {re.search(r"localhost:\d+/(\w+)", curl)[1] for curl in CURLS} == {"ingest"}


@pytest.mark.parametrize("curl", CURLS)
def test_a_store_takes_what_curl_sends(curl, store, tmp_path, monkeypatch):
    monkeypatch.setattr(pprof_check, "REQUIRED_LABELS", {"thread": "text"})
    split(made(tmp_path, [[("f", "f.py", 1)]] * 2500), tmp_path / "spool", 1, "-q", "--labels", "thread,task")
    for path in sorted((tmp_path / "spool").iterdir()):
        done = run_in_shell(curl, store, tmp_path, FILE=str(path))
        assert done.returncode == 0, done.stderr
    assert len(store.answers) >= 3 and set(store.answers) <= {200}


def test_a_store_refuses_what_is_large_or_old(store, tmp_path, monkeypatch):
    monkeypatch.setattr(pprof_check, "REQUIRED_LABELS", {})
    samples, shards = made_stream.Samples(many_stacks(3478)), [tmp_path / f"{number}.pyreel" for number in range(12)]
    for number, shard in enumerate(shards):
        made_stream.write(shard, samples, pid=1000 + number, start_unix_ns=time.time_ns() + number)
    for options, recordings in [([], shards), (["--no-labels"], shards), ([], [made(tmp_path, age_s=7200)])]:
        succeed(CONVERTERS["pprof"], "-q", *options, "-o", tmp_path / "p", *recordings)
        run_in_shell(CURLS[0], store, tmp_path, FILE=str(tmp_path / "p"))
    assert store.answers == [429, 200, 422]


def test_the_loop_sends_each_file_once(store, tmp_path):
    (loop,) = [script for script in SCRIPTS if script.startswith("while")]
    split(made(tmp_path, [[("f", "f.py", 1)]] * 2500), tmp_path / "spool", 1, "-q")
    files = len(list((tmp_path / "spool").iterdir()))
    run_in_shell(loop.replace("while sleep 5", "for round in 1 2"), store, tmp_path)
    assert store.answers == [200] * files and not list((tmp_path / "spool").iterdir())
