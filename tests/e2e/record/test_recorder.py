# SPDX-License-Identifier: MIT
"""pyreel-record starts programs, attaches to them, stops when told to, and always leaves a whole file."""

import json
import os
import re
import signal
import time

import pytest

import gecko_check
import stacks
from environment import CONVERTERS, RECORD, need_command, need_root, pythons
from recording import (CHANGES, COUNTS, attach, collapsed, convert, descendants, end, gecko, info, pprof, process_state,
                       record_told, run, run_record, succeed, wait_for_samples, wait_until, whole)


def functions_of(path):
    """The names of all functions in a recording."""
    threads = stacks.of_collapsed(collapsed(path, "--full-paths"))
    return {frame[0] for seen in threads.values() for stack in seen for frame in stack}


def outputs_agree(path):
    """Each output shows the same stacks, all threads taken together. What it says of time is for tests/e2e/outputs."""
    shown = stacks.merged(stacks.of_collapsed(collapsed(path, "--full-paths")))
    succeed(CONVERTERS["gecko"], "--full-paths", *COUNTS, path)
    for other in (stacks.of_gecko(f"{path}.json.gz"), stacks.of_pprof(pprof(path))):
        assert stacks.differences({"all": stacks.merged(other)}, {"all": shown}) == ""
    return True


# ---- attaching ----

@pytest.mark.short
@pytest.mark.pythons("each build")
def test_attaches_to_a_running_program(python, start, program, tmp_path):
    prefix = need_root() if python.root else ()
    target = start(*prefix, *python.command, program("spin"))
    path = tmp_path / "a.pyreel"
    attach(target, path, prefix=prefix)
    figures = whole(path)
    assert figures["attached"] is True
    assert figures["ended"] == "stopped by a signal"
    assert figures["python"] == python.full_version
    assert [process["pid"] for process in figures["processes"]] == [target.pid]
    seen = stacks.of_thread(stacks.of_collapsed(collapsed(path)), stacks.MAIN)
    assert stacks.samples(seen, "spin") == sum(seen.values()) == figures["samples"]
    assert target.running, "the program that was looked at got the signal"


@pytest.mark.pythons("oldest and newest")
def test_threads_are_in_the_order_in_which_they_began(python, start, program, tmp_path):
    """The interpreter's list begins with the newest thread."""
    prefix = need_root() if python.root else ()
    target = start(*prefix, *python.command, program("lined_up"), 7)
    began = [int(tid) for tid in target.read_line().split()]
    path = tmp_path / "a.pyreel"
    attach(target, path, prefix=prefix)
    assert [thread["tid"] for thread in whole(path)["threads"]] == began
    assert [thread["tid"] for thread in gecko_check.load(gecko(path))["threads"]] == began


def test_attaching_ends_well_when_the_program_ends(start, start_recorder, python3, program, tmp_path):
    target = start(python3, program("dies"), 3, "told")
    recorder = start_recorder("-p", target.pid, "-o", tmp_path / "a.pyreel")
    recorder.wait_for_samples(tmp_path / "a.pyreel")
    target.tell()
    ended = recorder.wait()
    assert ended.code == 0, ended
    figures = whole(tmp_path / "a.pyreel")
    assert (figures["ended"], figures["exit_code"]) == ("the target ended", None)


@pytest.mark.sanitized("programs that end or change while they are read")
def test_attaching_ends_well_when_the_program_is_killed(spinning, start_recorder, tmp_path):
    recorder = start_recorder("-p", spinning.pid, "-o", tmp_path / "a.pyreel", "-r", "10k")
    recorder.wait_for_samples(tmp_path / "a.pyreel")
    os.kill(spinning.pid, signal.SIGKILL)
    assert recorder.wait().code == 0
    assert whole(tmp_path / "a.pyreel")["ended"] == "the target ended"


