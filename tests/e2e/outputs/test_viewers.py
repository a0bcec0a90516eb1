# SPDX-License-Identifier: MIT
"""The whole way from a program that runs to pprof and speedscope, which show what was recorded. The Firefox Profiler:
test_firefox.py; each mode of pprof, and recordings of all kinds: test_every_kind.py."""

import re

import pytest

import known_program
import stacks
from environment import need_pprof
from recording import collapsed, pprof, succeed
from viewers import speedscope

pytestmark = pytest.mark.pythons("newest")

FUNCTIONS = ["plain", "Mill.grind", "outer", "middle", "inner", "drain", "numbers", "descend", "rounds", "nap_again"]


def say(*arguments):
    ended = succeed(need_pprof("machine"), *arguments)
    assert ended.errors == b"", ended
    return ended.text


def top(text):
    """{function: [flat, cum]} of what -top prints."""
    row = re.compile(r"^\s*(\d+)\S*\s+\S+%\s+\S+%\s+(\d+)\S*\s+\S+%  (.*)$", re.MULTILINE)
    return {name: [int(flat), int(cum)] for flat, cum, name in row.findall(text)}


@pytest.mark.short
def test_pprof_top_has_the_counts(recorded):
    text = say("-top", "-sample_index=samples", "-nodefraction=0", "-nodecount=100000", pprof(recorded.path))
    assert f"Showing nodes accounting for {recorded.info['samples']}, 100% of {recorded.info['samples']} total" in text
    truth, shown = stacks.self_and_total(recorded.threads), top(text)
    assert {function: shown[function] for function in FUNCTIONS} == {function: truth[function] for function in FUNCTIONS}


@pytest.mark.short
def test_pprof_list_shows_the_source(recorded):
    text = say("-list=^plain$", "-sample_index=samples", pprof(recorded.path))
    (name, file), = re.findall(r"^ROUTINE =+ (\S+) in (.*)$", text, re.MULTILINE)
    assert (name, file) == ("plain", recorded.program)
    first, _ = known_program.RANGES["plain"]
    loop = known_program.loop_of("plain")
    on_loop = sum(n for s, n in stacks.merged(recorded.threads).items() if s[-1] == ("plain", recorded.program, loop))
    assert re.search(rf"^ +{on_loop} +{on_loop} +{loop}:    while clock\(\) < until:$", text, re.MULTILINE), text
    assert re.search(rf"^ .* {first}:def plain\(until\):$", text, re.MULTILINE), text


def test_speedscope_shows_the_pprof_file(recorded):
    profile = speedscope(pprof(recorded.path))
    rows = [int(line.rpartition(" ")[2]) for line in collapsed(recorded.path, "--weight", "cpu").splitlines()]
    rounded = len(collapsed(recorded.path).splitlines())  # each stack to a microsecond, one of less than a half to none
    assert (profile["unit"], profile["total"] / 1e3) == ("nanoseconds", pytest.approx(sum(rows), abs=rounded / 2))
    frames = {frame["name"]: frame for frame in profile["frames"] if frame["file"] == recorded.program}
    truth = stacks.self_and_total(stacks.of_collapsed(collapsed(recorded.path, "--full-paths", "--weight", "cpu")))
    seen = [function for function in FUNCTIONS if function in truth and function in frames]  # one that naps may use nothing
    assert "plain" in seen
    for function in seen:
        shown = frames[function]
        assert [shown["self"] / 1e3, shown["total"] / 1e3] == pytest.approx(truth[function], abs=100), function
        first, last = known_program.RANGES[function]
        assert first <= shown["line"] <= last, function


def test_speedscope_shows_the_collapsed_stacks(recorded, tmp_path):
    path = tmp_path / "known.txt"
    path.write_text(collapsed(recorded.path, "--full-paths"))
    profile = speedscope(path)
    assert profile["total"] == recorded.info["samples"]
    frames = {frame["name"]: frame for frame in profile["frames"]}
    loop = known_program.loop_of("plain")
    on_loop = sum(n for s, n in stacks.merged(recorded.threads).items() if s[-1][:3] == ("plain", recorded.program, loop))
    assert frames[f"plain ({recorded.program}:{loop})"]["self"] == on_loop
    for (name, tid), seen in recorded.threads.items():
        assert frames[f"{name} ({tid})"]["total"] == sum(seen.values())
