# SPDX-License-Identifier: MIT
"""Signals, terminals, and programs that stand stopped: the command gets what it would get alone, and the file has its end."""

import os
import re
import signal
import time

import pytest

import gecko_check
from environment import CONVERTERS, RECORD, missing
from recording import attach, convert, end, gecko, parent_of, process_state, trace, wait_for_samples, wait_until, whole

ENDED = ("stopped by a signal", "the target ended")  # as the recorder noticed first
BASH = ("/bin/bash", "--noprofile", "--norc", "-i")

# Says what it got in a file: nobody reads what comes to a terminal that was closed.
NOTES_SIGNALS = """
import os, signal, sys, time
got, wanted = [], set(map(int, sys.argv[2:]))
for number in wanted:
    signal.signal(number, lambda number, _: got.append(number))
print("ready", os.getpid(), flush=True)
while set(got) != wanted:
    time.sleep(0.01)
time.sleep(0.3)  # in which none may come that is too many
with open(sys.argv[1] + ".new", "w") as file:
    file.write(" ".join(map(str, got)))
os.rename(sys.argv[1] + ".new", sys.argv[1])
"""
OWN_GROUP = "import os, runpy, sys\nos.%s\nsys.argv = ['']\nrunpy.run_path(%r)"


def has_ended(pid):
    return process_state(pid) in ("", "Z", "X")


# ---- a terminal that is closed ----

@pytest.mark.parametrize("options", [(), ("--no-priority",)], ids=" ".join)
def test_a_terminal_that_is_closed_under_a_shell(at_terminal, python3, program, tmp_path, options):
    """The shell sends a hangup to its job and ends, and the kernel sends the job another one."""
    path = tmp_path / "a.pyreel"
    shell = at_terminal(*BASH)
    shell.press(f"{RECORD} {' '.join(options)} -o {path} -- {python3} {program('spin')}\n")
    command = shell.read_ready()
    recorder = parent_of(command)
    wait_for_samples(path)
    shell.hang_up()
    wait_until(lambda: has_ended(command), "the command ends")
    wait_until(lambda: has_ended(recorder), "the recorder ends")
    assert whole(path)["ended"] in ENDED


@pytest.mark.short
def test_a_terminal_that_is_closed_under_the_recorder_alone(at_terminal, python3, program, tmp_path):
    """As with `ssh -t host pyreel-record ...`: only the leader of the session gets the hangup."""
    terminal = at_terminal(RECORD, "-o", tmp_path / "a.pyreel", "--", python3, program("spin"))
    command = terminal.read_ready()
    wait_for_samples(tmp_path / "a.pyreel")
    terminal.hang_up()
    assert terminal.wait() == 128 + signal.SIGHUP
    assert has_ended(command)
    assert whole(tmp_path / "a.pyreel")["ended"] in ENDED


def test_a_command_gets_the_hangup_that_it_would_get_alone(at_terminal, python3, tmp_path):
    """A leader gets SIGHUP, and SIGCONT behind it; and it may go on."""
    wanted = {signal.SIGHUP, signal.SIGCONT}
    for prefix in ((), (RECORD, "-o", tmp_path / "a.pyreel", "--")):
        told = tmp_path / "told"
        told.unlink(missing_ok=True)
        terminal = at_terminal(*prefix, python3, "-c", NOTES_SIGNALS, told, *map(int, wanted))
        terminal.read_ready()
        if prefix:
            wait_for_samples(tmp_path / "a.pyreel")
        terminal.hang_up()
        assert terminal.wait() == 0
        got = list(map(int, told.read_text().split()))
        assert set(got) == wanted and len(got) == len(wanted), prefix
    assert whole(tmp_path / "a.pyreel")["complete"]


def test_a_recorder_that_is_attached_ends_with_its_terminal(at_terminal, spinning, tmp_path):
    terminal = at_terminal(RECORD, "-p", spinning.pid, "-o", tmp_path / "a.pyreel")
    wait_until((tmp_path / "a.pyreel").exists, "the recording begins")
    terminal.hang_up()
    assert terminal.wait() == 0
    assert whole(tmp_path / "a.pyreel")["ended"] == "stopped by a signal"
    assert spinning.running