def test_sigterm_ends_an_attached_recording_with_a_whole_file(spinning, start_recorder, tmp_path):
    recorder = start_recorder("-p", spinning.pid, "-o", tmp_path / "a.pyreel")
    wait_until((tmp_path / "a.pyreel").exists, "the recording begins")
    recorder.signal(signal.SIGTERM)
    assert recorder.wait().code == 0
    assert whole(tmp_path / "a.pyreel")["ended"] == "stopped by a signal"
    assert spinning.running


def test_the_program_is_left_as_it_was(spinning, tmp_path):
    before = open(f"/proc/{spinning.pid}/maps").read()
    attach(spinning, tmp_path / "a.pyreel", "-r", "10k", samples=1000)
    assert process_state(spinning.pid) in "RS"
    assert "TracerPid:\t0\n" in open(f"/proc/{spinning.pid}/status").read()
    assert open(f"/proc/{spinning.pid}/maps").read() == before


def test_a_stopped_program_can_be_looked_at_and_stays_stopped(spinning, tmp_path):
    os.kill(spinning.pid, signal.SIGSTOP)
    wait_until(lambda: process_state(spinning.pid) == "T", "the program stops")
    attach(spinning, tmp_path / "a.pyreel")
    assert "spin" in functions_of(tmp_path / "a.pyreel")
    assert process_state(spinning.pid) == "T"


def test_a_program_in_another_pid_namespace_is_told_in_our_pids(start, python3, program, tmp_path):
    unshare = need_command("unshare")
    outer = start(*need_root(), unshare, "--pid", "--fork", "--mount-proc", "--kill-child", python3, program("small"))
    assert outer.pid == 1, "it is the first of its namespace"
    outer.pid = outer.process.pid
    wait_until(lambda: descendants(outer.pid), "the namespace has its first process")
    pid = descendants(outer.pid)[-1]
    wait_until(lambda: len(os.listdir(f"/proc/{pid}/task")) == 2, "both threads run")
    attach(pid, tmp_path / "a.pyreel", prefix=need_root())
    figures = whole(tmp_path / "a.pyreel")
    assert [process["pid"] for process in figures["processes"]] == [pid]
    names = {int(tid): "Thread-1 (idle)" for tid in os.listdir(f"/proc/{pid}/task")}
    names[pid] = open(f"/proc/{pid}/comm").read().strip()
    assert {thread["tid"]: thread["kernel_name"] for thread in figures["threads"]} == names
    threads = stacks.of_collapsed(collapsed(tmp_path / "a.pyreel"))
    assert set(threads) == {(stacks.MAIN if tid == pid else name, tid) for tid, name in names.items()}
    assert stacks.samples(stacks.of_thread(threads, stacks.MAIN), "work") > 0


# ---- running a command ----

@pytest.mark.short
@pytest.mark.pythons("oldest and newest")
@pytest.mark.parametrize("how, code", [(3, 3), (-signal.SIGKILL, 137)])
def test_exits_as_the_command_did(python, program, tmp_path, how, code):
    path = tmp_path / "a.pyreel"
    ended = record_told(path, "--", *python.command, program("dies"), how, "told", function="work",
                        prefix=need_root() if python.root else ())
    assert ended.code == code, ended
    figures = whole(path)
    assert (figures["ended"], figures["exit_code"], figures["attached"]) == ("the target ended", code, False)
    assert figures["python"] == python.full_version
    assert "work" in functions_of(path)


@pytest.mark.short
def test_the_commands_output_and_arguments_are_its_own(python3, tmp_path):
    code = "import sys; print(sys.argv[1:]); print('to errors', file=sys.stderr)"
    ended = run_record("-q", "-o", tmp_path / "a.pyreel", python3, "-c", code, "-o", "x y", "--help")
    assert ended.text == "['-o', 'x y', '--help']\n"
    assert ended.messages == "to errors\n"


def test_the_command_reads_our_standard_input(python3, tmp_path):
    ended = run_record("-o", tmp_path / "a.pyreel", "--", python3, "-c", "print(input())", input=b"hello\n")
    assert ended.text == "hello\n"


