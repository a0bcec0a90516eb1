# SPDX-License-Identifier: MIT
"""pyreel-record starts programs, attaches to them, stops when told to, and always leaves a whole file."""

import json
import os
import pty
import re
import signal
import subprocess
import time

import pytest

import gecko_check
import stacks
from environment import CONVERTERS, RECORD, need_command, need_root, python_of, pythons
from recording import (ALL_TICKS, LIVE, attach, collapsed, convert, gecko, info, pprof, process_state, read_terminal, run,
                       run_record, wait_until, whole)


def functions_of(path):
    """The names of all functions in a recording."""
    threads = stacks.of_collapsed(collapsed(path, "--full-paths"))
    return {frame[0] for seen in threads.values() for stack in seen for frame in stack}


def outputs_agree(path):
    """Each output shows the same stacks, all threads taken together."""
    shown = stacks.merged(stacks.of_collapsed(collapsed(path, "--full-paths")))
    for other in (stacks.of_gecko(gecko(path)), stacks.of_pprof(pprof(path))):
        assert stacks.differences({"all": stacks.merged(other)}, {"all": shown}) == ""
    return True


# ---- attaching ----

@pytest.mark.pythons("each build")
def test_attaches_to_a_running_program(python, start, program, tmp_path):
    prefix = need_root() if python.root else ()
    target = start(*prefix, *python.command, program("spin"))
    path = tmp_path / "a.pyreel"
    attach(target, path, prefix=prefix)
    figures = whole(path)
    assert figures["attached"] is True
    assert figures["ended"] == "the duration was over"
    assert figures["python"] == python.full_version
    assert [process["pid"] for process in figures["processes"]] == [target.pid]
    assert 0.3 <= figures["duration_s"]
    seen = stacks.of_thread(stacks.of_collapsed(collapsed(path)), stacks.MAIN)
    assert stacks.samples(seen, "spin") == sum(seen.values()) > 50
    assert target.running


def test_threads_are_in_the_order_in_which_they_began(python, start, program, tmp_path):
    """The interpreter's list begins with the newest thread."""
    prefix = need_root() if python.root else ()
    target = start(*prefix, *python.command, program("lined_up"), 7)
    began = [int(tid) for tid in target.read_line().split()]
    path = tmp_path / "a.pyreel"
    attach(target, path, prefix=prefix)
    assert [thread["tid"] for thread in whole(path)["threads"]] == began
    assert [thread["tid"] for thread in gecko_check.load(gecko(path))["threads"]] == began


def test_attaching_ends_well_when_the_program_ends(start, python3, program, tmp_path):
    target = start(python3, program("spin"), "0.5")
    ended = run_record("-p", target.pid, "-o", tmp_path / "a.pyreel")
    assert ended.code == 0, ended
    figures = whole(tmp_path / "a.pyreel")
    assert (figures["ended"], figures["exit_code"]) == ("the target ended", None)
    assert figures["samples"] > 50


@pytest.mark.sanitized("programs that end or change while they are read")
def test_attaching_ends_well_when_the_program_is_killed(start, spinning, start_recorder, tmp_path):
    recorder = start_recorder("-p", spinning.pid, "-o", tmp_path / "a.pyreel", "-r", "10k")
    wait_until(lambda: os.path.exists(tmp_path / "a.pyreel"), "the recording begins")
    time.sleep(0.3)
    os.kill(spinning.pid, signal.SIGKILL)
    assert recorder.wait().code == 0
    assert whole(tmp_path / "a.pyreel")["ended"] == "the target ended"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_an_attached_recording_with_a_whole_file(spinning, start_recorder, tmp_path, number):
    recorder = start_recorder("-p", spinning.pid, "-o", tmp_path / "a.pyreel")
    wait_until(lambda: os.path.exists(tmp_path / "a.pyreel"), "the recording begins")
    time.sleep(0.3)
    recorder.signal(number)
    ended = recorder.wait()
    assert ended.code == 0, ended
    figures = whole(tmp_path / "a.pyreel")
    assert figures["ended"] == "stopped by a signal"
    assert figures["samples"] > 50
    assert spinning.running, "the program that was looked at got the signal"


def test_the_program_is_left_as_it_was(spinning, tmp_path):
    before = open(f"/proc/{spinning.pid}/maps").read()
    for _ in range(3):
        attach(spinning, tmp_path / "a.pyreel", "-r", "10k", seconds=0.2)
    assert process_state(spinning.pid) in "RS"
    assert "TracerPid:\t0\n" in open(f"/proc/{spinning.pid}/status").read()
    assert open(f"/proc/{spinning.pid}/maps").read() == before


