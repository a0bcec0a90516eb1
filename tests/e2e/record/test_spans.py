# SPDX-License-Identifier: MIT
"""What programs publish for readers outside, in OpenTelemetry's ways: what they are, and on which span each thread works. The
program knows the truth: each function of it works on one span."""

import collections
import os
import subprocess

import pytest

import plain_stream
from environment import BUILD
from recording import info, run_record

pytestmark = pytest.mark.pythons("oldest and newest")

MODELS = ["descriptor", "module", "late", "program"]


@pytest.fixture
def command(python, programs, program):
    """The command of the program, with the library of a model."""
    folder = python.root + programs

    def make(model, *arguments):
        library = f"libthread-context-{model}.so"
        subprocess.run([*python.prefix, "cp", os.path.join(BUILD, "tests", library), folder], check=True)
        preload = ["env", f"LD_PRELOAD={os.path.join(programs, library)}"] if model == "program" else []
        return [*python.command[:-1], *preload, python.command[-1], program("spans"), "1.5", os.path.join(programs, library), *arguments]

    return make


def spans_of(text):
    """{function: (trace, span)}, as the program says."""
    lines = [line.split() for line in text.splitlines() if line.startswith("span ")]
    return {function: (trace, span) for _, function, trace, span, _ in lines}


def seen_spans(path):
    """{function: Counter of the spans of its samples}; None: no span."""
    seen = collections.defaultdict(collections.Counter)
    for (stack, span), samples in plain_stream.Recording(path).spans.items():
        for frame in stack:
            seen[frame.function][span] += samples
    return seen


@pytest.mark.short
@pytest.mark.parametrize("model, arguments", [*((model, []) for model in MODELS), ("descriptor", ["changed"])])
def test_a_look_has_the_span_of_its_moment(python, command, tmp_path, model, arguments):
    path = tmp_path / "a.pyreel"
    ended = run_record("-r", "500", "--disturb", "5%", "--compression", "none", "-o", path, "--", *command(model, *arguments), prefix=python.prefix)
    assert ended.code == 0, ended
    seen = seen_spans(path)
    for function, span in spans_of(ended.text).items():
        assert seen[function].total() > 20, seen
        wrong = seen[function].total() - seen[function][span]
        # Looks that are no proved moment, and the first ones of a thread whose variable has to be searched.
        assert wrong <= 0.05 * seen[function].total() + (3 if model == "late" else 1), (function, seen[function])
    assert set(seen["plain"]) == {None}, seen["plain"]


def test_attributes_are_those_that_the_program_publishes(python, command, tmp_path):
    path = tmp_path / "a.pyreel"
    ended = run_record("-r", "100", "-o", path, "--", *command("descriptor"), prefix=python.prefix)
    assert ended.code == 0, ended
    (process,) = info(path)["processes"]
    attributes = process["attributes"]
    wanted = {"service.name": "checkout", "service.instance.id": "1f", "replicas": "3", "canary": "true"}
    assert {name: attributes.get(name) for name in wanted} == wanted, attributes
    assert "ratio" not in attributes and not any(name.startswith("threadlocal") for name in attributes)


def test_attributes_are_those_of_the_program_before_an_execve(python, command, tmp_path):
    """A program that takes the place of another publishes at once, and long before the next look."""
    path = tmp_path / "a.pyreel"
    ended = run_record("-r", "2", "-o", path, "--", *command("descriptor", "execs"), prefix=python.prefix)
    assert ended.code == 0, ended
    names = [process["attributes"].get("service.name") for process in info(path)["processes"]]
    assert names == ["before-3", "before-2", "before-1", "checkout"], names