def test_of_a_program_that_forks_the_parent_is_recorded(python3, program, tmp_path):
    ended = record_told(tmp_path / "a.pyreel", "--", python3, program("forks"), "told", function="of_parent")
    parent, child = map(int, ended.text.split())
    figures = whole(tmp_path / "a.pyreel")
    assert [process["pid"] for process in figures["processes"]] == [parent]
    functions = functions_of(tmp_path / "a.pyreel")
    assert "of_parent" in functions
    assert "of_child" not in functions


@pytest.mark.sanitized("programs that end or change while they are read")
def test_a_python_that_becomes_another_is_recorded_as_two(record_becoming, python3, program, tmp_path):
    ours = next(p for p in pythons() if p.command == (python3,))
    other = next((p.command[0] for p in reversed(pythons()) if not p.root and not p.own and p.version != ours.version), python3)
    path = tmp_path / "a.pyreel"
    figures = record_becoming(path, other, 7)
    first, second = figures["processes"]
    assert first["pid"] == second["pid"]
    assert first["end_s"] <= second["start_s"]
    assert first["python"] == ours.full_version
    assert second["command"] == f"{other} {program('dies')} 7 told"
    rows = re.findall(rf"^ *{first['pid']} .*", convert("info", path).text, re.M)
    assert len([row for row in rows if " exec" in row or " exit 7" in row]) == 2
    assert outputs_agree(path)


def test_a_python_that_becomes_another_program_is_waited_for(start_recorder, python3, program, tmp_path):
    path = tmp_path / "a.pyreel"
    recorder = start_recorder("-o", path, "--", python3, program("becomes"), "told", "/bin/sh", "-c", "cat; exit 4")
    recorder.wait_for_functions(path, "before")
    assert recorder.wait().code == 4
    figures = whole(path)
    assert len(figures["processes"]) == 1
    assert figures["exit_code"] == 4


def test_attached_to_a_python_that_becomes_another_program(start, start_recorder, python3, program, tmp_path):
    target = start(python3, program("becomes"), "told", "/bin/sleep", "600")
    recorder = start_recorder("-p", target.pid, "-o", tmp_path / "a.pyreel")
    recorder.wait_for_samples(tmp_path / "a.pyreel")
    target.tell()
    ended = recorder.wait()
    assert ended.code == 0, ended
    assert whole(tmp_path / "a.pyreel")["ended"] == "the target became another program"
    assert target.running


def test_a_shell_that_becomes_a_python_is_recorded(start_recorder, python3, program, tmp_path):
    path = tmp_path / "a.pyreel"
    recorder = start_recorder("-o", path, "--", "sh", "-c", f"echo ready; read line; exec {python3} {program('dies')} 5 told")
    recorder.wait_for_output()
    recorder.tell(b"\n")
    recorder.wait_for_functions(path, "work")
    assert recorder.wait().code == 5


def test_a_program_without_a_sample_leaves_a_whole_file_and_a_word(start_recorder, python3, program, tmp_path):
    recorder = start_recorder("-v", "-r", "0.01", "-o", tmp_path / "a.pyreel", "--", python3, program("dies"), "0", "told")
    recorder.wait_for_message("runs CPython")
    ended = recorder.wait()
    assert ended.code == 0
    if whole(tmp_path / "a.pyreel")["samples"] == 0:  # as 99 of 100 times: the first tick comes at random
        assert "no sample was taken: the program ended before the first tick" in ended.messages
    for name in CONVERTERS:
        converted = convert(name, tmp_path / "a.pyreel")
        assert (converted.code, converted.messages) == (0, "")


@pytest.mark.short
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
    assert ended.code == 143, ended
    assert re.search("there is no recording; (stopped by a signal|the target ended)\n", ended.messages), ended  # as it noticed first
    assert os.listdir(tmp_path) == []


