# SPDX-License-Identifier: MIT
"""The live view, as a terminal shows it."""

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import time

import pytest

import enough
from environment import CONVERTERS, RECORD, TOP, python_of
from live_view import LiveView
from recording import ENVIRONMENT, PATIENCE, Talk, info, process_state, run, succeed, wait_until, whole

pytestmark = pytest.mark.pythons("newest")

COLOUR = re.compile(rb"\x1b\[(?:\d+;)*3[0-7](?:;\d+)*m")
FULL = ("--disturb", "100")


@pytest.fixture
def view():
    """view(ARGUMENT...): pyreel-top with these arguments, ended with the test."""
    started = []

    def start(*arguments, program=TOP, **more):
        started.append(LiveView(program, *arguments, **more))
        return started[-1]

    yield start
    for found in reversed(started):
        found.close()


@pytest.fixture(scope="module")
def path(python3, program, tmp_path_factory):
    """A recording that is complete."""
    return enough.record(tmp_path_factory.mktemp("top") / "a.pyreel", python3, program("viewed"), 0, samples=2000)


def rows(view):
    """The names of the table, as far as they are on the screen."""
    return [line[33:].split()[0] for line in view.screen.display[5:-1] if line[33:].strip()]


@pytest.mark.short
def test_finished_recording(view, path):
    """Tables, choices and keys. A screen may come in several pieces, so each look waits."""
    shown = view(path, "--window", "60s")
    shown.see("complete: the target ended")
    shown.wait_for(lambda: rows(shown)[:1] == ["parse"], "parse first")
    shown.press("t")
    shown.see(r" 2 +\d+ worker")
    shown.see(r" 1 +\d+ MainThread")
    shown.press("\x1b[B\r")  # the second row, and its functions
    shown.see("CPU time, sorted by self; viewed.py (worker|MainThread)")
    shown.press("\x1b")
    shown.see("THREAD ")
    shown.press("fss")
    shown.see("sorted by name")
    shown.press("/PARS\r")
    shown.see(r"filter: PARS \(1 of \d+\)")
    shown.wait_for(lambda: rows(shown) == ["parse"], "parse alone")
    shown.press("\r")
    shown.see("calls of parse")
    shown.see(r"caller +[\d.]+% .* work ")
    shown.press("h")
    shown.see("keys")
    shown.press("x")
    shown.see("calls of parse")
    assert shown.quit() == 0


@pytest.mark.short
def test_shares_are_those_of_the_report(path):
    report = json.loads(succeed(CONVERTERS["report"], "--json", path).text)
    table = subprocess.run([TOP, "--batch", "1", "--window", "60s", path], check=True, capture_output=True, text=True,
                           env={**ENVIRONMENT, "COLUMNS": "300"}).stdout
    shown = {re.split("  +", line[33:])[0]: float(line.split("%")[0]) for line in table.splitlines()[5:] if "%" in line}
    section = next(section for section in report["sections"] if section["rows_are"] == "function" and section["group"] is None)
    assert section["sorted_by"] == "self" and len(section["rows"]) > 5
    names = [row["name"] for row in section["rows"]]
    for row in section["rows"]:
        percent = 100 * row["self"] / section["all"]
        if percent > 1 and names.count(row["name"]) == 1:
            assert abs(shown[row["name"]] - percent) <= 0.11, (row, table)


def pid_of_command(shown):
    return int(shown.see(r"\| ready (\d+)\D")[1])


def wait_for_growth(path):
    size = path.stat().st_size
    wait_until(lambda: path.stat().st_size > size, "the file grows")


@pytest.mark.short
def test_command(view, python3, program):
    """Its output does not spoil the screen, its last line is shown, and all of it is printed when the view is closed."""
    shown = view(*FULL, "--", python3, program("viewed"), 7)
    shown.see(r"recording, \d+:\d\d")
    pid = pid_of_command(shown)
    shown.wait_for(lambda: "parse" in rows(shown), "parse")
    os.kill(pid, signal.SIGUSR1)
    shown.see(r"complete: the target ended \(exit 7\)")
    assert shown.screen.display[5].strip()  # the figures stay
    before = shown.raw
    assert b"the last words\r\n" not in before
    assert shown.quit() == 7
    assert b"ready" in shown.raw[len(before):] and b"the last words\r\n" in shown.raw[len(before):]


