# SPDX-License-Identifier: MIT
"""Recordings of tests/streams, made by earlier versions of pyreel and with words of later ones, read as they always did.

tests/streams/make.py tells how they are made. A key that is not expected is no difference: outputs may tell more.
"""
import hashlib
import json
import re

import pytest

import golden
import plain_stream
import pprof_check
from golden import STREAMS
from recording import convert

pytestmark = pytest.mark.short

CASES = sorted({path.parent.name for path in STREAMS.glob("*/recording*.pyreel")})


def differences(expected, found, where="it"):
    if isinstance(expected, dict) and isinstance(found, dict):
        for key, value in expected.items():
            if key not in found:
                yield f"{where} has no {key}"
            else:
                yield from differences(value, found[key], f"{where}.{key}")
    elif isinstance(expected, list) and isinstance(found, list) and len(expected) == len(found):
        for place, (one, other) in enumerate(zip(expected, found)):
            yield from differences(one, other, f"{where}[{place}]")
    elif expected != found:
        yield f"{where} is {found!r}, and was {expected!r}"


def read(name, text):
    return json.loads(text) if name.endswith(".json") else text.splitlines()


def test_no_recording_has_changed():
    """Never changed, never removed: tests/streams/README.md."""
    rows = [line.split() for line in (STREAMS / "SHA256SUMS").read_text().splitlines()]
    assert {name: hashlib.sha256((STREAMS / name).read_bytes()).hexdigest() for _, name in rows} == {name: told for told, name in rows}
    assert sorted(name for _, name in rows) == sorted(f"{case}/{name}" for case in CASES for name in golden.recordings(STREAMS / case))


def test_each_recording_is_in_the_table():
    named = set(re.findall(r"`([a-z][a-z0-9.-]+)`", (STREAMS / "README.md").read_text().partition("| kind |")[2]))
    assert sorted(named) == CASES


@pytest.mark.sanitized("recordings of every kind, later versions and damaged ones among them")
@pytest.mark.parametrize("case", CASES)
def test_a_recording_reads_as_ever(case):
    found = golden.outcome(STREAMS / case)
    expected = {path.name: path.read_text(encoding="utf-8") for path in (STREAMS / case).glob("expected*")}
    assert expected.keys() == found.keys()
    for name in expected:
        assert list(differences(read(name, expected[name]), read(name, found[name]), name)) == []


def test_what_a_later_version_adds_changes_nothing():
    plain, later = ((STREAMS / case) for case in ("plain-3.11", "later-additions"))
    for name in ("expected-collapsed.txt", "expected-pprof.json"):
        assert (later / name).read_text() == (plain / name).read_text()


def test_samples_stand_for_what_the_document_says():
    """Counts are those of the recording from which this one was made. Its samples claim to stand for more than the clock
    has, so outputs that add up times have wall-clock time, which is the clock's."""
    plain, weighted = ((STREAMS / case) for case in ("plain-3.11", "weighted"))
    assert (weighted / "expected-collapsed.txt").read_text() == (plain / "expected-collapsed.txt").read_text()
    told = plain_stream.Recording(weighted / golden.RECORDING).times
    as_ever = plain_stream.Recording(plain / golden.RECORDING).times
    assert as_ever == {1: 24 * 50_000_000, 2: 23 * 50_000_000}
    assert min(told.values()) > 1.5 * max(as_ever.values())

    info = json.loads((weighted / "expected-info.json").read_text())
    pprof = json.loads((weighted / "expected-pprof.json").read_text())
    gecko = json.loads((weighted / "expected-gecko.json").read_text())
    walls = [thread["wall_s"] for thread in info["threads"]]  # the ticks are those of the plain recording
    assert all(0 <= walls[i] - as_ever[i + 1] / 1e9 < 0.1 for i in range(2)), walls
    assert pprof["totals"][1] == round(sum(walls) * 1e9)
    assert [thread["samples"] for thread in gecko["threads"]] == pytest.approx([1000 * wall for wall in walls], abs=1)
    wall = convert("collapsed", weighted / golden.RECORDING, "--weight", "wall").text.split("\n")
    assert sum(int(line.rpartition(" ")[2]) for line in wall if line) == round(sum(walls) * 1e6)


def test_how_exact_it_is_is_told(tmp_path):
    info = json.loads((STREAMS / "weighted" / "expected-info.json").read_text())
    assert (info["exact_percent"], info["disturb_percent"]) == (97.8723, 0.9415)  # of 47 samples, of 1.2002 s
    assert info["reached_hz"] == pytest.approx(24 / 1.2002, abs=1e-4)
    recording = STREAMS / "weighted" / golden.RECORDING
    rate = "20 a second (20 asked, limited to 1 % overhead)"
    exact = "97.8 % of samples were one proven moment; overhead: 0.94 % of a processor"
    text = convert("info", recording).text
    assert f"\nrate        {rate}\nexact       {exact}\n" in text and "missed " not in text
    for name in ("gecko", "pprof"):
        assert convert(name, recording, "-o", tmp_path / name).code == 0
    rows = json.loads((tmp_path / "gecko").read_text())["meta"]["extra"][0]["entries"]
    values = {row["label"]: row["value"] for row in rows}
    assert (values["Rate"], values["Exactness"]) == (rate, exact)
    comments = pprof_check.summary(pprof_check.examine(tmp_path / "pprof")[0])["comments"]
    assert f"rate: {rate}" in comments and exact in comments


@pytest.mark.parametrize("case, code, words", [
    ("later-version", 1, "it has stream version 2, and this program reads stream version 1: use pyreel 2.0.0, which recorded it, or a later one"),
    ("later-record", 0, "is damaged (first problem: a block that breaks the rules of the format"),
    ("later-codec", 0, "is damaged (first problem: a block of an unknown coding"),
    ("grouped-damaged", 0, "is damaged (first problem: a block with a wrong checksum"),
    ("no-recording", 1, "it is not a pyreel recording"),
    ("cut", 0, "is not complete: it is cut off"),
    ("killed", 0, "is not complete: it has no end (was the recorder killed?)"),
    ("no-room", 0, "is not complete: the file could not be written any further"),
])
def test_what_is_expected_is_what_the_document_says(case, code, words):
    """Whoever writes down anew what is expected must not write down a mistake."""
    for name, told in json.loads((STREAMS / case / "expected.json").read_text()).items():
        assert told["exit code"] == code, name
        assert any(words in message for message in told["messages"]), name