@pytest.mark.sanitized("programs that end or change while they are read")
@pytest.mark.short
def test_threads_that_come_and_go_are_recorded(start_recorder, python3, program, tmp_path):
    path = tmp_path / "a.pyreel"
    recorder = start_recorder("-o", path, "--", python3, program("churn"), "told")
    recorder.wait_for(path, lambda found: len(found["threads"]) > 20, "20 threads")
    started = int(recorder.wait().text.split()[-1])
    figures = whole(path)
    assert figures["failures"].keys() <= CHANGES
    workers = [thread for thread in figures["threads"] if not thread["main"]]
    assert 20 <= len(workers) <= started
    assert len({thread["tid"] for thread in workers}) == len(workers)
    for thread in workers:
        assert 0 < thread["start_s"] <= thread["end_s"] <= figures["duration_s"]
    seen = stacks.of_collapsed(collapsed(path))
    assert outputs_agree(path)
    of_workers = [stack for (name, _), found in seen.items() if name != stacks.MAIN for stack in found]
    assert {stack[0][0] for stack in of_workers} <= {"Thread._bootstrap", "<no Python frames>"}


FIFTY_THREADS = """
import sys, threading
end = threading.Event()
threads = [threading.Thread(target=end.wait, name=f"waiter-{i}") for i in range(50)]
for thread in threads:
    thread.start()
sys.stdin.read()
end.set()
"""


def test_info_shows_the_threads_with_most_cpu_time_or_all(start_recorder, python3, tmp_path):
    path = tmp_path / "a.pyreel"
    recorder = start_recorder("-o", path, "--", python3, "-c", FIFTY_THREADS)
    names = {stacks.MAIN, *(f"waiter-{i}" for i in range(50))}
    recorder.wait_for(path, lambda found: {thread["name"] for thread in found["threads"]} == names, "all threads and their names")
    assert recorder.wait().code == 0
    threads = info(path)["threads"]
    rows = [(thread["samples"], str(thread["tid"])) for thread in threads]
    assert len(rows) == 51

    def shown(*options):
        lines = convert("info", path, *options).text.splitlines()
        words = [line.split() for line in lines if re.match(r" *\d+ +\d+ +\d+ .* (MainThread|waiter-\d+)$", line)]
        return [(int(samples), tid) for _, tid, samples, *_ in words]

    assert shown("--all") == rows
    assert len(shown()) == 40 and set(shown()) < set(rows) and shown() == [row for row in rows if row in shown()]
    of_shown, of_others = ([thread["cpu_s"] for thread in threads if (str(thread["tid"]) in {tid for _, tid in shown()}) == is_shown]
                           for is_shown in (True, False))
    assert min(of_shown) >= max(of_others)
    assert " and 11 more threads (--all shows them)\n" in convert("info", path).text


def test_only_the_main_thread_when_asked(start, python3, program, tmp_path):
    attach(start(python3, program("small")), tmp_path / "a.pyreel", "-t", "main")
    figures = whole(tmp_path / "a.pyreel")
    assert figures["threads_option"] == "main"
    assert [thread["name"] for thread in figures["threads"]] == [stacks.MAIN]
    assert "work" in functions_of(tmp_path / "a.pyreel")


@pytest.mark.short
@pytest.mark.pythons("newest", since="3.13")
def test_sub_interpreters_are_recorded(python, program, start_recorder, tmp_path):
    path = tmp_path / "a.pyreel"
    recorder = start_recorder("-o", path, "--", *python.command, program("interpreters"), prefix=need_root() if python.root else ())
    recorder.wait_for_functions(path, "above", "below")
    assert recorder.wait().code == 0
    tids = [thread["tid"] for thread in whole(path)["threads"]]
    assert len(tids) == len(set(tids))
    assert outputs_agree(path)


@pytest.mark.short
def test_no_more_samples_are_taken_than_were_asked_for(spinning, tmp_path):
    """Fewer, where the machine has no time for them: they are missed."""
    attach(spinning, tmp_path / "a.pyreel", "-r", "0.1k")
    figures = whole(tmp_path / "a.pyreel")
    assert figures["rate_hz"] == 100
    assert figures["ticks"] <= 100 * figures["duration_s"] + 8 + 1  # the moments of 8 ticks are drawn together