def test_quit_ends_recording_and_command(view, python3, program, tmp_path):
    """As ^C ends both of pyreel-record."""
    for key in ("q", "\x03"):
        output = tmp_path / f"out{ord(key)}.pyreel"
        shown = view(*FULL, "-o", output, "--", python3, program("viewed"), 4)
        shown.see("parse")
        shown.press(key)
        assert shown.wait() == 5
        assert b"interrupted" in shown.raw
        assert whole(output)["samples"] > 0


def test_command_has_no_files_of_the_view(view, python3):
    look = "import os; print('files:', [fd for fd in range(3, 99) if os.path.exists(f'/proc/self/fd/{fd}')])"
    shown = view(*FULL, "--", python3, "-c", f"{look}; import signal; signal.pause()")
    assert shown.see(r"\| files: (\S+)")[1] == "[]"


def test_detach(view, python3, program, tmp_path):
    output = tmp_path / "out.pyreel"
    output.write_bytes(b"")  # an older file is replaced, and its bytes are not shown
    shown = view(*FULL, "-o", output, "--", python3, program("viewed"), 4, environment={"TERM": "xterm"})
    shown.see("parse")
    pid = pid_of_command(shown)
    shown.press("d")
    shown.wait_for(lambda: b"\x1b[?1049l" in shown.raw, "the end of the screen")
    wait_for_growth(output)
    os.kill(pid, signal.SIGUSR1)
    assert shown.wait() == 4
    assert b"the last words" in shown.raw and b"interrupted" not in shown.raw
    assert whole(output)["samples"] > 0


def test_attach(view, spinning, tmp_path):
    output = tmp_path / "out.pyreel"
    shown = view(*FULL, "-p", spinning.pid, "-o", output)
    shown.see(rf"process {spinning.pid}, ")
    shown.see(" spin ")
    shown.see(r"; \d+\.\d % exact; costs \d+\.\d+ of 100 % CPU")  # long before the end
    assert shown.quit() == 0
    assert spinning.running and whole(output)["samples"] > 0


def test_growing_file(view, start_recorder, spinning, tmp_path):
    """The view follows, stands still while it is paused, and says when the recording is complete."""
    output = tmp_path / "grows.pyreel"
    recorder = start_recorder("-o", output, "-p", spinning.pid)
    wait_until(lambda: output.exists() and output.stat().st_size > 0, "the file")
    shown = view(output)
    shown.see(" spin ")
    shown.see("recording, ")
    shown.press(" ")
    shown.see("PAUSED")
    shown.press("t")
    shown.see("THREAD ")  # so the whole screen of before has come
    samples = shown.samples()
    wait_for_growth(output)
    time.sleep(1)  # not to make the test pass: a view that does not stand still would show more by now
    shown.press("f")
    shown.see("FUNCTION")
    assert shown.samples() == samples
    shown.press(" ")
    shown.wait_for(lambda: shown.samples() > samples, "more samples")
    recorder.signal(signal.SIGINT)
    assert recorder.wait().code == 0
    shown.see("complete: stopped by a signal")
    shown.wait_for(lambda: shown.samples() == info(output)["samples"], "all samples")
    assert shown.quit() == 0


@pytest.mark.parametrize("known", [False, True], ids=["from one part on", "all parts"])
def test_parts_of_a_growing_recording(view, start_recorder, spinning, tmp_path, known):
    """The view goes on into each next file, and its figures are those of all files together."""
    recorder = start_recorder("--rotate", "500ms", "-o", tmp_path / "app", "-p", spinning.pid)
    wait_until(lambda: len(parts_in(tmp_path)) >= 3, "three files")
    begin = parts_in(tmp_path) if known else parts_in(tmp_path)[1:2]
    shown = view(*reversed(begin))
    shown.see(r"recording, part \d+, ")
    shown.see(" spin ")
    wait_until(lambda: len(parts_in(tmp_path)) >= 6, "more files")
    shown.see(r"recording, part (?:[5-9]|\d\d+), ")
    shown.see("% exact; costs")  # of the parts so far
    recorder.signal(signal.SIGINT)
    assert recorder.wait().code == 0
    shown.see("complete: stopped by a signal")
    joined = parts_in(tmp_path)[0 if known else 1:]
    shown.wait_for(lambda: shown.samples() == info(*joined)["samples"], "all samples")
    assert shown.quit() == 0


def parts_in(folder):
    """Files that have begun."""
    return sorted(path for path in folder.glob("app-*.pyreel") if path.stat().st_size > 0)


