# SPDX-License-Identifier: MIT
"""The options of pyreel-pprof alone: what each changes in the profile, and that the sums stay."""

import collections
import gzip
import os
import re

import pytest

import enough
import pprof_check
from environment import BUILD, CONVERTERS, python_of
from golden import frozen
from plain_stream import Recording
from recording import convert, info, succeed

MAKE_RECORDING = os.path.join(BUILD, "tests", "bench", "make-recording")


@pytest.fixture
def profile_of(tmp_path, monkeypatch):
    """Converts recordings with options; the profile, which obeys the strict rules."""
    def convert(*arguments):
        out = tmp_path / "out.pb.gz"
        if {"--labels", "--no-labels"} & set(arguments):
            monkeypatch.setattr(pprof_check, "REQUIRED_LABELS", {})
        succeed(CONVERTERS["pprof"], "-q", "-o", out, *arguments)
        profile, problems = pprof_check.examine(out)
        assert problems == []
        return profile
    return convert


def positions(profile):
    """By function and line: the columns."""
    columns = collections.defaultdict(set)
    for location in profile["location"]:
        (line,) = location["line"]
        function = profile["function"][line["function_id"] - 1]
        columns[pprof_check.text_at(profile, function["name"]), line["line"]].add(line["column"])
    return columns


def totals(profile):
    return pprof_check.summary(profile)["totals"]


# ---- columns ----

@pytest.mark.short
def test_a_call_has_its_column_on_request(profile_of):
    path, wanted = frozen("plain-3.11"), collections.defaultdict(set)
    for stack in Recording(path).stacks:
        for frame in stack:
            wanted[frame.function, frame.line].add(frame.column + 1)
    lines, columns = profile_of(path), profile_of(path, "--columns")
    assert totals(lines) == totals(columns)
    assert set().union(*positions(lines).values()) == {0}
    assert {place: found for place, found in positions(columns).items() if place[1]} == wanted and len(wanted) > 5
    assert profile_of(path, "--columns", "--lines") == lines


# ---- modules ----

@pytest.mark.short
@pytest.mark.pythons("newest")
def test_names_have_the_modules_that_python_has(python, program, profile_of, tmp_path):
    """Python calls the script's module __main__, and the profile has the script's name instead."""
    path = enough.record(tmp_path / "a.pyreel", *python.command, program("in_modules"), prefix=python.prefix)
    plain, qualified = profile_of(path), profile_of(path, "--qualify")
    names = {name for name, _, _ in pprof_check.summary(qualified)["defined"]}
    assert "in_modules.<module>" in names
    assert {"in_modules.work", "mill.spin", "mill.wheel.Wheel.turn", "json.loads", "json.decoder.JSONDecoder.decode"} <= names
    assert totals(plain) == totals(qualified)
    assert len(plain["sample"]) == len(qualified["sample"])


# ---- labels ----

def labels_of(profile):
    """The samples, by the texts of their labels and their stacks, without those that differ in nothing."""
    return collections.Counter(
        (" ".join(f"{key}={value}" for key, value in labels.items()), tuple(stack))
        for stack, labels, _ in pprof_check.summary(profile)["samples"])


def keys_of(profile):
    return {key for _, labels, _ in pprof_check.summary(profile)["samples"] for key in labels}


@pytest.mark.short
def test_samples_have_the_labels_that_are_named(profile_of):
    path = frozen("interpreters-3.14")
    usual, threads, none = (profile_of(path, *options) for options in ((), ("--labels", "pid,thread"), ("--no-labels",)))
    assert keys_of(usual) == {"thread", "thread_id", "pid", "interpreter"}
    assert keys_of(threads) == {"thread", "pid"} and keys_of(none) == set()
    assert totals(usual) == totals(threads) == totals(none)
    for profile in (usual, threads, none):
        assert max(labels_of(profile).values()) == 1
    assert len(none["sample"]) < len(threads["sample"]) <= len(usual["sample"])
    assert profile_of(path, "--labels", "pid", "--no-labels") == none
    assert keys_of(profile_of(path, "--no-labels", "--labels", "pid")) == {"pid"}


@pytest.mark.short
def test_instructions_are_labels_on_request(profile_of):
    path = frozen("opcodes-3.15")
    assert keys_of(profile_of(path, "--no-labels", "--opcodes")) == {"opcode", "opcode_base"}
    assert keys_of(profile_of(path, "--labels", "opcode")) == {"opcode"}


def wall_by_status(profile):
    wall = collections.Counter()
    for _, labels, values in pprof_check.summary(profile)["samples"]:
        wall[labels["status"]] += values[1]
    return wall


@pytest.mark.short
@pytest.mark.parametrize("stream", ["calculator-3.14", "threads-3.11", "interpreters-3.14"])
def test_the_status_of_samples_adds_up_to_the_columns(stream, profile_of):
    path = frozen(stream)
    usual, by_status = profile_of(path), profile_of(path, "--labels", "thread,thread_id,pid,interpreter,status")
    assert keys_of(by_status) == keys_of(usual) | {"status"}
    assert totals(usual) == totals(by_status)
    wall = wall_by_status(by_status)
    assert (wall["gil"], wall["waiting"]) == tuple(totals(usual)[3:])
    assert len(wall) > 1 and set(wall) <= {"elsewhere", "gil", "waiting", "running", "native", "idle"}


def test_two_threads_wait_for_each_other(program, profile_of, tmp_path):
    """CPython 3.15 says who waits."""
    python = python_of("3.15")
    path = enough.record(tmp_path / "a.pyreel", *python.command, program("doing"), "two", prefix=python.prefix)
    profile = profile_of(path, "--labels", "thread,status")
    wall = wall_by_status(profile)
    assert wall["gil"] == totals(profile)[3] > 0 and wall["waiting"] == totals(profile)[4] > 0