def test_a_stopped_program_can_be_looked_at_and_stays_stopped(spinning, tmp_path):
    os.kill(spinning.pid, signal.SIGSTOP)
    wait_until(lambda: process_state(spinning.pid) == "T", "the program stops")
    attach(spinning, tmp_path / "a.pyreel")
    assert whole(tmp_path / "a.pyreel")["samples"] > 50
    assert "spin" in functions_of(tmp_path / "a.pyreel")
    assert process_state(spinning.pid) == "T"
    os.kill(spinning.pid, signal.SIGCONT)


@pytest.mark.parametrize("options", [(), ALL_TICKS, LIVE], ids=" ".join)
def test_the_end_is_seen_long_before_the_next_tick(options, python3, tmp_path):
    began = time.monotonic()
    ended = run(RECORD, *options, "-r", "0.02", "-o", tmp_path / "a.pyreel", "--", python3, "-c", "import time; time.sleep(1)")
    assert ended.code == 0, ended
    assert time.monotonic() - began < 20


def test_a_program_in_another_pid_namespace_is_told_in_our_pids(start, python3, program, tmp_path):
    unshare = need_command("unshare")
    outer = start(*need_root(), unshare, "--pid", "--fork", "--mount-proc", "--kill-child", python3, program("small"))
    assert outer.pid == 1, "it is the first of its namespace"
    outer.pid = outer.process.pid
    wait_until(lambda: children(outer.pid), "the namespace has its first process")
    pid = children(outer.pid)[-1]
    wait_until(lambda: len(os.listdir(f"/proc/{pid}/task")) == 2, "both threads run")
    attach(pid, tmp_path / "a.pyreel", prefix=need_root())
    figures = whole(tmp_path / "a.pyreel")
    assert [process["pid"] for process in figures["processes"]] == [pid]
    names = {int(tid): "Thread-1 (idle)" for tid in os.listdir(f"/proc/{pid}/task")}
    names[pid] = open(f"/proc/{pid}/comm").read().strip()
    assert {thread["tid"]: thread["kernel_name"] for thread in figures["threads"]} == names
    threads = stacks.of_collapsed(collapsed(tmp_path / "a.pyreel"))
    assert set(threads) == {(stacks.MAIN if tid == pid else name, tid) for tid, name in names.items()}
    assert stacks.samples(stacks.of_thread(threads, stacks.MAIN), "work") > 50


def children(pid):
    """Those of a process and, when it is sudo, of its children."""
    found = [int(child) for child in open(f"/proc/{pid}/task/{pid}/children").read().split()]
    return found + [grandchild for child in found for grandchild in children(child)]


# ---- running a command ----

@pytest.mark.parametrize("how, code", [(0, 0), (3, 3), (-signal.SIGKILL, 137), (-signal.SIGTERM, 143)])
def test_exits_as_the_command_did(python3, program, tmp_path, how, code):
    ended = run_record("-o", tmp_path / "a.pyreel", "--", python3, program("dies"), how)
    assert ended.code == code, ended
    figures = whole(tmp_path / "a.pyreel")
    assert (figures["ended"], figures["exit_code"], figures["attached"]) == ("the target ended", code, False)
    assert "work" in functions_of(tmp_path / "a.pyreel")


def test_the_commands_output_and_arguments_are_its_own(python3, tmp_path):
    code = "import sys; print(sys.argv[1:]); print('to errors', file=sys.stderr)"
    ended = run_record("-q", "-o", tmp_path / "a.pyreel", python3, "-c", code, "-o", "x y", "--help")
    assert ended.text == "['-o', 'x y', '--help']\n"
    assert ended.messages == "to errors\n"


def test_the_command_reads_our_standard_input(python3, tmp_path):
    ended = run_record("-o", tmp_path / "a.pyreel", "--", python3, "-c", "print(input())", input=b"hello\n")
    assert ended.text == "hello\n"


def test_of_a_program_that_forks_the_parent_is_recorded(python3, program, tmp_path):
    ended = run_record("-o", tmp_path / "a.pyreel", "--", python3, program("forks"))
    parent, child = map(int, ended.text.split())
    figures = whole(tmp_path / "a.pyreel")
    assert [process["pid"] for process in figures["processes"]] == [parent]
    functions = functions_of(tmp_path / "a.pyreel")
    assert "of_parent" in functions
    assert "of_child" not in functions


