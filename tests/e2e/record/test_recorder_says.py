# SPDX-License-Identifier: MIT
"""What pyreel-record says, where its recordings go, and what it refuses."""

import os
import re
import subprocess

import pytest

from environment import RECORD, missing, old_python
from recording import PATIENCE, attach, convert, info, run_record, whole


# ---- where the recording goes ----

@pytest.mark.sanitized("none: a pipe, and a terminal, is written to")
@pytest.mark.short
def test_a_recording_can_go_into_a_pipe(start_recorder, python3, program):
    recorder = start_recorder("-o", "-", "--", python3, program("spin"), "told")
    output = b""
    while convert("collapsed", "-", input=output).text.count("spin (") == 0:
        piece = recorder.process.stdout.read(65536)
        assert piece, recorder.wait()
        output += piece
    ended = recorder.wait()
    assert ended.code == 0
    told = convert("info", "-", "--verify", "--json", input=output + ended.output)
    assert told.code == 0 and told.messages == "", told


def test_what_the_command_prints_does_not_get_into_the_pipe(python3):
    ended = run_record("-q", "-o", "-", "--", python3, "-c", "print('printed')")
    assert ended.messages == "printed\n"
    assert convert("info", "-", "--verify", input=ended.output).code == 0


def test_a_closed_pipe_is_an_error_with_a_message(python3, program):
    reader, writer = os.pipe()
    os.close(reader)
    process = subprocess.run([RECORD, "-o", "-", "--", python3, program("dies"), "0"], stdin=subprocess.DEVNULL, stdout=writer,
                             stderr=subprocess.PIPE, timeout=PATIENCE)
    os.close(writer)
    assert process.returncode == 125
    assert b"Broken pipe" in process.stderr


@pytest.mark.parametrize("command, name", [(["{python}", "{spin}", "told"], "spin"), (["sh", "-c", "exec {python} {spin} told"], "sh"),
                                           (["{python}", "-m", "timeit", "-n1", "-r1", "input()"], "timeit")])
def test_the_default_name_tells_program_and_pid(start_recorder, python3, program, tmp_path, command, name):
    command = [part.format(python=python3, spin=program("spin")) for part in command]
    recorder = start_recorder("-v", "--", *command, cwd=tmp_path)
    recorder.wait_for_message("runs CPython")
    recorder.tell(b"0\n")
    ended = recorder.wait()
    (made,) = os.listdir(tmp_path)
    assert re.fullmatch(rf"{name}-\d+\.pyreel", made)
    assert made in ended.messages
    (process,) = whole(tmp_path / made)["processes"]
    assert f"-{process['pid']}." in made


def test_the_default_name_when_attaching(spinning, tmp_path):
    run_record("-p", spinning.pid, "-d", "0.1", cwd=tmp_path)
    assert os.listdir(tmp_path) == [f"spin-{spinning.pid}.pyreel"]


def test_a_file_that_cannot_be_written_is_said_before_anything_runs(tmp_path):
    made = tmp_path / "made"
    ended = run_record("-o", tmp_path / "no" / "such" / "folder.pyreel", "--", "touch", made)
    assert ended.code == 125
    assert "No such file or directory" in ended.messages and "folder.pyreel" in ended.messages
    assert not made.exists()


# ---- what it says ----

def test_quiet_is_silent(spinning, tmp_path):
    ended = run_record("-q", "-p", spinning.pid, "-d", "0.1", "-o", tmp_path / "a.pyreel")
    assert (ended.code, ended.output, ended.messages) == (0, b"", "")


@pytest.mark.short
def test_a_summary_and_no_progress_without_a_terminal(spinning, tmp_path):
    path = tmp_path / "a.pyreel"
    ended = attach(spinning, path)
    line, *more = ended.messages.splitlines()
    assert more[-1] == f"pyreel-record: next: pyreel report {path}" and all(text.startswith("pyreel-record: ") for text in more)
    figures = info(path)
    said = re.search(re.escape(f"{path}: {figures['samples']} samples in ") + r"(\S+) s \((\S+) a second, .*overhead\), (.*)$", line)
    assert float(said[1]) == pytest.approx(figures["duration_s"], abs=0.06)  # the file has it in whole units of time
    assert float(said[2]) == pytest.approx(figures["ticks"] / figures["duration_s"], rel=0.05, abs=0.6)
    missing = [f"{figures[what]} {what}" for what in ("missed", "failed") if figures[what]]
    assert said[3] == (", ".join(missing) or "none missed")
    assert "\r" not in ended.messages and "\x1b" not in ended.messages


@pytest.mark.short
def test_all_figures_when_asked(spinning, tmp_path):
    path = tmp_path / "a.pyreel"
    ended = attach(spinning, path, "-v")
    figures = info(path)
    assert f"1 thread, {figures['ticks']} ticks, {figures['missed']} missed, {figures['failed']} failed samples" in ended.messages
    assert "of the samples are exact (one proven moment)" in ended.messages
    assert re.search(r"sampling took [\d.]+ % of a processor from the program", ended.messages)


PROGRESS = rb"recording ([\d.]+) s, (\d+) samples, (\d+) ticks/s, (\d+) missed, (\d+) failed, ([\d.]+ \w+)"


