# SPDX-License-Identifier: MIT
"""pyreel-info --summary and --min-kept: one line that says whether a recording is good, and a gate for scripts."""

import re

import pytest

from environment import CONVERTERS
from golden import frozen
from recording import info, run

pytestmark = pytest.mark.short

WHOLE, MISSED, CUT, EMPTY = map(frozen, ("exceptions-3.13", "grouped-3.14", "cut", "lost-block"))
LINE = re.compile(r"(?P<file>.*): (?P<command>.*), (?P<seconds>[\d.]+) s, (?P<samples>\d+) samples? of \d+ "
                  r"(threads?|processes)(, (?P<exact>[\d.]+) % exact)?(, (?P<kept>[\d.]+) % kept)?"
                  r"(, [\d.]+ of [\d.]+ Hz)?"
                  r"(, (?P<placed>[\d.]+) % of the CPU time placed)?, (?P<complete>.*)")


def summary(*arguments, code=0):
    ended = run(CONVERTERS["info"], "--summary", *arguments)
    assert ended.code == code, ended
    return ended


def test_a_line_for_a_recording():
    path = frozen("measures-3.15")
    told, (line,) = info(path), summary(path).text.splitlines()
    read = LINE.fullmatch(line)
    assert read["file"] == str(path) and int(read["samples"]) == told["samples"] and read["complete"] == "complete"
    assert told["command"].endswith(read["command"][-20:]) and len(read["command"]) <= 60
    assert float(read["kept"]) <= told["kept_percent"] <= 100 and float(read["exact"]) <= told["exact_percent"]


def test_a_line_for_each(tmp_path):
    gone = tmp_path / "gone.pyreel"
    lines = summary(WHOLE, CUT, gone, code=1).text.splitlines()
    assert LINE.fullmatch(lines[0])["kept"] == "100.0"
    cut = LINE.fullmatch(lines[1])
    assert cut["complete"] == "not complete: it is cut off, damaged: about 3 samples lost" and cut["kept"] == "93.1"
    assert lines[2].startswith(f"{gone}: cannot open")


# 8 % of the time was missed; 3 samples are lost; no sample is left
@pytest.mark.parametrize("path, kept, said", [(MISSED, 92.0, "7.9 % of the time was missed"), (CUT, 93.1, "3 samples are lost"),
                                              (EMPTY, 0, "47 samples are lost")], ids=["missed", "lost", "none"])
def test_too_few_samples_fail(path, kept, said):
    assert int(info(path)["kept_percent"] * 10) / 10 == kept
    assert "min-kept" not in summary("--min-kept", f"{kept}%", path).messages
    ended = summary("--min-kept", kept + 0.2, path, code=3)
    assert said in ended.messages and f"{kept:.1f} % of the samples that were due" in ended.messages
    assert ended.text == summary(path).text
    for options in ([], ["--json"]):
        assert run(CONVERTERS["info"], *options, "--min-kept", "99%", path).code == 3
        assert run(CONVERTERS["info"], *options, "--min-kept", "99%", WHOLE, path).code == 3
    assert summary("--min-kept", "99%", "--strict", CUT, code=1)


def test_what_cannot_be_asked():
    for value in ("101%", "-1", "x", "95 %", ""):
        assert summary("--min-kept", value, WHOLE, code=2)
    assert "--summary and --json" in summary("--json", WHOLE, code=2).messages


def test_a_summary_replaces_a_summary_only(tmp_path):
    path = tmp_path / "summary.txt"
    for _ in range(2):
        summary("-o", path, WHOLE)
    path.write_text("notes\n")
    summary("-o", path, WHOLE, code=1)
    assert path.read_text() == "notes\n"