@pytest.mark.sanitized("programs that end or change while they are read")
def test_a_python_that_becomes_another_is_recorded_as_two(python3, program, tmp_path):
    ours = next(p for p in pythons() if p.command == (python3,))
    other = next((p.command[0] for p in reversed(pythons()) if not p.root and p.version != ours.version), python3)
    ended = run_record("-o", tmp_path / "a.pyreel", "--", python3, program("becomes"), other, program("dies"), 7)
    assert ended.code == 7
    figures = whole(tmp_path / "a.pyreel")
    first, second = figures["processes"]
    assert first["pid"] == second["pid"]
    assert first["end_s"] <= second["start_s"]
    assert first["python"] == ours.full_version
    assert second["command"] == f"{other} {program('dies')} 7"
    rows = re.findall(rf"^ *{first['pid']} .*", convert("info", tmp_path / "a.pyreel").text, re.M)
    assert len([row for row in rows if " exec" in row or " exit 7" in row]) == 2
    assert {"before", "work"} <= functions_of(tmp_path / "a.pyreel")
    assert outputs_agree(tmp_path / "a.pyreel")


def test_a_python_that_becomes_another_program_is_waited_for(python3, program, tmp_path):
    started = time.monotonic()
    ended = run_record("-o", tmp_path / "a.pyreel", "--", python3, program("becomes"), "/bin/sh", "-c", "sleep 0.5; exit 4")
    assert ended.code == 4
    assert time.monotonic() - started > 0.7
    figures = whole(tmp_path / "a.pyreel")
    assert len(figures["processes"]) == 1
    assert figures["exit_code"] == 4
    assert "before" in functions_of(tmp_path / "a.pyreel")


def test_attached_to_a_python_that_becomes_another_program(start_recorder, python3, program, tmp_path):
    target = subprocess.Popen([python3, program("becomes"), "/bin/sleep", "30"])
    try:
        ended = run_record("-p", target.pid, "-o", tmp_path / "a.pyreel")
        assert ended.code == 0, ended
        assert whole(tmp_path / "a.pyreel")["ended"] == "the target became another program"
        assert target.poll() is None
    finally:
        target.kill()
        target.wait()


def test_a_shell_that_becomes_a_python_is_recorded(python3, program, tmp_path):
    ended = run_record("-o", tmp_path / "a.pyreel", "--", "sh", "-c", f"sleep 0.2; exec {python3} {program('dies')} 5")
    assert ended.code == 5
    assert "work" in functions_of(tmp_path / "a.pyreel")


def test_a_program_without_a_sample_leaves_a_whole_file_and_a_word(python3, program, tmp_path):
    ended = run_record("-r", "0.01", "-o", tmp_path / "a.pyreel", "--", python3, program("dies"), "0")
    assert ended.code == 0
    if whole(tmp_path / "a.pyreel")["samples"] == 0:
        assert "no sample was taken: the program ended before the first tick" in ended.messages
    for name in CONVERTERS:
        converted = convert(name, tmp_path / "a.pyreel")
        assert (converted.code, converted.messages) == (0, "")


@pytest.mark.parametrize("command, code", [(["true"], 0), (["sh", "-c", "exit 3"], 3), (["sh", "-c", "kill -TERM $$"], 143)])
def test_a_command_without_python_leaves_no_file(tmp_path, command, code):
    """Nobody looks for a recording where nothing was recorded. A pipe has a reader that waits for one, and a file that was
    there before is not taken away."""
    ended = run_record("-o", tmp_path / "a.pyreel", "--", *command)
    assert ended.code == code
    assert "no Python was seen in the command itself (-f records child processes)" in ended.messages
    assert os.listdir(tmp_path) == []
    assert run_record("-q", "-o", tmp_path / "a.pyreel", "--", *command).messages == ""
    assert os.listdir(tmp_path) == []
    piped = run_record("-o", "-", "--", *command)
    assert piped.code == code and "no sample was taken: no Python was seen" in piped.messages
    assert json.loads(convert("info", "-", "--verify", "--json", input=piped.output).text)["samples"] == 0
    (tmp_path / "b.pyreel").touch()
    assert run_record("-o", tmp_path / "b.pyreel", "--", *command).code == code
    assert whole(tmp_path / "b.pyreel")["samples"] == 0


def test_a_command_that_is_stopped_before_it_runs_python_leaves_no_file(start_recorder, tmp_path):
    recorder = start_recorder("-o", tmp_path / "a.pyreel", "--", "sh", "-c", "echo ready; exec sleep 60")
    recorder.wait_for_output()
    recorder.signal(signal.SIGTERM)
    ended = recorder.wait()
    assert ended.code == 143 and "there is no recording; stopped by a signal" in ended.messages, ended
    assert os.listdir(tmp_path) == []