@pytest.mark.sanitized("none: a pipe, and a terminal, is written to")
def test_progress_on_a_terminal(at_terminal, spinning, tmp_path):
    terminal = at_terminal(RECORD, "-p", spinning.pid, "-o", tmp_path / "a.pyreel")
    for _ in range(3):
        terminal.read(b"\r")
        terminal.read(b"\x1b[K")
    terminal.press("\x03")
    terminal.read(b"next: pyreel report")
    shown = [float(line[0]) for line in re.findall(PROGRESS, terminal.said)]
    assert len(shown) >= 3 and shown == sorted(shown)
    assert b"\r\x1b[K" in terminal.said, "the progress line is not taken away"
    assert terminal.wait() == 0


def test_a_recording_is_refused_on_a_terminal(at_terminal, tmp_path):
    terminal = at_terminal("/bin/sh", "-c", 'cd "$1" && exec "$2" -o - -- touch ran', "sh", tmp_path, RECORD)
    terminal.read(b"standard output is a terminal")
    assert terminal.wait() == 2
    assert os.listdir(tmp_path) == []


# ---- what cannot be done ----

@pytest.mark.short
def test_a_command_that_does_not_exist(tmp_path):
    ended = run_record("--", "no-such-command-here", cwd=tmp_path)
    assert ended.code == 127
    assert "no-such-command-here" in ended.messages and "No such file or directory" in ended.messages
    assert os.listdir(tmp_path) == []


@pytest.mark.short
@pytest.mark.parametrize("name", ["app.py", "./app.py"])
def test_a_python_file_is_run_by_python(tmp_path, name):
    (tmp_path / "app.py").write_text("import sys; print(sys.argv); sys.exit(7)")
    ended = run_record("-o", "a.pyreel", "--", name, "-x", cwd=tmp_path)
    assert ended.code == 7 and ended.text == f"{[name, '-x']}\n"
    assert ended.messages.startswith(f"pyreel-record: running {name} with python3\n")


def test_a_python_file_that_can_be_executed_runs_by_itself(tmp_path):
    (tmp_path / "app.py").write_text("#!/bin/sh\necho shell")
    (tmp_path / "app.py").chmod(0o755)
    ended = run_record("--", "./app.py", cwd=tmp_path)
    assert (ended.code, ended.text) == (0, "shell\n") and "with python3" not in ended.messages


def test_the_number_of_a_process_is_no_command(spinning, tmp_path):
    ended = run_record(spinning.pid, cwd=tmp_path)
    assert ended.code == 127 and f"pyreel record -p {spinning.pid}" in ended.messages
    assert os.listdir(tmp_path) == []


@pytest.mark.short
def test_a_command_that_cannot_be_executed(tmp_path):
    (tmp_path / "plain").write_text("not a program")
    ended = run_record("-o", "a.pyreel", "--", "./plain", cwd=tmp_path)
    assert ended.code == 126
    assert "./plain" in ended.messages and "Permission denied" in ended.messages
    assert os.listdir(tmp_path) == ["plain"]


@pytest.mark.short
def test_a_process_that_does_not_exist(tmp_path):
    gone = subprocess.Popen(["true"])
    gone.wait()
    ended = run_record("-p", gone.pid, cwd=tmp_path)
    assert ended.code == 125
    assert f"there is no process {gone.pid}" in ended.messages
    assert os.listdir(tmp_path) == []


@pytest.mark.sanitized("programs that are no CPython of ours")
def test_a_process_that_is_no_python(tmp_path):
    sleep = subprocess.Popen(["sleep", "30"])
    try:
        ended = run_record("-p", sleep.pid, cwd=tmp_path)
    finally:
        sleep.kill()
        sleep.wait()
    assert ended.code == 125
    assert f"process {sleep.pid}" in ended.messages and "CPython" in ended.messages
    assert "3.11" in ended.messages and "3.15" in ended.messages
    assert os.listdir(tmp_path) == []


@pytest.mark.sanitized("the command line")
@pytest.mark.short
@pytest.mark.parametrize("arguments", [[], ["-p", "1", "--", "true"], ["-p", "x", ], ["-p", "0"], ["-r", "fast", "--", "true"],
                                       ["-r", "0", "--", "true"], ["-d", "-1", "--", "true"], ["-t", "", "--", "true"],
                                       ["--kill", "--", "true"], ["--no-such-option"],
                                       ["-m", "sideways", "--", "true"], ["--compression", "zip", "--", "true"]])
def test_misuse(arguments, tmp_path):
    ended = run_record(*arguments, cwd=tmp_path)
    assert ended.code == 2, ended
    assert ended.output == b""
    assert ended.messages.startswith("pyreel-record: ")
    assert os.listdir(tmp_path) == []


@pytest.mark.sanitized("programs that are no CPython of ours")
def test_an_old_python_is_named_and_runs_on(start_recorder, tmp_path):
    old = old_python() or missing("CPython 3.10 or older")
    recorder = start_recorder("-o", tmp_path / "a.pyreel", "--", *old.command, "-c", "input(); print('done')")
    line = recorder.wait_for_message(old.version)
    recorder.tell(b"\n")
    ended = recorder.wait()
    assert (ended.code, ended.text) == (125, "done\n")
    assert "3.11" in line and "3.15" in line
    assert os.listdir(tmp_path) == []


def test_attaching_to_an_old_python(start, program, tmp_path):
    old = old_python() or missing("CPython 3.10 or older")
    target = start(*old.command, program("spin"))
    ended = run_record("-p", target.pid, cwd=tmp_path)
    assert ended.code == 125
    assert old.version in ended.messages and "3.11" in ended.messages
    assert os.listdir(tmp_path) == []
    assert target.running