# ---- keys ----

@pytest.mark.short
def test_a_key_reaches_a_command_in_a_process_group_of_its_own(at_terminal, python3, program, tmp_path):
    """The terminal knows the group of the recorder only."""
    code = OWN_GROUP % ("setpgid(0, 0)", program("spin"))
    terminal = at_terminal(RECORD, "-o", tmp_path / "a.pyreel", "--", python3, "-c", code)
    command = terminal.read_ready()
    assert os.getpgid(command) == command
    wait_for_samples(tmp_path / "a.pyreel")
    terminal.press("\x03")
    assert terminal.wait() == 130
    assert whole(tmp_path / "a.pyreel")["ended"] in ENDED


def test_a_key_is_not_for_a_command_with_a_session_of_its_own(at_terminal, python3, program, tmp_path):
    code = OWN_GROUP % ("setsid()", program("spin"))
    terminal = at_terminal(RECORD, "-o", tmp_path / "a.pyreel", "--", python3, "-c", code)
    command = terminal.read_ready()
    try:
        terminal.press("\x03")
        terminal.read(b"stopped by a signal")
        assert not has_ended(command)
    finally:
        end(command)
    assert terminal.wait() == 128 + signal.SIGKILL


# ---- signals ----

def test_user_signals_do_not_end_an_attached_recorder(spinning, start_recorder, tmp_path):
    recorder = start_recorder("-p", spinning.pid, "-o", tmp_path / "a.pyreel")
    wait_until((tmp_path / "a.pyreel").exists, "the recording begins")
    for number in (signal.SIGUSR1, signal.SIGUSR2, signal.SIGWINCH):
        recorder.signal(number)
    recorder.wait_for_samples(tmp_path / "a.pyreel")
    recorder.signal(signal.SIGINT)
    assert recorder.wait().code == 0


def test_other_signals_end_an_attached_recording_with_a_whole_file(spinning, start_recorder, tmp_path):
    for number in (signal.SIGALRM, signal.SIGPWR, signal.SIGRTMIN + 3):
        path = tmp_path / f"{int(number)}.pyreel"
        recorder = start_recorder("-p", spinning.pid, "-o", path)
        wait_until(path.exists, "the recording begins")
        recorder.signal(number)
        assert recorder.wait().code == 0
        assert whole(path)["ended"] == "stopped by a signal"


@pytest.mark.parametrize("number", [signal.SIGUSR1, signal.SIGUSR2, signal.SIGWINCH, signal.SIGALRM, signal.SIGRTMIN + 3], ids=str)
def test_a_signal_that_means_nothing_to_the_recorder_is_for_the_command(start_recorder, python3, tmp_path, number):
    recorder = start_recorder("-o", tmp_path / "a.pyreel", "--", python3, "-c", NOTES_SIGNALS, tmp_path / "told", int(number))
    recorder.wait_for_output()
    recorder.wait_for_samples(tmp_path / "a.pyreel")
    recorder.signal(number)
    assert recorder.wait().code == 0
    assert (tmp_path / "told").read_text() == str(int(number))
    assert whole(tmp_path / "a.pyreel")["ended"] == "the target ended"


@pytest.mark.short
def test_a_recorder_that_is_killed_leaves_the_command_running(start_recorder, python3, program, tmp_path):
    recorder = start_recorder("-o", tmp_path / "a.pyreel", "--", python3, program("spin"))
    command = int(recorder.wait_for_output().split()[1])
    try:
        recorder.signal(signal.SIGKILL)
        recorder.exit_code()
        assert process_state(command) in ("R", "S")
    finally:
        end(command)


# ---- programs that stand stopped ----

def stop(pid):
    os.kill(pid, signal.SIGSTOP)
    wait_until(lambda: process_state(pid) == "T", "it stops")


STOPPED = r"pyreel-record: the program was stopped for \d+\.\d s"


