# SPDX-License-Identifier: MIT
"""--opcodes: the instruction of each frame, as the target's own Python names it."""

import collections
import json
import os
import subprocess
import sys

import pytest

import gecko_check
import pprof_check
from environment import TOOLS
from plain_stream import Recording
from recording import ALL_TICKS, COUNTS, attach, collapsed, convert, succeed, whole

# What each version makes of a line of programs/hot.py: function → instructions of which some must be seen, with base.
MADE = {
    "adds": [("BINARY_OP_ADD_INT", "BINARY_OP")],
    "floats": [("BINARY_OP_MULTIPLY_FLOAT", "BINARY_OP"), ("BINARY_OP_ADD_FLOAT", "BINARY_OP")],
    "attributes": [("LOAD_ATTR_SLOT", "LOAD_ATTR"), ("LOAD_ATTR_INSTANCE_VALUE", "LOAD_ATTR")],
    "calls": [("CALL_PY_EXACT_ARGS", "CALL")],
}
LOOKUPS = {11: ("BINARY_SUBSCR_DICT", "BINARY_SUBSCR"), 14: ("BINARY_OP_SUBSCR_DICT", "BINARY_OP")}  # from this version on
LOOPS = {11: ("FOR_ITER", "FOR_ITER"), 12: ("FOR_ITER_RANGE", "FOR_ITER")}


def of_version(since, minor):
    return since[max(version for version in since if version <= minor)]


def record_hot(python, program, start, path, *options, arguments=(), instructions=()):
    """Records programs/hot.py once it is hot, until these instructions are seen. Returns the recording, and what its Python says
    stands in its code."""
    def all_is_seen(found):
        shown = collapsed(path, "--opcodes")
        return (found["samples"] >= 600 and all(f";{function} (" in shown for function in [*MADE, "lookups", "leaf"])
                and all(f";[{instruction}] " in shown for instruction in instructions))

    target = start(*python.prefix, *python.command, program("hot"), *arguments)
    said = json.loads(target.read_line())
    attach(target, path, "--compression", "none", *ALL_TICKS, *options, until=all_is_seen, prefix=python.prefix)
    target.close()
    return Recording(path), {name: {tuple(row) for row in rows} for name, rows in said.items()}


def hot_frames(recorded, path, said):
    """(frame, samples) of the functions that are hot."""
    counts = collections.Counter()
    for stack, samples in recorded.stacks.items():
        for frame in stack:
            if os.path.basename(frame.file) == "hot.py" and frame.function in said:
                counts[frame] += samples
    return counts


def place(frame):
    return frame.line, frame.end_line, frame.column, frame.end_column


@pytest.mark.short
def test_instructions_are_those_that_stand_in_the_code(python, program, start, tmp_path):
    path = tmp_path / "a.pyreel"
    recorded, said = record_hot(python, program, start, path, "--opcodes")
    frames = hot_frames(recorded, path, said)
    assert sum(frames.values()) > 100
    begun = {frame: samples for frame, samples in frames.items() if frame.column >= 0}  # the others are just about to
    # CPython 3.11 has an instruction that looks for its specialised form stand there for a moment.
    begun = {f: n for f, n in begun.items() if f.instruction != f"{f.base}_ADAPTIVE"}
    wrong = {f: n for f, n in begun.items() if (*place(f), f.instruction, f.base) not in said[f.function]}
    assert not wrong
    assert not [frame for frame in frames if frame.column < 0 and frame.instruction]
    seen = {(frame.function, frame.instruction, frame.base) for frame in frames}
    made = {**MADE, "lookups": [of_version(LOOKUPS, python.minor)], "leaf": [of_version(LOOPS, python.minor)]}
    specialises = python.has_lock or python.minor >= 14
    for function, instructions in made.items() if specialises else ():
        assert seen & {(function, *instruction) for instruction in instructions}, (function, sorted(seen))
    told = whole(path)
    assert told["instructions"] is True
    assert "\nopcodes     recorded (the instruction of each frame)\n" in succeed(*convert("info", path).command).text
    figures = told["figures"]
    assert figures["instructions"] > 0  # a tick in which the program did not run has those of the tick before
    assert figures.get("instructions_unknown", 0) <= 0.01 * figures["instructions"]


