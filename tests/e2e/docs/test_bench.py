# SPDX-License-Identifier: MIT
"""The benchmarks work. How fast anything is, is not asked here."""

import glob
import json
import os
import re
import subprocess

import pytest

from environment import BUILD, PROJECT, missing, python_of
from recording import CONVERTERS, PATIENCE, run, succeed

BENCH = os.path.join(PROJECT, "tests", "bench")
BENCH_UNWIND = os.path.join(BUILD, "tests", "bench", "bench-unwind")
CODECS = os.path.join(BUILD, "tests", "bench", "codecs")
MAKE_RECORDING = os.path.join(BUILD, "tests", "bench", "make-recording")


@pytest.fixture(autouse=True)
def is_built():
    if not os.access(BENCH_UNWIND, os.X_OK):
        missing(f"not built: {BENCH_UNWIND}")


def test_the_unwinder_is_measured(start, python3):
    for target in sorted(glob.glob(os.path.join(BENCH, "targets", "*.py"))):
        if target.endswith(("rounds.py", "children.py")):  # those that end by themselves
            continue
        process = start(python3, target)
        figures = json.loads(succeed(BENCH_UNWIND, "--pid", process.pid, "--seconds", 0.2, "--json").text)
        assert 0 < figures["calls"] <= figures["ticks"] <= figures["samples"] + figures["failed"], target
        assert figures["samples"] > 0 and process.running, target
        process.close()


def test_reading_is_measured():
    ended = succeed(os.path.join(BENCH, "replay-speed"), "--ours-only", "--samples", "20k", "--like", "mixed", "--rounds", 1, "--json")
    cells = json.loads(ended.text)["cells"]
    assert {cell["to"] for cell in cells} == {"collapsed", "gecko", "gecko.gz", "pprof"}


def test_codecs_are_compared():
    recording = os.path.join(PROJECT, "tests", "streams", "predicted-3.14", "recording.pyreel")
    rows = [line.split() for line in succeed(CODECS, "--rounds", 1, recording).text.splitlines()]
    sizes = {row[0]: int(row[1]) for row in rows if row[0] in ("none", "zstd", "grouped", "predicted")}
    assert sizes["predicted"] < sizes["grouped"] < sizes["zstd"] < sizes["none"]


@pytest.mark.parametrize("like", ["mixed", "threads", "calls", "states"])
def test_recordings_are_made(tmp_path, like):
    path = str(tmp_path / "a.pyreel")
    succeed(MAKE_RECORDING, "--like", like, "--samples", "20k", "--threads", 3, "--stacks", 100, "--depth", 12, path)
    told = json.loads(succeed(CONVERTERS["info"], "--json", "--verify", path).text)
    assert told["complete"] and told["samples"] == 20000 and len(told["threads"]) == 3


def test_profilers_are_compared(tmp_path):
    """Tachyon is there with each Python 3.15. A busy machine is no reason to say nothing: --busy."""
    python_of("3.15")
    page = tmp_path / "page.md"
    page.write_text("Before.\n<!-- compare: begin -->\nold\n<!-- compare: end -->\nAfter.\n")
    command = [os.path.join(BENCH, "compare"), "--quick", "--busy", "101", "--peer", "Tachyon", "--table", "cost", "--update", page]
    said = subprocess.run(command, check=True, capture_output=True, text=True, timeout=5 * PATIENCE).stdout
    text = page.read_text()
    assert text.startswith("Before.\n<!-- compare: begin -->\n") and text.endswith("\n<!-- compare: end -->\nAfter.\n")
    assert said.strip() in text and "old" not in text.split()
    rows = {cells[0].strip(): cells for line in said.splitlines() if (cells := line.strip("|").split("|"))[1:2] == [" 3.15 "]}
    assert rows.keys() == {"pyreel", "Tachyon"}
    for cells in rows.values():
        assert cells[2].strip() == "short functions" and len(cells) == 9
        assert all(re.fullmatch(r"-?[\d,.]+", cell.strip()) for cell in cells[3:]), cells


def test_a_page_without_a_place_for_the_comparison_is_left_alone(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("No place.\n")
    ended = run(os.path.join(BENCH, "compare"), "--update", page)
    assert ended.code == 1 and "no lines <!-- compare: begin -->" in ended.messages and page.read_text() == "No place.\n"