@pytest.mark.parametrize("options", [(), ("--blocking",), ("--disturb", "0"), ("--rate", "100")], ids=" ".join)
def test_a_stopped_program_holds_no_lock_and_no_processor(spinning, tmp_path, options):
    stop(spinning.pid)
    ended = attach(spinning, tmp_path / "a.pyreel", *options)
    assert re.search(STOPPED, ended.messages), ended
    figures = whole(tmp_path / "a.pyreel")
    (thread,) = figures["threads"]
    assert thread["gil_percent"] == thread["cpu_percent"] == 0
    assert 0 < figures["stopped_s"] <= figures["duration_s"]
    assert re.search(r"\nstopped     \d+\.", convert("info", tmp_path / "a.pyreel").text)
    assert process_state(spinning.pid) == "T"


def test_a_program_that_was_stopped_for_a_while(spinning, start_recorder, tmp_path):
    path = tmp_path / "a.pyreel"
    recorder = start_recorder("-p", spinning.pid, "-o", path)
    before = recorder.wait_for_samples(path)["samples"]
    began = time.monotonic()
    stop(spinning.pid)
    later = recorder.wait_for_samples(path, before + 1000)["samples"]
    os.kill(spinning.pid, signal.SIGCONT)
    lasted = time.monotonic() - began
    recorder.wait_for_samples(path, later + 1000)
    recorder.signal(signal.SIGINT)
    ended = recorder.wait()
    assert re.search(STOPPED + r" of \d+\.\d s, by a signal\n", ended.messages), ended
    figures = whole(path)
    assert 0 < figures["stopped_s"] <= lasted + 0.002
    assert 0 < figures["threads"][0]["gil_percent"] < 100


def test_a_program_that_a_debugger_stopped(spinning, tmp_path):
    trace("seize", spinning.pid)
    trace("interrupt", spinning.pid)
    os.waitpid(spinning.pid, 0)
    ended = attach(spinning, tmp_path / "a.pyreel")
    trace("detach", spinning.pid)
    assert re.search(STOPPED + r" of \d+\.\d s, by a debugger\n", ended.messages), ended
    assert whole(tmp_path / "a.pyreel")["threads"][0]["gil_percent"] == 0
    assert re.search(r"\nstopped     \d+\.\d+ s, by a debugger\n", convert("info", tmp_path / "a.pyreel").text)


FREEZERS = {"version 1": ("/sys/fs/cgroup/freezer", "freezer.state", ("THAWED", "FROZEN")),
            "hybrid": ("/sys/fs/cgroup/unified", "cgroup.freeze", ("0", "1")),
            "version 2": ("/sys/fs/cgroup", "cgroup.freeze", ("0", "1"))}


def can_freeze(place, file, words):
    """Whether a cgroup can be made there, and frozen. A machine has one or two of the three."""
    folder = os.path.join(place, f"pyreel-freezer-{os.getpid()}")
    try:
        os.mkdir(folder)
    except OSError:
        return False
    try:
        return os.path.exists(os.path.join(folder, file))
    finally:
        os.rmdir(folder)


def test_something_can_be_frozen_here():
    """Else the test below would test nothing."""
    if not any(can_freeze(*freezer) for freezer in FREEZERS.values()):
        missing("a cgroup that can be frozen: it needs root, and a folder of /sys/fs/cgroup that can be written to")


@pytest.mark.parametrize("place, file, words", [pytest.param(*freezer, id=name) for name, freezer in FREEZERS.items()
                                                if can_freeze(*freezer)])
