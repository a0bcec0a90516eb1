# SPDX-License-Identifier: MIT
"""Recordings of tests/streams, made by earlier versions of pyreel and with words of later ones, read as they always did.

tests/streams/make.py tells how they are made. A key that is not expected is no difference: outputs may tell more.
"""
import json
import pathlib

import pytest

import golden
import predicted_stream
from environment import PROJECT
from recording import convert

STREAMS = pathlib.Path(PROJECT) / "tests" / "streams"
CASES = sorted(path.parent.name for path in STREAMS.glob(f"*/{golden.RECORDING}"))


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


def test_there_are_recordings_of_all_versions():
    assert len(CASES) >= 22
    versions = {case.rpartition("-")[2] for case in CASES}
    assert {"3.11", "3.12", "3.13", "3.14", "3.15"} <= versions


@pytest.mark.parametrize("case, codecs", [("grouped-3.14", [2, 2, 2]), ("predicted-3.14", [2, 3, 2])])
def test_blocks_are_what_they_are_called(case, codecs):
    recording = (STREAMS / case / golden.RECORDING).read_bytes()
    assert [head[5] for head, _ in predicted_stream.blocks(recording) if head[4] == 2] == codecs


def test_a_predicted_recording_is_what_the_document_says(tmp_path):
    """Put together by a program that knows the document alone, it is the same."""
    recording, plain = STREAMS / "predicted-3.14" / golden.RECORDING, tmp_path / golden.RECORDING
    plain.write_bytes(predicted_stream.without_predicted(recording.read_bytes()))
    assert plain.stat().st_size > 1.5 * recording.stat().st_size
    for converter in ("collapsed", "gecko", "pprof"):
        found = [tmp_path / f"{converter}-{name}" for name in ("predicted", "plain")]
        for path, output in zip((recording, plain), found):
            assert convert(converter, path, "-o", output).code == 0
        assert found[0].read_bytes() == found[1].read_bytes()


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


@pytest.mark.parametrize("case, code, words", [
    ("later-version", 1, "it has format version 255 and this program reads up to 3: use a newer pyreel"),
    ("later-record", 0, "is damaged (first: a block that breaks the rules of the format"),
    ("later-codec", 0, "is damaged (first: a block of an unknown coding"),
    ("grouped-damaged", 0, "is damaged (first: a block with a wrong checksum"),
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