@pytest.mark.pythons("oldest and newest")
def test_without_the_option_there_are_none(python, program, start, tmp_path):
    path = tmp_path / "a.pyreel"
    recorded, said = record_hot(python, program, start, path)
    assert hot_frames(recorded, path, said)
    assert {(frame.instruction, frame.base) for frame in recorded.frames} == {("", "")}
    assert "BINARY_OP_ADD_INT" not in recorded.strings.values()
    told = whole(path)
    assert told["instructions"] is False
    assert not [name for name in told["figures"] if name.startswith("instructions")]
    assert "\nopcodes" not in succeed(*convert("info", path).command).text


@pytest.mark.sanitized("instructions that sys.monitoring replaces")
@pytest.mark.pythons("each version", since="3.12")  # which brought sys.monitoring
def test_monitored_instructions_keep_their_base(python, program, start, tmp_path):
    """What sys.monitoring puts in the place of others is named, and of the right base."""
    path = tmp_path / "a.pyreel"
    recorded, said = record_hot(python, program, start, path, "--opcodes", arguments=["monitor"],
                                instructions=["INSTRUMENTED_CALL", "INSTRUMENTED_LINE"])
    frames = hot_frames(recorded, path, said)
    bases = {(name, *row[:4], row[5]) for name, rows in said.items() for row in rows}
    named = {frame: samples for frame, samples in frames.items() if frame.instruction}
    assert not {f: n for f, n in named.items() if (f.function, *place(f), f.base) not in bases}
    instructions = {(frame.instruction, frame.base) for frame in named}
    assert ("INSTRUMENTED_CALL", "CALL") in instructions
    assert any(name == "INSTRUMENTED_LINE" and base != name for name, base in instructions)
    assert [frame for frame in named if not frame.instruction.startswith("INSTRUMENTED_")]
    assert sum(named.values()) > 0.5 * sum(frames.values())


@pytest.mark.short
@pytest.mark.pythons("newest")
def test_converters_show_the_leaf_s_instruction(python, program, start, tmp_path):
    """As many samples of each as the recording has, in every output; nothing of it without the option."""
    path = tmp_path / "a.pyreel"
    recorded, _ = record_hot(python, program, start, path, "--opcodes")
    truth = collections.Counter()
    for stack, samples in recorded.stacks.items():
        if stack and stack[-1].instruction:
            truth[stack[-1].instruction, stack[-1].base] += samples
    assert truth

    shown = collections.Counter()
    for line in collapsed(path, "--opcodes").splitlines():
        stack, _, count = line.rpartition(" ")
        leaf = stack.rpartition(";")[2]
        if leaf.startswith("["):
            shown[leaf[1:-1]] += int(count)
    assert shown == of_names(truth)
    assert ";[" not in collapsed(path)

    out = tmp_path / "out"
    succeed(*convert("pprof", path, "--opcodes", "-o", out).command)
    shown = collections.Counter()
    for _, labels, values in pprof_check.summary(pprof_check.load(out))["samples"]:
        if "opcode" in labels:
            shown[labels["opcode"], labels["opcode_base"]] += values[0]
    assert shown == truth

    out = tmp_path / "out.json"
    succeed(*convert("gecko", path, "--opcodes=frames", *COUNTS, "-o", out).command)
    profile = gecko_check.load(out)
    assert gecko_check.problems(profile) == []
    shown = collections.Counter()
    for thread in profile["threads"]:
        for stack, count in gecko_check.stacks(profile, thread).items():
            if stack[-1].startswith("["):
                shown[stack[-1][1:-1]] += count
    assert shown == of_names(truth)


def of_names(truth):
    names = collections.Counter()
    for (name, _), samples in truth.items():
        names[name] += samples
    return names


def test_the_table_is_that_of_the_pythons():
    """formats/cpython/opcode_table.h, compared with all Pythons found."""
    done = subprocess.run([sys.executable, os.path.join(TOOLS, "make-opcodes"), "--check"], capture_output=True, text=True)
    assert done.returncode == 0, done
