# SPDX-License-Identifier: MIT
"""--blocking stops the program while it is read, and leaves nothing of that behind."""

import json
import os
import random
import re
import signal
import subprocess
import time

import pytest

import known_program
import stacks
from environment import need_command, need_root
from recording import CHANGES, attach, collapsed, process_state, record_told, run_record, wait_until, whole

STOPPED_REPORT = "the program was stopped for "
RAN_REPORT = "the program was not stopped in"


def tracer(pid):
    """Who traces a process; 0 when nobody does."""
    with open(f"/proc/{pid}/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("TracerPid:"))


def threads_of(pid):
    return [int(name) for name in os.listdir(f"/proc/{pid}/task")]


def left_alone(pid):
    """Whether none of its threads is traced or stopped."""
    return all(tracer(tid) == 0 and process_state(tid) in "RSD" for tid in threads_of(pid))


# ---- what it is for ----

@pytest.mark.short
def test_stacks_are_true(python, program, start_recorder, tmp_path):
    path = tmp_path / "a.pyreel"
    prefix = need_root() if python.root else ()
    recorder = start_recorder("--blocking", "-o", path, "--", *python.command, program("known"), "60", prefix=prefix)
    recorder.wait_for_samples(path, 500)
    recorder.signal(signal.SIGTERM)
    assert recorder.wait().code == 128 + signal.SIGTERM
    assert whole(path)["failures"].keys() <= CHANGES
    threads = stacks.of_collapsed(collapsed(path, "--full-paths"))
    assert known_program.all_impossible(threads, program("known")) == {}


@pytest.mark.short
@pytest.mark.pythons("oldest and newest")
def test_a_thread_that_is_stopped_in_its_sleep_has_slept(python, start, program, tmp_path):
    """A stop wakes the thread up, and it is ready until it gets a processor: stops are rare here. How many of the looks say
    what it did is for tests/oracle."""
    path = tmp_path / "a.pyreel"
    prefix = need_root() if python.root else ()

    def has_slept_and_worked(_):
        seen, on_processor = collapsed(path), collapsed(path, "--mode", "cpu")
        return looks_in("nap", on_processor) < looks_in("nap", seen) and looks_in("burn", on_processor) > 0

    attach(start(*prefix, *python.command, program("naps")), path, "--blocking", "-r", 50, until=has_slept_and_worked, prefix=prefix)


def looks_in(function, lines):
    return sum(int(line.rpartition(" ")[2]) for line in lines.splitlines() if f";{function} (" in line)


@pytest.mark.sanitized("threads that end, or cannot be stopped")
def test_threads_that_come_and_go(start_recorder, python3, program, tmp_path):
    path = tmp_path / "a.pyreel"
    recorder = start_recorder("--blocking", "-r", "2k", "-o", path, "--", python3, program("churn"), "told")
    recorder.wait_for(path, lambda found: len(found["threads"]) > 20, "20 threads")
    assert recorder.wait().code == 0
    assert whole(path)["failures"].keys() <= CHANGES


# ---- nothing is left behind ----

def test_the_program_is_left_alone(start, python3, program, tmp_path):
    target = start(python3, program("signals"))
    attach(target, tmp_path / "a.pyreel", "--blocking", "-r", "5k", samples=2000)
    assert len(threads_of(target.pid)) == 4
    assert left_alone(target.pid)


@pytest.mark.short
def test_a_recorder_that_is_killed_lets_the_program_run(start, start_recorder, python3, program, tmp_path):
    target = start(python3, program("signals"))
    for i in range(10):
        recorder = start_recorder("-p", target.pid, "--blocking", "-r", "20k", "-o", tmp_path / f"{i}.pyreel")
        wait_until(lambda: tracer(target.pid) == recorder.pid, "it is traced")
        time.sleep(random.uniform(0, 0.05))
        recorder.signal(signal.SIGKILL)
        recorder.process.wait()
        wait_until(lambda: left_alone(target.pid), "it runs on")
    assert target.running


def test_a_recorder_that_is_stopped_from_the_terminal_lets_the_program_run(spinning, start_recorder, tmp_path):
    recorder = start_recorder("-p", spinning.pid, "--blocking", "-r", "20k", "-o", tmp_path / "a.pyreel",
                              process_group=0)
    wait_until(lambda: tracer(spinning.pid) == recorder.pid, "it is traced")
    for _ in range(20):
        time.sleep(random.uniform(0.01, 0.03))
        recorder.signal(signal.SIGTSTP)
        wait_until(lambda: process_state(recorder.pid) == "T", "the recorder stops")
        wait_until(lambda: left_alone(spinning.pid), "it runs on")  # from then on nobody lets it go
        assert process_state(recorder.pid) == "T"
        recorder.signal(signal.SIGCONT)
    recorder.signal(signal.SIGINT)
    assert recorder.wait().code == 0


@pytest.mark.short
def test_no_signal_is_lost_and_no_wait_ends_early(start, start_recorder, python3, program, tmp_path):
    target = start(python3, program("signals"))
    recorder = start_recorder("-p", target.pid, "--blocking", "-r", "5k", "-o", tmp_path / "a.pyreel")
    wait_until(lambda: tracer(target.pid) == recorder.pid, "it is traced")
    for _ in range(1000):
        os.kill(target.pid, signal.SIGRTMIN + 1)
        time.sleep(random.uniform(0, 0.002))
    os.kill(target.pid, signal.SIGTERM)
    said = json.loads(target.read_line())
    assert said["count"] == 1000
    assert said["wrong"] == []
    ended = recorder.wait()
    assert ended.code == 0, ended
    assert whole(tmp_path / "a.pyreel")["ended"] == "the target ended"


# ---- programs that end, or become others ----

@pytest.mark.parametrize("code", ["sys.exit(7)", "import os; os._exit(7)",
                                  "import threading; threading.Thread(target=lambda: None).start(); raise SystemExit(7)"])
def test_the_exit_code_of_a_command(python3, tmp_path, code):
    code = f"import sys; sys.stdin.read(); {code}"
    ended = record_told(tmp_path / "a.pyreel", "--blocking", "-r", "20k", "--", python3, "-c", code)
    assert ended.code == 7, ended
    assert whole(tmp_path / "a.pyreel")["exit_code"] == 7


def test_a_command_that_is_killed(python3, program, start_recorder, tmp_path):
    recorder = start_recorder("--blocking", "-r", "20k", "-o", tmp_path / "a.pyreel", "--", python3, program("signals"))
    pid = int(recorder.wait_for_output().split()[1])
    recorder.wait_for_samples(tmp_path / "a.pyreel")
    os.kill(pid, signal.SIGKILL)
    assert recorder.wait().code == 128 + signal.SIGKILL


def test_a_program_that_is_killed_is_told_to_its_parent(start, start_recorder, python3, program, tmp_path):
    target = start(python3, program("signals"))
    recorder = start_recorder("-p", target.pid, "--blocking", "-r", "20k", "-o", tmp_path / "a.pyreel")
    recorder.wait_for_samples(tmp_path / "a.pyreel")
    os.kill(target.pid, signal.SIGKILL)
    assert target.exit_code() == -signal.SIGKILL
    assert recorder.wait().code == 0


@pytest.mark.parametrize("rate", ["1k", "20k"])
def test_a_program_with_threads_that_becomes_another(start_recorder, python3, program, tmp_path, rate):
    """The kernel waits for the old threads to be reaped before the new program runs, and whoever traced them has to."""
    path = tmp_path / "a.pyreel"
    recorder = start_recorder("--blocking", "-r", rate, "-o", path, "--", python3, program("restarts"), "20", "told")
    recorder.wait_for_samples(path)
    recorder.tell(b"\n")
    recorder.wait_for(path, lambda found: found["processes"][-1]["command"].endswith(" 0"), "the last program")
    assert recorder.wait().code == 5
    assert whole(path)["processes"][0]["command"].endswith(" 20 told")


def test_a_thread_that_becomes_the_first_one_is_released(python3, program, tmp_path):
    """A thread that calls execve takes the number of the first thread over, while the recorder stops the process."""
    ended = run_record("--blocking", "-r", "1k", "-o", tmp_path / "a.pyreel", "--", python3, "-I", "-S", program("exec_in_thread"), 50)
    assert ended.code == 0 and ended.text.strip().isdigit(), ended


def test_a_command_that_runs_on(python3, tmp_path):
    code = "import time; time.sleep(0.6); raise SystemExit(3)"
    ended = run_record("--blocking", "-d", "0.2", "-o", tmp_path / "a.pyreel", "--", python3, "-c", code)
    assert ended.code == 3, ended


def test_a_main_thread_that_ended_before_the_others(start, python3, tmp_path):
    code = ("import ctypes, os, platform, threading, time\n"
            "def spin():\n    print('ready', os.getpid(), flush=True)\n    while True: pass\n"
            "threading.Thread(target=spin).start()\n"
            "libc = ctypes.CDLL(None)\n"
            "libc.syscall({'x86_64': 60}.get(platform.machine(), 93), 0)\n")  # exit, of this thread alone
    target = start(python3, "-c", code)
    wait_until(lambda: process_state(target.pid) == "Z", "the main thread ends")
    ended = run_record("-p", target.pid, "--blocking", "-d", "0.3", "-o", tmp_path / "a.pyreel")
    assert ended.code in (0, 125), ended
    late = re.search(RAN_REPORT + r" (\d+) of (\d+) ticks", ended.messages)  # on a busy machine a thread may be late
    assert not late or int(late[1]) <= int(late[2]) / 10, ended


# ---- threads that can't be stopped, as they wait deep in the kernel ----

def open_and_close(fifo):
    with open(fifo, "w") as pipe:
        pipe.write(repr(time.monotonic()))


def test_a_thread_that_cannot_be_stopped(start, start_recorder, python3, program, tmp_path):
    """With a tick each 100 seconds the program must not wait for the next tick, once it can go on."""
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    target = start(python3, program("spawns"), fifo)
    wait_until(lambda: process_state(target.pid) == "D", "it waits")
    attach(target, tmp_path / "killed.pyreel", "--blocking", "-r", "1k")  # ends while it waits
    recorder = start_recorder("-p", target.pid, "--blocking", "-r", "0.01", "-o", tmp_path / "a.pyreel")
    time.sleep(1.2)
    open_and_close(fifo)
    assert float(target.read_line()) < 20
    ended = recorder.wait()
    assert ended.code == 0 and RAN_REPORT not in ended.messages, ended
    assert whole(tmp_path / "killed.pyreel")["samples"] > 0


def test_a_command_that_cannot_be_stopped_runs_on(start_recorder, python3, program, tmp_path):
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    recorder = start_recorder("--blocking", "-d", "0.4", "-o", tmp_path / "a.pyreel", "--", python3, program("spawns"), fifo)
    pid = int(recorder.wait_for_output().split()[1])
    wait_until(lambda: process_state(pid) == "D", "it waits")
    time.sleep(0.6)
    open_and_close(fifo)
    assert recorder.wait().code == 4


# ---- programs that are stopped, or traced ----

def test_a_stopped_program_stays_stopped(spinning, tmp_path):
    os.kill(spinning.pid, signal.SIGSTOP)
    wait_until(lambda: process_state(spinning.pid) == "T", "the program stops")
    ended = attach(spinning, tmp_path / "a.pyreel", "--blocking")
    assert STOPPED_REPORT in ended.messages
    figures = whole(tmp_path / "a.pyreel")
    assert figures["samples"] > 0 and figures["failed"] == 0
    seen = stacks.of_thread(stacks.of_collapsed(collapsed(tmp_path / "a.pyreel")), stacks.MAIN)
    assert len(seen) == 1
    assert process_state(spinning.pid) == "T" and tracer(spinning.pid) == 0
    os.kill(spinning.pid, signal.SIGCONT)
    wait_until(lambda: process_state(spinning.pid) == "R", "the program goes on")


def test_a_program_that_is_stopped_and_goes_on(start, start_recorder, python3, program, tmp_path):
    count = tmp_path / "count"
    target = start(python3, program("counting"), count)
    recorder = start_recorder("-p", target.pid, "--blocking", "-r", "5k", "-o", tmp_path / "a.pyreel")
    recorder.wait_for_samples(tmp_path / "a.pyreel")
    for number in range(30):
        os.kill(target.pid, signal.SIGSTOP)
        wait_until(lambda: process_state(target.pid) == "T", "the program stops")
        before = count.read_bytes()[:8]
        if number == 0:
            recorder.wait_for_later_samples(tmp_path / "a.pyreel")
        time.sleep(random.uniform(0.01, 0.02))
        assert count.read_bytes()[:8] == before, "it runs"
        os.kill(target.pid, signal.SIGCONT)
        wait_until(lambda: count.read_bytes()[:8] != before, "the program goes on")
        time.sleep(random.uniform(0, 0.02))
    recorder.signal(signal.SIGINT)
    ended = recorder.wait()
    assert ended.code == 0, ended
    assert STOPPED_REPORT in ended.messages
    wait_until(lambda: left_alone(target.pid), "the program runs")


def trace(start_process, pid):
    """Has strace trace a process. It can't while the process is frozen, and ends then."""
    for _ in range(100):
        process = start_process([need_command("strace"), "-qq", "-o", "/dev/null", "-p", str(pid)])
        wait_until(lambda: tracer(pid) == process.pid or process.poll() is not None, "it is traced")
        if process.poll() is None:
            return process
    raise AssertionError("strace can't trace it")


@pytest.fixture
def start_process():
    started = []

    def start(command):
        started.append(subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
        return started[-1]

    yield start
    for process in started:
        process.kill()
        process.wait()


def test_a_program_that_another_traces(spinning, start_process, tmp_path):
    debugger = trace(start_process, spinning.pid)
    ended = run_record("-p", spinning.pid, "--blocking", "-d", "0.3", "-o", tmp_path / "a.pyreel")
    assert ended.code == 125, ended
    assert f"process {debugger.pid} (strace) already traces it" in ended.messages
    assert not os.path.exists(tmp_path / "a.pyreel")
    attach(spinning, tmp_path / "a.pyreel")  # without --blocking it works


def test_a_program_that_another_traces_later(spinning, start_recorder, start_process, tmp_path):
    recorder = start_recorder("-p", spinning.pid, "--blocking", "-o", tmp_path / "a.pyreel")
    recorder.wait_for_samples(tmp_path / "a.pyreel")
    debugger = trace(start_process, spinning.pid)
    recorder.wait_for_later_samples(tmp_path / "a.pyreel")
    recorder.signal(signal.SIGINT)
    ended = recorder.wait()
    assert ended.code == 0, ended
    assert RAN_REPORT in ended.messages and f"process {debugger.pid} (strace) already traces it" in ended.messages
    assert whole(tmp_path / "a.pyreel")["figures"]["partial_ticks"] > 0