def test_last_part_that_is_there(view, start_recorder, spinning, tmp_path):
    """A file that is not a part of the recording is not followed, and the view says that a part is missing."""
    recorder = start_recorder("--rotate", "400ms", "-o", tmp_path / "app", "-p", spinning.pid)
    wait_until(lambda: len(parts_in(tmp_path)) >= 4, "four files")
    recorder.signal(signal.SIGINT)
    assert recorder.wait().code == 0
    part, after, *rest = parts_in(tmp_path)
    after.write_bytes(b"something else" * 100)
    for path in rest:
        path.unlink()
    shown = view(part)
    shown.see("NOT COMPLETE: the next part is missing")
    shown.wait_for(lambda: shown.samples() == info(part)["samples"], "all samples")
    assert shown.quit() == 0
    ended = run(TOP, "--batch", 1, part, after)
    assert ended.code == 1 and "are not parts of one recording" in ended.messages


def test_large_file_that_is_no_recording(view, tmp_path):
    """Nobody reads its bytes, and the view ends all the same."""
    (tmp_path / "large.pyreel").write_bytes(b"no recording\n" * 100000)
    shown = view(tmp_path / "large.pyreel")
    assert shown.wait() == 1 and b"it is not a pyreel recording" in shown.raw


def test_pipe(view, spinning):
    """Keys come from the terminal, the recording from standard input."""
    shown = view("-c", f"{RECORD} -q -o - -p {spinning.pid} | {TOP} -", program="/bin/sh")
    shown.see(" spin ")
    shown.press("t")
    shown.see("MainThread")
    spinning.close()
    shown.see("complete: the target ended")
    assert shown.quit() == 0


def test_fifo(view, path, tmp_path):
    """A writer that stands still does not hold the user."""
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    with open(fifo, "r+b", buffering=0) as writer:
        shown = view(fifo)
        writer.write(path.read_bytes()[:3000])
        shown.see("recording, |waiting for the recording")
        shown.press("q")
        wait_until(lambda: process_state(shown.pid) == "Z", "the end of the view")
    assert shown.wait() == 0


def test_killed_recorder(view, start_recorder, spinning, tmp_path):
    output = tmp_path / "killed.pyreel"
    recorder = start_recorder("-o", output, "-p", spinning.pid)
    wait_until(lambda: output.exists() and output.stat().st_size > 0, "the file")
    shown = view(output)
    shown.see(" spin ")
    shown.see("% exact; costs")
    recorder.signal(signal.SIGKILL)
    shown.see("not complete, and nobody records")
    assert info(output)["exact_percent"] is not None and info(output)["disturb_percent"] > 0  # also without an end
    assert shown.quit() == 0