def test_a_program_that_is_frozen(place, file, words, spinning, start_recorder, tmp_path):
    """As in a container that is paused. It stands still, and neither works nor has the lock. Afterwards it is moved to another
    cgroup, which is frozen, too."""
    folders = [os.path.join(place, f"pyreel-{name}-{os.getpid()}") for name in ("frozen", "moved")]
    path = tmp_path / "a.pyreel"

    def write(folder, name, text):
        with open(os.path.join(folder, name), "w") as to:
            to.write(text)

    def frozen_for(folder, samples):
        """Freezes the cgroup for so many samples; for how many seconds that was."""
        before, began = recorder.wait_for_samples(path)["samples"], time.monotonic()
        write(folder, file, words[True])
        later = recorder.wait_for_samples(path, before + samples)["samples"]
        write(folder, file, words[False])
        lasted = time.monotonic() - began
        recorder.wait_for_samples(path, later + 1000)
        return lasted
    for folder in folders:
        os.mkdir(folder)
    try:
        write(folders[0], "cgroup.procs", str(spinning.pid))
        recorder = start_recorder("-p", spinning.pid, "-o", path)
        first = frozen_for(folders[0], 1000)
        write(folders[1], "cgroup.procs", str(spinning.pid))
        second = frozen_for(folders[1], 4000)
        recorder.signal(signal.SIGINT)
        ended = recorder.wait()
        assert re.search(r"pyreel-record: the program was frozen for \d+\.\d s of \d+\.\d s, by its cgroup\n", ended.messages), ended
        figures = whole(path)
        assert first + 0.5 < figures["figures"]["frozen_ns"] / 1e9 <= first + second + 0.004 and figures["stopped_s"] == 0
        assert 0 < figures["threads"][0]["gil_percent"] < 100
        for name in "info", "report":
            assert re.search(r"\nfrozen +\d+\.\d+ s, by the program's cgroup\n", convert(name, path).text)
        assert any(row["label"] == "Frozen" for part in gecko_check.load(gecko(path))["meta"]["extra"] for row in part["entries"])
    finally:
        for folder in folders:
            if os.path.exists(os.path.join(folder, file)):
                write(folder, file, words[False])
        end(spinning.pid)
        spinning.process.wait()
        for folder in folders:
            os.rmdir(folder)


def test_a_program_that_was_not_stopped(spinning, tmp_path):
    ended = attach(spinning, tmp_path / "a.pyreel")
    assert "the program was stopped" not in ended.messages
    assert whole(tmp_path / "a.pyreel")["stopped_s"] == 0


# ---- a recorder that stands stopped ----

def test_a_stop_of_the_recorder_is_a_pause(spinning, start_recorder, tmp_path):
    """Its time is neither missed nor anybody's."""
    path = tmp_path / "a.pyreel"
    recorder = start_recorder("-p", spinning.pid, "-r", "20k", "-o", path)
    samples = recorder.wait_for_samples(path)["samples"]
    paused = 0
    for _ in range(3):
        stop(recorder.pid)
        began = time.monotonic()
        time.sleep(0.3)  # as long as the pause is at least
        paused += time.monotonic() - began
        recorder.signal(signal.SIGCONT)
        samples = recorder.wait_for_samples(path, samples + 1)["samples"]
    recorder.signal(signal.SIGINT)
    ended = recorder.wait()
    assert ended.code == 0 and "pyreel-record: the recording paused for" in ended.messages, ended
    figures = whole(path)
    worked = figures["duration_s"] - paused
    assert figures["missed"] <= 20000 * worked
    (thread,) = figures["threads"]
    assert thread["wall_s"] <= worked + 0.02
    assert thread["cpu_s"] <= worked + 0.02
    for name in CONVERTERS:
        assert convert(name, path, "-o", tmp_path / name).code == 0


def test_suspended_and_in_the_foreground_again(at_terminal, python3, program, tmp_path):
    """^Z stops the recorder and the command together."""
    path = tmp_path / "a.pyreel"
    shell = at_terminal(*BASH)
    shell.press(f"{RECORD} -o {path} -- {python3} {program('spin')}\n")
    command = shell.read_ready()
    recorder = parent_of(command)
    wait_for_samples(path)
    shell.press("\x1a")
    shell.read(b"Stopped")
    wait_until(lambda: process_state(command) == process_state(recorder) == "T", "both stop")
    began = time.monotonic()
    time.sleep(0.5)  # as long as the pause is at least
    paused = time.monotonic() - began
    shell.press("fg\n")
    wait_until(lambda: process_state(command) in ("R", "S") and process_state(recorder) in ("R", "S"), "both go on")
    shell.press("\x03")
    shell.read(b"the recording paused for")
    shell.press("exit\n")
    shell.wait()
    figures = whole(path)
    assert figures["missed"] <= 1000 * (figures["duration_s"] - paused)
    assert figures["threads"][0]["wall_s"] <= figures["duration_s"] - paused + 0.02
