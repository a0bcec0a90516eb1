# SPDX-License-Identifier: MIT
"""schemas/gecko.schema.json is a JSON Schema, says what pyreel-gecko writes, and refuses what it does not write."""

import copy
import json
import pathlib

import pytest

import gecko_check
import gecko_schema
import golden
from environment import PROJECT, missing
from recording import convert
from test_gecko_check import Profile, set_at, without

STREAMS = pathlib.Path(PROJECT) / "tests" / "streams"
CASES = sorted(path.parent.name for path in STREAMS.glob(f"*/{golden.RECORDING}"))


@pytest.fixture(autouse=True)
def needed():
    if gecko_schema.jsonschema is None:
        missing("no JSON Schema validator: Debian's python3-jsonschema")


def test_it_is_a_schema():
    gecko_schema.jsonschema.Draft202012Validator.check_schema(gecko_schema.schema())


def objects(schema):
    """All parts of the schema that describe an object."""
    if isinstance(schema, dict):
        if "properties" in schema and schema.get("type"):
            yield schema
        for part in schema.values():
            yield from objects(part)
    elif isinstance(schema, list):
        for part in schema:
            yield from objects(part)


def test_it_says_all_members_of_what_we_own():
    """Data of markers have the fields of their own schemas."""
    found = list(objects(gecko_schema.schema()))
    assert len(found) > 15
    assert [part for part in found if part.get("additionalProperties") is not False] == [
        gecko_schema.schema()["$defs"]["markerData"]]


def test_a_profile_by_hand_is_of_the_schema():
    profile = Profile()
    profile["meta"].update(platform="Linux", importedFrom="pyreel 1", version=24, debug=False)
    assert gecko_schema.problems(profile) == []


@pytest.mark.parametrize("case", CASES)
def test_what_is_written_is_of_the_schema(case, tmp_path):
    """Each cell, not those that gecko_schema.thinned() leaves."""
    convert("gecko", STREAMS / case / golden.RECORDING, "-o", tmp_path / "a.json")
    if not (tmp_path / "a.json").exists():  # there are recordings that no converter takes
        return
    errors = gecko_schema.validator().iter_errors(json.loads((tmp_path / "a.json").read_text()))
    assert [error.message for error in errors] == []


WRONG = {
    "an unknown member": set_at("more", 1),
    "an unknown member of meta": set_at("meta", "more", 1),
    "an unknown member of a thread": set_at("threads", 0, "more", 1),
    "an unknown column": set_at("shared", "frameTable", "more", []),
    "a missing column": without("shared", "frameTable", "line"),
    "a missing length": without("threads", 0, "samples", "length"),
    "an index below 0": set_at("shared", "stackTable", "frame", 0, -1),
    "a broken number": set_at("threads", 0, "samples", "stack", 0, 1.5),
    "a text for a time": set_at("threads", 0, "samples", "time", 0, "1"),
    "a negative CPU time": set_at("threads", 0, "samples", "threadCPUDelta", 1, -1),
    "an unknown colour": set_at("meta", "categories", 0, "color", "pink"),
    "an unknown colour of a counter": set_at("counters", 0, "display", "color", "darkgrey"),
    "an unknown graph": set_at("counters", 0, "display", "graphType", "bars"),
    "an unknown phase": set_at("threads", 0, "markers", "phase", 0, 2),
    "a field that is a list": set_at("threads", 0, "markers", "data", 0, "waited", []),
    "a pid that is a number": set_at("threads", 0, "pid", 42),
    "another version": set_at("meta", "preprocessedProfileVersion", 75),
    "no grey category": set_at("meta", "categories", 2, "color", "red"),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_what_is_not_of_the_schema_is_refused(wrong):
    profile = Profile()
    profile["meta"].update(platform="Linux", importedFrom="pyreel 1", version=24, debug=False)
    WRONG[wrong](profile)
    assert gecko_schema.problems(profile) != []


@pytest.mark.parametrize("cell", [-1, "1", 1.5, True], ids=repr)
def test_a_bad_cell_is_found_in_a_long_column(cell):
    profile = Profile()
    profile["meta"].update(platform="Linux", importedFrom="pyreel 1", version=24, debug=False)
    good = copy.deepcopy(profile)
    for one, cells in ((good, [0] * 100_000), (profile, [0] * 50_000 + [cell] + [0] * 50_000)):
        one["threads"][0]["samples"]["stack"] = cells
    assert gecko_schema.problems(good) == []
    assert gecko_schema.problems(profile) != []


def test_the_outputs_of_other_tests_are_of_the_schema(tmp_path, monkeypatch):
    monkeypatch.setattr(gecko_schema, "problems", lambda profile: ["the schema was asked"])
    with pytest.raises(AssertionError, match="the schema was asked"):
        convert("gecko", STREAMS / "threads-3.11" / golden.RECORDING, "-o", tmp_path / "a.json")
    assert gecko_check.problems(gecko_check.load(tmp_path / "a.json")) == []