# ---- stopping ----

@pytest.mark.short
@pytest.mark.pythons("oldest and newest")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=lambda number: number.name)
def test_a_signal_is_passed_on_to_the_command_and_its_end_awaited(python, start_recorder, program, tmp_path, number):
    path = tmp_path / "a.pyreel"
    recorder = start_recorder("-o", path, "--", *python.command, program("spin"), prefix=need_root() if python.root else ())
    recorder.wait_for_functions(path, "spin")
    recorder.signal(number)
    ended = recorder.wait()
    assert ended.code == 128 + number, ended
    assert ("KeyboardInterrupt" in ended.messages) == (number == signal.SIGINT)
    assert "spin" in functions_of(path) and whole(path)["complete"]


SAYS_HOW_MANY = """
import os, signal, time
count = []
signal.signal(signal.SIGINT, lambda *_: count.append(1))
print("ready", os.getpid(), flush=True)
while not count:
    time.sleep(0.01)
time.sleep(0.5)  # in which none may come that is too many
print("signals", len(count), flush=True)
"""


def test_a_key_on_the_terminal_reaches_the_command_once(at_terminal, python3, tmp_path):
    """^C goes to the whole foreground group; were it passed on too, the command would see two."""
    terminal = at_terminal(RECORD, "-o", tmp_path / "a.pyreel", "--", python3, "-c", SAYS_HOW_MANY)
    terminal.read_ready()
    wait_for_samples(tmp_path / "a.pyreel")
    terminal.press("\x03")
    terminal.read(b"signals 1")
    assert terminal.wait() == 0
    assert whole(tmp_path / "a.pyreel")["ended"] in ("stopped by a signal", "the target ended")  # as the recorder noticed first


@pytest.mark.sanitized("programs that end or change while they are read")
@pytest.mark.short
def test_a_second_signal_ends_at_once(start_recorder, python3, program, tmp_path):
    path = tmp_path / "a.pyreel"
    recorder = start_recorder("-o", path, "--", python3, program("spin"), "-i")
    pid = int(recorder.wait_for_output().split()[1])
    try:
        recorder.wait_for_functions(path, "spin")
        recorder.signal(signal.SIGINT)
        recorder.wait_for(path, lambda found: found["complete"], "the end of the file")
        assert recorder.running, "it did not wait for the command, which ignores the signal"
        time.sleep(0.2)  # signals within a tenth of a second are one
        recorder.signal(signal.SIGINT)
        assert recorder.exit_code() == 130
        assert process_state(pid) in ("R", "S")
    finally:
        end(pid)
    assert "spin" in functions_of(path)


@pytest.mark.short
@pytest.mark.pythons("oldest and newest")
def test_a_killed_recorder_leaves_what_it_wrote(python, start, program, start_recorder, tmp_path):
    prefix = need_root() if python.root else ()
    path = tmp_path / "a.pyreel"
    recorder = start_recorder("-p", start(*prefix, *python.command, program("spin")).pid, "-o", path, prefix=prefix)
    seen = recorder.wait_for_samples(path)["samples"]
    recorder.signal(signal.SIGKILL)
    recorder.wait()
    told = convert("info", path, "--json")
    assert told.code == 0
    assert "is not complete: it has no end (was the recorder killed?)" in told.messages
    figures = info(path)
    assert figures["complete"] is False
    assert figures["samples"] >= seen
    for name in CONVERTERS:
        converted = convert(name, path, "-o", tmp_path / name)
        assert converted.code == 0
        assert "warning" in converted.messages and "not complete" in converted.messages
        assert convert(name, path, "--strict", "-o", tmp_path / name).code == 1
    assert convert("info", path, "--verify").code == 1
    assert "spin" in functions_of(path)
