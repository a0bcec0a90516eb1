# SPDX-License-Identifier: MIT
"""--control and --delay: a script says when to record, and knows when the recorder does."""

import os
import re
import select
import signal
import time

import pytest

from recording import PATIENCE, collapsed, run_record, wait_until, waited, whole


class Control:
    """The other end of the two fifos."""

    def __init__(self, folder):
        self.paths = folder / "commands", folder / "answers"
        for path in self.paths:
            os.mkfifo(path)
        self.option = "--control", f"fifo:{self.paths[0]},{self.paths[1]}"
        self.answers = os.open(self.paths[1], os.O_RDWR)
        self.ahead = b""

    def say(self, *commands):
        """Writes commands, as a writer that comes and goes."""
        with open(self.paths[0], "w") as file:
            file.writelines(f"{command}\n" for command in commands)

    def hear(self):
        while b"\n" not in self.ahead:
            assert select.select([self.answers], [], [], PATIENCE)[0], "no answer"
            self.ahead += os.read(self.answers, 4096)
        line, _, self.ahead = self.ahead.partition(b"\n")
        return line.decode()

    def ask(self, command):
        """The answer to a command, and for how long it took."""
        self.say(command)
        began = time.monotonic()
        return self.hear(), time.monotonic() - began


@pytest.fixture
def control(tmp_path):
    made = Control(tmp_path)
    yield made
    os.close(made.answers)


def do(control, *commands):
    for command in commands:
        assert control.ask(command)[0] == "ack", command


def seconds_of(path, function, weight):
    lines = collapsed(path, "--functions", "--weight", weight, "--roots", "none").splitlines()
    return sum(int(line.rpartition(" ")[2]) for line in lines if re.search(rf"(^|;){function}( |$|;)", line)) / 1e6


@pytest.mark.short
@pytest.mark.pythons("oldest and newest")
@pytest.mark.parametrize("way", ["attached", "command", "tree", "parts"])
def test_what_is_enabled_is_recorded(way, control, start, start_recorder, python, program, tmp_path):
    """Of a program that works all the time, what lies in pauses is in no sample, and is no CPU time of a function."""
    path = tmp_path / "a.pyreel"
    options = {"tree": ("-f",), "parts": ("--rotate", "500ms")}.get(way, ())
    if way == "attached":
        target = start(*python.command, program("spin"))
        recorder = start_recorder("-p", target.pid, "-o", path, "--delay", "-1", *control.option, prefix=python.prefix)
    else:
        recorder = start_recorder("-o", path, "--delay", "-1", *options, *control.option, "--", *python.command, program("spin"), "told",
                                  prefix=python.prefix)
        recorder.wait_for_output()
    do(control, "ping")
    enabled = busy = 0
    for _ in range(2):
        time.sleep(0.3)  # of the pause
        do(control, "enable")
        began, before = time.monotonic(), waited(recorder.pid)
        time.sleep(0.5)  # of what is recorded
        do(control, "disable")
        enabled += time.monotonic() - began
        busy += waited(recorder.pid) - before
    time.sleep(0.3)
    do(control, "stop")
    paths = sorted(tmp_path.glob("*.pyreel"))
    assert len(paths) > 1 if way == "parts" else paths == [path]
    for part in paths[:-1]:
        whole(part)
    last = whole(paths[-1])
    assert last["ended"] == "stopped by --control"
    if way == "attached":
        assert recorder.wait().code == 0
    else:
        assert recorder.running  # the command runs on
        recorder.tell()
        ended = recorder.wait()
        assert ended.code == 0 and re.search(r"the recording paused for \d\.\d s", ended.messages), ended
    wall = sum(seconds_of(part, "spin", "wall") for part in paths)
    cpu = sum(seconds_of(part, "spin", "cpu") for part in paths)
    assert enabled - 0.1 - busy < wall < enabled + 0.1 + busy, (wall, enabled, busy)
    assert cpu < enabled + 0.1, (cpu, enabled)


def test_answers_come_soon(control, spinning, start_recorder, tmp_path):
    """Not only at the next tick: there is one in 10 seconds."""
    start_recorder("-p", spinning.pid, "-o", tmp_path / "a.pyreel", "-r", "0.1", *control.option)
    do(control, "ping")
    took = sorted(control.ask(command)[1] for command in ("disable", "enable", "ping") * 5)
    assert took[len(took) // 2] < 0.1, took


def test_what_is_no_command(control, spinning, start_recorder, tmp_path):
    recorder = start_recorder("-p", spinning.pid, "-o", tmp_path / "a.pyreel", *control.option)
    assert control.ask("bogus")[0] == "error there is no command 'bogus'; there are enable, disable, stop, ping and snapshot"
    assert control.ask("x" * 100000)[0] == "error a line has more than 63 bytes"
    assert control.ask("snapshot")[0].startswith("error snapshot needs --flight-recorder")
    for _ in range(9):
        control.say("bogus")
        assert control.hear().startswith("error")
    do(control, "ping", "stop")
    ended = recorder.wait()
    assert ended.code == 0 and ended.messages.count("--control: ") == 5, ended
    whole(tmp_path / "a.pyreel")


def test_commands_without_a_reader_of_the_answers(control, spinning, start_recorder, tmp_path):
    recorder = start_recorder("-p", spinning.pid, "-o", tmp_path / "a.pyreel", *control.option)
    for _ in range(20):
        control.say(*["ping"] * 1000)  # 80 kB of answers
    control.say("stop")
    assert recorder.wait().code == 0
    whole(tmp_path / "a.pyreel")


def test_a_snapshot_is_complete_when_it_is_answered(control, spinning, start_recorder, tmp_path):
    recorder = start_recorder("-p", spinning.pid, "-o", tmp_path / "a.pyreel", "--flight-recorder", "60", *control.option)
    do(control, "enable")
    for number in 1, 2:
        wait_until(lambda: control.ask("snapshot")[0] == "ack", "there is something to write")
        written = sorted(tmp_path.glob("a-*.pyreel"))
        for path in written:
            assert whole(path)["samples"] > 0
        assert len(written) >= number
        do(control, "disable")  # the second one is written in a pause
    do(control, "stop")
    assert recorder.wait().code == 0


def test_a_delay_ends_by_itself(start_recorder, python3, program, tmp_path):
    """--duration begins behind it. The command has begun at once."""
    path = tmp_path / "a.pyreel"
    recorder = start_recorder("-o", path, "--delay", "700ms", "-d", "500ms", "--kill", "--", python3, program("spin"))
    recorder.wait_for_output()
    ended = recorder.wait()
    assert ended.code == 128 + signal.SIGTERM
    found = whole(path)
    assert found["ended"] == "the duration was over"
    assert found["threads"][0]["wall_s"] < 0.6 < 1.15 < found["duration_s"]


def test_a_program_that_ends_in_the_delay(tmp_path, python3):
    ended = run_record("-o", tmp_path / "a.pyreel", "--delay", "1h", "--", python3, "-c", "pass")
    assert ended.code == 0 and "the recording paused to the end" in ended.messages, ended


def test_a_fifo_that_is_not_there(tmp_path, python3):
    for option, code, words in (("--control", 125, "make it first, with mkfifo"), ("--delay", 2, "--delay -1 needs --control")):
        value = f"fifo:{tmp_path}/none" if option == "--control" else "-1"
        ended = run_record(option, value, "-o", tmp_path / "a.pyreel", "--", python3, "-c", "print('began')")
        assert ended.code == code and words in ended.messages and not ended.text, ended
        assert not (tmp_path / "a.pyreel").exists()