@pytest.mark.short
def test_a_label_that_does_not_exist_is_misuse():
    ended = convert("pprof", frozen("plain-3.11"), "-o", "-", "--labels", "thread,name")
    assert (ended.code, ended.output) == (2, b"")
    assert "invalid value 'thread,name' for --labels" in ended.messages
    assert all(name in ended.messages for name in ("thread_id", "interpreter", "recording", "task_id", "opcode_base"))


# ---- limits ----

THREAD = "thread", "thread_id", "pid", "interpreter"


def totals_of_threads(profile):
    """By the labels of the thread: the sums of all columns."""
    sums = {}
    for _, labels, values in pprof_check.summary(profile)["samples"]:
        thread = tuple(labels[key] for key in THREAD)
        sums[thread] = [a + b for a, b in zip(values, sums.get(thread, [0] * len(values)))]
    return sums


@pytest.mark.short
@pytest.mark.parametrize("stream", ["calculator-3.14", "interpreters-3.14", "threads-3.11"])
@pytest.mark.parametrize("most", [2, 5, 10**18])
def test_rare_stacks_are_the_rest_of_their_thread(stream, most, profile_of):
    path = frozen(stream)
    whole, short = profile_of(path), profile_of(path, "--min-count", most)
    assert totals_of_threads(whole) == totals_of_threads(short)
    samples = {name: pprof_check.summary(profile)["samples"] for name, profile in (("whole", whole), ("short", short))}
    frequent = [sample for sample in samples["whole"] if sample[2][0] >= most]
    rest = [sample for sample in samples["short"] if sample[0] == [("<rest>", 0)]]
    assert [sample for sample in samples["short"] if sample not in rest] == frequent
    rare = {tuple(sample[1].values()) for sample in samples["whole"] if sample[2][0] < most}
    assert len(rest) == len(rare) and {tuple(labels.values()) for _, labels, _ in rest} == rare


@pytest.mark.short
@pytest.mark.parametrize("most", [3, 4, 10])
def test_deep_stacks_keep_their_ends(most, profile_of):
    whole, short = (profile_of(frozen("names-3.11"), *options) for options in ([], ["--max-depth", most]))
    assert totals_of_threads(whole) == totals_of_threads(short)
    leaf, root = most // 2, most - 1 - most // 2

    def cut(stack):
        return stack if len(stack) <= most else [*stack[:leaf], ("<truncated>", 0), *stack[len(stack) - root:]]

    wanted = collections.Counter()
    for stack, labels, values in pprof_check.summary(whole)["samples"]:
        wanted[tuple(labels.values()), tuple(cut(stack))] += values[0]
    assert max(len(stack) for stack, _, _ in pprof_check.summary(whole)["samples"]) > most
    assert wanted == {(tuple(labels.values()), tuple(stack)): values[0]
                      for stack, labels, values in pprof_check.summary(short)["samples"]}


@pytest.mark.short
@pytest.mark.parametrize("option, value", [("--min-count", "0"), ("--min-count", "-1"), ("--min-count", "2x"),
                                           ("--min-count", "99999999999999999999"), ("--max-depth", "2"), ("--max-depth", "")])
def test_a_limit_is_a_number(option, value):
    ended = convert("pprof", frozen("plain-3.11"), "-o", "-", option, value)
    assert (ended.code, ended.output) == (2, b"")
    assert f"invalid value '{value}' for {option}" in ended.messages


# ---- comments ----

@pytest.mark.short
def test_command_lines_can_be_left_out(profile_of):
    path = frozen("plain-3.11")
    usual, bare = (pprof_check.summary(profile_of(path, *options))["comments"] for options in ((), ("--no-comments",)))
    # Not by the name of the program: a comment is cut, and long names of folders leave no room for the name.
    commands = [comment for comment in usual if comment.startswith(("process ", "recorded by pyreel "))]
    assert len(commands) == 2
    assert "small.py" in commands[0] and "pyreel-record" in commands[1]
    assert bare == [comment for comment in usual if comment not in commands]
    assert f"{info(path)['samples']} samples;" in bare[0]


# ---- the warning about the size ----

def count_samples(path):
    """Without a look into them, because pprof_check.load() takes minutes for so many."""
    data, at, count = memoryview(gzip.decompress(path.read_bytes())), 0, 0
    while at < len(data):
        field, _, _, at = pprof_check.take_field(data, at)
        count += pprof_check.PROFILE[field][0] == "sample"
    return count


def test_the_warning_names_what_helps_this_profile(tmp_path):
    """Each number is that of the profile with the options."""
    path, out = tmp_path / "many.pyreel", tmp_path / "out.pb.gz"
    succeed(MAKE_RECORDING, "--like", "calls", "--samples", "500k", "--stacks", "300k", "--threads", "4", path)

    def warning_of(*options):
        return succeed(CONVERTERS["pprof"], "-o", out, *options, path).messages

    warning = warning_of()
    samples = count_samples(out)
    assert samples > 200000 and f"warning: the profile has {samples} samples" in warning
    remedies = dict(re.findall(r"(--[a-z -]+2?) \((\d+)\)", warning))
    assert list(remedies) == ["--no-labels", "--functions", "--no-labels --functions", "--min-count 2"]
    for options in list(remedies)[2:]:
        assert warning_of(*options.split()) == "" and count_samples(out) == int(remedies[options])
    assert warning_of("-q") == ""