def test_damaged_recording(view, path, tmp_path):
    """What is readable is shown, and the view says what is not."""
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    (tmp_path / "damaged.pyreel").write_bytes(data)
    (tmp_path / "cut.pyreel").write_bytes(data[:len(data) // 3])
    view(tmp_path / "damaged.pyreel").see("DAMAGED|NOT COMPLETE")
    cut = view(tmp_path / "cut.pyreel")
    cut.see("not complete, and nobody records")
    assert cut.quit() == 0


def test_sizes(view, path):
    shown = view(path)
    shown.see("complete")
    for columns, lines in (40, 9), (200, 50), (63, 10), (80, 24):
        shown.resize(columns, lines)
        shown.see("q quit")
        shown.see(" parse ")
        shown.wait_for(lambda: "TOTAL" in shown.screen.display[4], "the titles of the columns")
    shown.press("h")
    shown.see("any key")
    shown.resize(30, 5)
    shown.see("too small: 40 x 9")
    shown.resize(8, 1)
    shown.see("too smal")
    shown.resize(100, 30)
    shown.see("any key")  # a new size is no key
    shown.press("x")
    shown.see(" parse ")
    assert shown.quit() == 0


@pytest.mark.parametrize("environment, coloured", [({"TERM": "linux"}, True), ({"TERM": "xterm-256color"}, True), ({"TERM": "vt100"}, False),
                                                   ({"TERM": "linux", "NO_COLOR": "1"}, False)], ids=str)
def test_colours(view, path, environment, coloured):
    shown = view(path, environment=environment)
    shown.see(" parse ")
    assert shown.quit() == 0
    assert bool(COLOUR.search(shown.raw)) is coloured


@pytest.mark.sanitized("names in the live view")
@pytest.mark.parametrize("environment", [{"TERM": "linux"}, {"TERM": "linux", "LC_ALL": "C"}], ids=str)
def test_thousands_of_functions_and_odd_names(view, start, python3, program, environment):
    """Nothing that the program chose is a command to the terminal."""
    target = start(python3, program("crowded"))
    shown = view(*FULL, "-p", target.pid, "--window", "60s", environment=environment)
    shown.wait_for(shown.samples, "samples")
    shown.press("/owned\r")
    shown.see(r"\\x1b\]0;owned\\x07")
    shown.press("/two\r")
    shown.see(r"two\\x0alines +/tmp/\\x1b\[2J3\\xff\.py")
    shown.press("\x1b")
    shown.wait_for(lambda: shown.samples() > 1000, "many samples")
    shown.press("\x1b[4~s")  # End
    shown.press("\x1b[4~")
    shown.see(" function_[0-9]{4} ")
    shown.press("t")
    shown.see(r"\\x1b\[31mred")
    assert shown.quit() == 0
    for command in (b"\x1b]", b"\x07", b"\x1b[31mred", b"\x1b[2J", "\u202e".encode()):
        assert command not in shown.raw.replace(b"\x1b[H\x1b[2J", b"").replace(b"\x1b[H\x1b[J", b""), command
    if environment.get("LC_ALL"):
        assert shown.raw[:shown.raw.rindex(b"\x1b[")].isascii()


@pytest.mark.short
def test_the_view_is_ended_by_a_signal(view, spinning, tmp_path):
    """The terminal is given back, and the recording is complete."""
    output = tmp_path / "out.pyreel"
    shown = view("-p", spinning.pid, "-o", output, environment={"TERM": "xterm"})
    shown.see(" spin ")
    shown.signal(signal.SIGTERM)
    assert shown.wait() == 0
    assert b"\x1b[?1049l" in shown.raw
    assert whole(output)["samples"] > 0 and spinning.running


def test_the_terminal_is_closed(view, spinning, tmp_path):
    """The recording ends, and is complete: the kernel tells only the view, which leads the session."""
    output = tmp_path / "out.pyreel"
    shown = view("-p", spinning.pid, "-o", output)
    shown.see(" spin ")
    shown.hang_up()
    assert shown.wait_without_terminal() == 0
    assert whole(output)["samples"] > 0 and spinning.running


def test_the_terminal_of_nohup_is_closed(view, python3, program, tmp_path):
    """An ignored SIGHUP stays ignored, and the recording goes on to the end of its command."""
    output = tmp_path / "out.pyreel"
    shown = view("-c", 'trap "" HUP; exec "$@"', "sh", TOP, "-q", "-o", output, "--", python3, program("viewed"), 4, program="/bin/sh")
    pid = pid_of_command(shown)
    shown.see("parse")
    shown.signal(signal.SIGHUP)
    shown.press("t")
    shown.see("THREAD ")
    shown.hang_up()
    wait_for_growth(output)
    os.kill(pid, signal.SIGUSR1)
    assert shown.wait_without_terminal() == 4
    assert whole(output)["samples"] > 0


@pytest.mark.short
def test_failures_come_before_the_screen(view, tmp_path):
    """Messages of pyreel-record, its exit codes, and no full screen."""
    (tmp_path / "none.pyreel").write_text("nothing\n" * 20)
    for arguments, code, words in ((["--", "/nonexistent"], 127, b"cannot run /nonexistent"),
                                   (["-p", "999999999"], 125, b"999999999"),
                                   (["-r", "x", "-p", "1"], 2, b"invalid value 'x' for --rate"),
                                   ([tmp_path / "none.pyreel"], 1, b"it is not a pyreel recording"),
                                   ([tmp_path / "absent.pyreel"], 1, b"No such file"),
                                   ([], 2, b"name a recording")):
        shown = view(*arguments, environment={"TERM": "xterm"})
        assert shown.wait() == code, shown
        assert words in shown.raw and b"\x1b[?1049h" not in shown.raw


@pytest.mark.short
def test_without_a_terminal(path):
    ended = run(TOP, path)
    assert (ended.code, ended.output) == (2, b"")
    assert "no terminal" in ended.messages and "pyreel-report" in ended.messages and "--batch" in ended.messages


@pytest.mark.parametrize("environment", [{"TERM": "dumb"}, {"TERM": "no-such-terminal"}], ids=str)
def test_terminals_that_cannot_be_drawn_on(view, python3, tmp_path, environment):
    """The command is not even started."""
    trace = tmp_path / "started"
    shown = view("--", python3, "-c", f"open({str(trace)!r}, 'w')", environment=environment)
    assert shown.wait() == 2
    assert b"--batch" in shown.raw and not trace.exists()


def test_descriptions_of_terminals_that_come_with_the_program(view, python3, tmp_path):
    """As in the archive of static programs. The program that is recorded does not notice."""
    programs, descriptions = tmp_path / "bin", tmp_path / "share" / "terminfo"
    programs.mkdir()
    shutil.copy(TOP, programs)
    (programs / "pyreel-record").symlink_to(RECORD)
    linux = subprocess.run(["infocmp", "linux"], capture_output=True, text=True, check=True, timeout=PATIENCE).stdout
    described = subprocess.run(["tic", "-o", descriptions, "-"], input=linux.replace("linux|", "known-here|"), text=True, timeout=PATIENCE)
    assert described.returncode == 0
    code = "import os, signal; print('has the variable:', 'TERMINFO_DIRS' in os.environ); signal.pause()"
    shown = view("--", python3, "-c", code, program=programs / "pyreel-top", environment={"TERM": "known-here"})
    assert shown.see(r"\| has the variable: (\w+)")[1] == "False"


@pytest.mark.short
def test_tables_as_text(python3, program, path):
    with contextlib.closing(Talk([TOP, "--batch", "1000", "-r", "500", "--", python3, program("viewed"), "3"])) as top:
        pid = int(top.wait_for_message("ready").split()[1])
        top.wait_for_output(" parse ")
        os.kill(pid, signal.SIGUSR1)
        ended = top.wait()
    assert ended.code == 3, ended
    assert all("samples" in table for table in ended.text.strip().split("\n\n"))
    assert "the last words" in ended.messages
    assert "\x1b" not in ended.text and max(map(len, ended.text.splitlines())) <= 80
    once = succeed(TOP, "--batch", 5, path)  # complete at once: there is one table
    assert once.text.count("complete: the target ended") == 1 and once.messages == ""
    with open(path) as file:
        assert " parse " in subprocess.run([TOP, "-b", "1", "-"], stdin=file, capture_output=True, text=True, timeout=PATIENCE).stdout


def test_tables_of_nothing(tmp_path):
    """There is no table, and a reason. A file may grow, so it is read until the last table is due."""
    (tmp_path / "empty.pyreel").touch()
    for empty, reason in (("/dev/null", "it is empty"), ("-", "it is empty"),
                          (tmp_path / "empty.pyreel", "the recording has not begun")):
        ended = run(TOP, "--batch", 1, empty)
        assert (ended.code, ended.output) == (1, b"") and ended.messages == f"pyreel-top: cannot read {empty}: {reason}\n"


def test_tables_that_nobody_takes(path, spinning):
    """The recording ends, and the exit code tells of it."""
    with open("/dev/full", "wb") as full:
        done = subprocess.run([TOP, "--batch", "1", path], stdout=full, stderr=subprocess.PIPE, timeout=PATIENCE, env=ENVIRONMENT)
    assert (done.returncode, done.stderr) == (1, b"pyreel-top: cannot write to standard output: No space left on device\n")
    with contextlib.closing(Talk([TOP, "-q", "--batch", "100000", "-p", spinning.pid])) as top:
        assert top.read_line()
        top.process.stdout.close()
        assert (top.exit_code(), top.process.stderr.read()) == (1, b"")
    assert spinning.running


def test_tasks(view, program):
    shown = view(*FULL, "--async", "running", "--", *python_of("3.15").command, program("async_named"))
    shown.see("ready")  # a key that comes before the screen may be lost
    shown.press("a")
    shown.see("TASK ")
    shown.see(r" \d+ child ")
    shown.see(r" \d+ task ")
    shown.press("/child\r\r")
    shown.see("sorted by self; async_named.py child")
    shown.quit()


def test_instructions(view, python3, program):
    shown = view(*FULL, "--opcodes", "--", python3, program("viewed"), 0)
    shown.see("ready")
    shown.press("o")
    shown.see("INSTRUCTION")
    shown.see(r"\d% +\d+\.\d+ +\d+\.\d+ +[A-Z][A-Z_]{3,} ")
    shown.quit()


def test_growing_memory_is_bounded(view, spinning):
    """The view keeps seconds, not samples: what a minute adds at 5 kHz must not show."""
    shown = view(*FULL, "-r", "5k", "-p", spinning.pid, "--window", "2s")
    shown.wait_for(lambda: shown.samples() > 3000, "samples")
    first = resident_kb(shown.pid)
    shown.wait_for(lambda: shown.samples() > 12000, "samples")
    assert resident_kb(shown.pid) - first < 2000
    assert shown.quit() == 0


def resident_kb(pid):
    with open(f"/proc/{pid}/status") as file:
        return int(re.search(r"VmRSS:\s+(\d+)", file.read())[1])
