# SPDX-License-Identifier: MIT
"""Nothing that somebody else has named reaches a terminal as it is: names of functions, files and threads, command
lines, names of recordings and outputs, and what stands on the command line. No name forges a line either."""

import gzip
import re

import pytest

from environment import CONVERTERS, DIFF, DUMP, RECORD
from recording import attach, record_told, run

pytestmark = pytest.mark.short

NAME = "a\x1b]0;owned\x07\x1b[31m\nFORGED\x9b1m\u202egnp\u2066\u200b\x7f\t\rb"
RAW = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]")
TEXTS = {"info": (), "info --json": (), "info --verify": (), "collapsed": (), "collapsed --full-paths": (),
         "report": (), "report --by file": (), "report --by thread": (), "report --json": (), "report --jsonl": (), "report --markdown": ()}


def assert_printable(ended, tabs=False):
    for said in (ended.output, ended.errors):
        text = said.decode()  # it must be UTF-8
        raw = RAW.search(text)
        assert not raw, f"{raw.group()!r} of {text[max(0, raw.start() - 60):raw.end() + 20]!r}: {ended}"
        assert tabs or "\t" not in text, ended
        assert not re.search(r"^FORGED", text, re.M), ended


@pytest.fixture(scope="module")
def forged(python3, program, tmp_path_factory):
    """A recording of a program with such names, in a file with such a name."""
    path = tmp_path_factory.mktemp("forged") / f"{NAME}.pyreel"
    assert record_told(path, "--", python3, program("escapes"), NAME, samples=500).code == 0
    return path


def test_what_the_recorder_says(python3, program, tmp_path):
    ended = record_told(tmp_path / f"{NAME}.pyreel", "--", python3, program("escapes"), NAME)
    assert ended.code == 0 and "FORGED" in ended.messages, ended
    assert_printable(type(ended)(ended.command, ended.code, b"", ended.errors))


@pytest.mark.parametrize("command", TEXTS)
def test_a_text_output_has_no_commands_to_a_terminal(forged, command):
    program, *options = command.split()
    ended = run(CONVERTERS[program], *options, forged)
    assert ended.code == 0, ended
    assert_printable(ended)
    assert "owned" in ended.text, ended


def test_two_recordings_with_such_names(forged):
    for command in ([CONVERTERS["info"], forged, forged], [DIFF, forged, forged], [DIFF, "--json", forged, forged],
                    [DIFF, "--markdown", forged, forged], [CONVERTERS["report"], forged, forged]):
        ended = run(*command)
        assert ended.code in (0, 1), ended
        assert_printable(ended)


@pytest.mark.parametrize("name", ["gecko", "pprof", "flame", "speedscope", "tachyon"])
def test_what_is_told_of_a_written_file(forged, tmp_path, name):
    ended = run(CONVERTERS[name], "-v", "-o", tmp_path / f"{NAME}.out", forged)
    assert ended.code == 0 and "FORGED" in ended.messages, ended
    assert_printable(ended)


@pytest.mark.parametrize("name", ["gecko", "speedscope", "pprof"])
def test_a_viewer_in_a_terminal_gets_no_commands(forged, tmp_path, name):
    ended = run(CONVERTERS[name], "-o", tmp_path / "out.gz", forged)
    assert ended.code == 0, ended
    with open(tmp_path / "out.gz", "rb") as file:
        made = file.read()
    made = gzip.decompress(made) if made[:2] == b"\x1f\x8b" else made
    assert b"FORGED" in made
    for raw in ("\x1b[31m", "\x9b1m", "\u202e", "\u2066", "\nFORGED"):
        assert raw.encode() not in made, raw


@pytest.mark.parametrize("program", [*CONVERTERS, "diff", "record", "dump"])
def test_errors_name_things_without_commands(tmp_path, program):
    path = {**CONVERTERS, "diff": DIFF, "record": RECORD, "dump": DUMP}[program]
    missing = tmp_path / NAME
    broken = tmp_path / f"{NAME}.broken"
    broken.write_bytes(b"neither")
    commands = [["--" + NAME], ["-\x1b"], ["--from", NAME, missing], ["--threads", NAME, missing], [missing], [broken],
                ["-o", tmp_path / NAME / NAME, broken], ["--max-memory", NAME, broken]]
    if program == "diff":
        commands += [[missing, missing], [broken, broken]]
    if program == "record":
        commands = [["--" + NAME], ["-p", NAME], ["-r", NAME, "true"], ["-d", NAME, "true"], ["--", missing], ["--", broken],
                    ["-o", tmp_path / NAME / NAME, "--", "true"], ["--mode", NAME, "true"], ["--max-size", NAME, "true"]]
    if program == "dump":
        commands = [["--" + NAME], [NAME], ["--threads", NAME, "1"]]
    for arguments in commands:
        ended = run(path, *arguments)
        assert ended.code != 0, ended
        assert_printable(ended)


def test_damage_is_told_without_commands(forged, tmp_path):
    cut = tmp_path / f"{NAME}.pyreel"
    cut.write_bytes(forged.read_bytes()[:-60])
    for program in ("info", "collapsed"):
        ended = run(CONVERTERS[program], "--strict", cut)
        assert ended.code == 1 and "FORGED" in ended.messages, ended
        assert_printable(ended)


def test_a_dump_of_such_a_program(start, python3, program, tmp_path):
    target = start(python3, program("escapes"), NAME)
    for options in ((), ("--json",)):
        ended = run(DUMP, *options, target.pid)
        assert ended.code == 0 and "FORGED" in ended.text, ended
        assert_printable(ended)
    assert_printable(attach(target, tmp_path / f"{NAME}.pyreel"))