@pytest.mark.sanitized("programs that end or change while they are read")
def test_threads_that_come_and_go_are_recorded(python3, program, tmp_path):
    ended = run_record("-o", tmp_path / "a.pyreel", "--", python3, program("churn"), 2)
    started = int(ended.text)
    figures = whole(tmp_path / "a.pyreel")
    assert figures["failed"] < 0.01 * figures["samples"], figures["failures"]
    workers = [thread for thread in figures["threads"] if not thread["main"]]
    assert 0.9 * started <= len(workers) <= started
    assert len({thread["tid"] for thread in workers}) == len(workers)
    for thread in workers:
        assert 0 < thread["start_s"] <= thread["end_s"] <= figures["duration_s"]
        assert thread["end_s"] - thread["start_s"] < 0.5 * figures["duration_s"]
        assert thread["samples"] < 500
    seen = stacks.of_collapsed(collapsed(tmp_path / "a.pyreel"))
    assert outputs_agree(tmp_path / "a.pyreel")
    of_workers = [stack for (name, _), found in seen.items() if name != stacks.MAIN for stack in found]
    assert {stack[0][0] for stack in of_workers} <= {"Thread._bootstrap", "<no Python frames>"}


FIFTY_THREADS = """
import threading, time
end = threading.Event()
threads = [threading.Thread(target=end.wait, name=f"waiter-{i}") for i in range(50)]
for thread in threads:
    thread.start()
time.sleep(0.5)
end.set()
"""


def test_info_shows_the_threads_with_most_samples_or_all(python3, tmp_path):
    run_record("-o", tmp_path / "a.pyreel", "--", python3, "-c", FIFTY_THREADS)
    rows = [(thread["samples"], str(thread["tid"])) for thread in info(tmp_path / "a.pyreel")["threads"]]
    assert len(rows) == 51

    def shown(*options):
        lines = convert("info", tmp_path / "a.pyreel", *options).text.splitlines()
        words = [line.split() for line in lines if re.match(r" *\d+ +\d+ +\d+ .* (MainThread|waiter-\d+)$", line)]
        return [(int(samples), tid) for _, tid, samples, *_ in words]

    assert shown("--all") == rows
    assert len(shown()) == 40 and set(shown()) < set(rows) and shown() == [row for row in rows if row in shown()]
    assert sum(samples for samples, _ in shown()) == sum(sorted(samples for samples, _ in rows)[-40:])
    assert " and 11 more threads (--all shows them)\n" in convert("info", tmp_path / "a.pyreel").text


def test_only_the_main_thread_when_asked(python3, program, tmp_path):
    run_record("-t", "main", "-o", tmp_path / "a.pyreel", "--", python3, program("known"), 0.5)
    figures = whole(tmp_path / "a.pyreel")
    assert figures["threads_option"] == "main"
    assert [thread["name"] for thread in figures["threads"]] == [stacks.MAIN]
    assert {"plain", "descend"} <= functions_of(tmp_path / "a.pyreel")


@pytest.mark.parametrize("version", ["3.13", "3.14", "3.15"])
def test_sub_interpreters_are_recorded(program, tmp_path, version):
    python = python_of(version)
    prefix = need_root() if python.root else ()
    ended = run_record("-o", tmp_path / "a.pyreel", "--", *python.command, program("interpreters"), prefix=prefix)
    assert ended.code == 0, ended
    figures = whole(tmp_path / "a.pyreel")
    assert {thread["interpreter"] for thread in figures["threads"]} >= {0, 1}
    by_interpreter = {thread["interpreter"]: thread["samples"] for thread in figures["threads"]}
    assert by_interpreter[1] > 100
    assert {"above", "below"} <= functions_of(tmp_path / "a.pyreel")
    assert outputs_agree(tmp_path / "a.pyreel")
    text = collapsed(tmp_path / "a.pyreel")
    assert all(line.startswith("interpreter 1;") for line in text.splitlines() if ";below (" in line)
    assert not any(line.startswith("interpreter") for line in text.splitlines() if ";above (" in line)


def test_the_rate_is_what_was_asked_for(spinning, tmp_path):
    for rate, interval in (("100", 100), ("0.5k", 500), ("2khz", 2000)):
        attach(spinning, tmp_path / "a.pyreel", "-r", rate, seconds=0.5)
        figures = whole(tmp_path / "a.pyreel")
        assert figures["rate_hz"] == pytest.approx(interval)
        assert figures["ticks"] + figures["missed"] == pytest.approx(interval * 0.5, rel=0.1)


