# SPDX-License-Identifier: MIT
"""pyreel-info reads the sums at the end of a whole recording, and shows what reading all samples comes to."""
import json
import zlib

import pytest

import enough
import environment
from environment import CONVERTERS
from golden import frozen
from plain_stream import Bytes, number
from recording import ALL_TICKS, convert, info, record_told, run, succeed

MAGIC, HEAD = 8, 24
END, SUMMARY = 3, 4
TOTALS = b"\x8f\x01"  # the tag of the note: kind 7, argument 17
THREAD_TOTALS = 18 << 3 | 7

# What is recorded until it is enough: version of Python, options of the recorder, samples, program and its arguments
RUNNING = {
    "few-ticks": ("3.13", [], 100, ["doing", "two"]),
    "waits-for-the-lock": ("3.15", [*ALL_TICKS, "-r", "200"], 100, ["doing", "two"]),
    "cpu-mode": ("3.13", [*ALL_TICKS, "-m", "cpu"], 50, ["doing", "sleeps"]),
    "exception-mode": ("3.13", [*ALL_TICKS, "-m", "exception"], 50, ["doing", "exceptions"]),
    "blocking": ("3.14", ["--blocking", "-r", "200"], 50, ["doing", "two"]),
    "opcodes": ("3.15", [*ALL_TICKS, "--opcodes"], 100, ["doing", "calls_c"]),
    "weighted": ("3.14", ["--disturb", "0.1", "-r", "5k"], 10, ["doing", "two"]),
    "uncompressed": ("3.11", [*ALL_TICKS, "--compression", "none"], 100, ["small"]),
    "tasks-running": ("3.14", [*ALL_TICKS, "--async", "running"], 500, ["async_named"]),
    "interpreters": ("3.14", [*ALL_TICKS], 500, ["in_interpreters", "turns", "600"]),
    "tasks-all": ("3.14", [*ALL_TICKS, "--async", "all"], 500, ["async_named"]),
}
# And to its end, which is the end of standard input, and the exit code then.
COMMANDS = {
    "exits": ("3.11", [], 10, ["dies", "3", "told"], 3),
    "killed": ("3.11", [], 10, ["dies", "-9", "told"], 137),
    "many-threads": ("3.13", [], 500, ["churn", "told"], 0),
    "forked": ("3.13", [], 500, ["forks", "told"], 0),
}


def of_pipe(path, *options):
    return succeed(CONVERTERS["info"], *options, "-", input=path.read_bytes()).text


def blocks(data):
    """(offset, kind, stored size) of each block."""
    found, at = [], MAGIC
    while at < len(data):
        found.append((at, data[at + 4], int.from_bytes(data[at + 12:at + 16], "little")))
        at += HEAD + found[-1][2]
    return found


def assert_same(path):
    """From the sums, from a pipe, and from all samples of the file."""
    assert [kind for _, kind, _ in blocks(path.read_bytes())][-2:] == [SUMMARY, END]
    shown = info(path)
    assert shown == json.loads(of_pipe(path, "--json")) == info(path, "--verify")
    assert succeed(CONVERTERS["info"], path).text == of_pipe(path)
    return shown


@pytest.mark.parametrize("case", RUNNING)
def test_the_sums_of_a_running_program(case, program, tmp_path):
    version, options, samples, words = RUNNING[case]
    python = environment.python_of(version)
    shown = assert_same(enough.record(tmp_path / "a.pyreel", *python.command, program(words[0]), *words[1:], options=options,
                                      prefix=python.prefix, samples=samples))
    assert shown["samples"] >= samples
    assert len(shown["tasks"]) > 4 or not case.startswith("tasks")


@pytest.mark.parametrize("case", COMMANDS)
def test_the_sums_of_a_command(case, program, tmp_path):
    version, options, samples, words, code = COMMANDS[case]
    python = environment.python_of(version)
    path = tmp_path / "recording.pyreel"
    ended = record_told(path, *options, "--", *python.command, program(words[0]), *words[1:], samples=samples, prefix=python.prefix)
    assert ended.code == code, ended
    assert_same(path)


def test_the_sums_of_a_recording_that_its_limit_ends(program, start_recorder, tmp_path):
    python, path = environment.python_of("3.13"), tmp_path / "recording.pyreel"
    recorder = start_recorder("-r", "5k", "--compression", "none", "--opcodes", "--max-size", "30k", "--kill", "-o", path, "--",
                              *python.command, program("doing"), "two", prefix=python.prefix)
    assert recorder.exit_code() == 143
    assert_same(path)


