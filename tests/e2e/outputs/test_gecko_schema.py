# SPDX-License-Identifier: MIT
"""schemas/gecko.schema.json is a JSON Schema, and says what pyreel-gecko writes."""

import json
import pathlib

import pytest

import gecko_schema
import golden
from environment import PROJECT, missing
from recording import convert

STREAMS = pathlib.Path(PROJECT) / "tests" / "streams"
CASES = ["async-all-3.15", "exceptions-3.13", "measures-3.15"]  # all others: recording.run(), with fewer cells


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


@pytest.mark.parametrize("options", [(), ("--opcodes=frames", "--markers=all", "--weight=cpu")], ids=["few", "all"])
@pytest.mark.parametrize("case", CASES)
def test_what_is_written_is_of_the_schema(case, options, tmp_path):
    """Each cell, not those that gecko_schema.thinned() leaves."""
    convert("gecko", STREAMS / case / golden.RECORDING, *options, "-o", tmp_path / "a.json")
    errors = gecko_schema.validator().iter_errors(json.loads((tmp_path / "a.json").read_text()))
    assert [error.message for error in errors] == []