# ---- stopping ----

def test_a_signal_is_passed_on_to_the_command_and_its_end_awaited(start_recorder, python3, program, tmp_path):
    recorder = start_recorder("-o", tmp_path / "a.pyreel", "--", python3, program("spin"))
    recorder.wait_for_output()
    time.sleep(0.2)
    recorder.signal(signal.SIGTERM)
    ended = recorder.wait()
    assert ended.code == 143, ended
    assert whole(tmp_path / "a.pyreel")["samples"] > 50


def test_interrupting_a_command_leaves_a_whole_file(start_recorder, python3, program, tmp_path):
    recorder = start_recorder("-o", tmp_path / "a.pyreel", "--", python3, program("spin"))
    recorder.wait_for_output()
    time.sleep(0.2)
    recorder.signal(signal.SIGINT)
    ended = recorder.wait()
    assert ended.code == 130, ended
    assert "KeyboardInterrupt" in ended.messages
    assert whole(tmp_path / "a.pyreel")["samples"] > 50


def test_a_key_on_the_terminal_reaches_the_command_once(python3, tmp_path):
    """^C goes to the whole foreground group; were it passed on too, the command would see two."""
    code = ("import signal, time\ncount = []\nsignal.signal(signal.SIGINT, lambda *_: count.append(1))\n"
            "print('ready', flush=True)\nend = time.time() + 1\nwhile time.time() < end: time.sleep(0.05)\n"
            "print('signals', len(count), flush=True)")
    pid, terminal = pty.fork()
    if pid == 0:
        os.execv(RECORD, [RECORD, "-o", str(tmp_path / "a.pyreel"), "--", python3, "-c", code])
    said = read_terminal(terminal, until=b"ready")
    time.sleep(0.2)
    os.write(terminal, b"\x03")
    said += read_terminal(terminal)
    _, status = os.waitpid(pid, 0)
    os.close(terminal)
    assert b"signals 1" in said
    assert os.waitstatus_to_exitcode(status) == 0
    assert whole(tmp_path / "a.pyreel")["ended"] == "stopped by a signal"


@pytest.mark.sanitized("programs that end or change while they are read")
def test_a_second_signal_ends_at_once(start_recorder, python3, program, tmp_path):
    recorder = start_recorder("-o", tmp_path / "a.pyreel", "--", python3, program("spin"), "-i")
    pid = int(recorder.wait_for_output().split()[1])
    try:
        time.sleep(0.2)
        recorder.signal(signal.SIGINT)
        wait_until(lambda: info(tmp_path / "a.pyreel")["complete"], "the file is ended while the command goes on")
        assert process_state(recorder.pid) in "SR", "it did not wait for the command, which ignores the signal"
        time.sleep(0.3)  # signals that come together are one
        recorder.signal(signal.SIGINT)
        recorder.process.wait(timeout=5)
        assert recorder.process.returncode == 130
        assert whole(tmp_path / "a.pyreel")["samples"] > 50
    finally:
        os.kill(pid, signal.SIGKILL)


@pytest.mark.parametrize("more, code, least", [([], 0, 1.0), (["--kill"], 143, 0.2)])
def test_the_duration_ends_the_recording_not_the_command(python3, program, tmp_path, more, code, least):
    started = time.monotonic()
    ended = run_record("-d", "0.2", *more, "-o", tmp_path / "a.pyreel", "--", python3, program("spin"), 1 if not more else 60)
    taken = time.monotonic() - started
    assert ended.code == code, ended
    assert least <= taken < 30
    figures = whole(tmp_path / "a.pyreel")
    assert figures["ended"] == "the duration was over"
    assert 0.2 <= figures["duration_s"] <= taken


def test_a_killed_recorder_leaves_what_it_wrote(spinning, start_recorder, tmp_path):
    path = tmp_path / "a.pyreel"
    recorder = start_recorder("-p", spinning.pid, "-o", path)
    time.sleep(2.3)
    recorder.signal(signal.SIGKILL)
    recorder.wait()
    told = convert("info", path, "--json")
    assert told.code == 0
    assert "not complete" in told.messages
    figures = info(path)
    assert figures["complete"] is False
    assert figures["samples"] > 500, "more than a second of samples was lost"
    for name in CONVERTERS:
        converted = convert(name, path, "-o", tmp_path / name)
        assert converted.code == 0
        assert "warning" in converted.messages and "not complete" in converted.messages
        assert convert(name, path, "--strict", "-o", tmp_path / name).code == 1
    assert convert("info", path, "--verify").code == 1
    assert "spin" in functions_of(path)