@pytest.mark.short
def test_the_sums_of_a_recording_that_is_kept():
    """Made by the first pyreel that wrote sums: later ones read the same, from the sums and from the samples."""
    assert len(assert_same(frozen("async-running-3.14"))["tasks"]) > 4


@pytest.fixture(scope="module")
def plain(python3, program, tmp_path_factory):
    """A recording without compression, of more than one block of events."""
    return enough.record(tmp_path_factory.mktemp("summary") / "plain.pyreel", python3, program("small"),
                         options=["-r", "100", "--compression", "none"], blocks=3)


def with_payload(data, at, size, payload):
    """The recording with another payload of the block that is there."""
    head = bytearray(data[at:at + 20])
    head[12:16] = head[16:20] = len(payload).to_bytes(4, "little")
    head += zlib.crc32(head + payload).to_bytes(4, "little")
    return data[:at] + head + payload + data[at + HEAD + size:]


def with_most_left_out(data):
    """The recording with a summary that has the largest number of left-out looks at each thread."""
    (at, _, size), = [block for block in blocks(data) if block[1] == SUMMARY]
    notes, payload = Bytes(data[at + HEAD:at + HEAD + size]), b""
    while notes:
        tag, fields = notes.number(), notes.bytes()
        if tag == THREAD_TOTALS:
            numbers = Bytes(fields)
            fields = b"".join(map(number, [numbers.number(), numbers.number(), 2**64 - 1]))
            numbers.number()
            fields += numbers.data[numbers.at:]
        payload += number(tag) + number(len(fields)) + fields
    return with_payload(data, at, size, payload)


def with_other_ticks(data):
    """The recording with a summary that has one tick more or less, and is in order otherwise."""
    data = bytearray(data)
    (at, _, size), = [block for block in blocks(data) if block[1] == SUMMARY]
    place = data.index(TOTALS, at + HEAD) + 3  # behind the tag and the size of the note, which is below 128
    for _ in range(3):  # rules, CRC-32 of the headers, samples
        while data[place] & 128:
            place += 1
        place += 1
    data[place] ^= 1
    return with_payload(bytes(data), at, size, bytes(data[at + HEAD:at + HEAD + size]))


@pytest.mark.short
def test_a_summary_that_lies_is_noticed(plain, tmp_path):
    """And is believed without --verify: so the samples were not read."""
    path = tmp_path / "lies.pyreel"
    path.write_bytes(with_other_ticks(plain.read_bytes()))
    truth = info(plain)
    assert abs(info(path)["ticks"] - truth["ticks"]) == 1
    assert json.loads(of_pipe(path, "--json"))["ticks"] == truth["ticks"]
    assert convert("info", plain, "--verify").code == 0
    ended = convert("info", path, "--verify")
    assert ended.code == 1
    assert "a summary that contradicts the samples" in ended.messages


@pytest.mark.short
def test_a_count_that_lies_is_not_shown_as_negative(plain, tmp_path):
    """JSON as most programs read it holds numbers below 2**63."""
    path = tmp_path / "lies.pyreel"
    path.write_bytes(with_most_left_out(plain.read_bytes()))
    assert {thread["left_out"] for thread in info(path)["threads"]} == {2**63 - 1}


@pytest.mark.short
def test_a_recording_with_damage_or_without_an_end_is_read(plain, tmp_path):
    data, path = plain.read_bytes(), tmp_path / "damaged.pyreel"
    places = blocks(data)
    sizes = {at for at, _, _ in places[1:]} | {at + HEAD + 5 for at, _, _ in places[1:]} | {len(data) - 1}
    damaged = [data[:size] for size in sizes] + [data + b"x"]
    for at, _, _ in places[1:]:
        damaged.append(data[:at + HEAD + 3] + bytes([data[at + HEAD + 3] ^ 64]) + data[at + HEAD + 4:])
    for piece in damaged:
        path.write_bytes(piece)
        shown = info(path)
        assert shown == json.loads(of_pipe(path, "--json"))
        assert not shown["complete"] or shown["damage"]["bytes"] or shown["damage"]["blocks"]


@pytest.mark.short
def test_standard_input_may_be_a_file(plain):
    with open(plain, "rb") as file:
        ended = run("sh", "-c", f"{CONVERTERS['info']} --json - < {plain}")
        file.seek(5)
        assert run(CONVERTERS["info"], "-").code == 1
    assert json.loads(ended.text) == info(plain)
