# SPDX-License-Identifier: MIT
"""What docs/formats.md promises of options and JSON, and the version of the release."""

import collections
import glob
import json
import os
import re
import subprocess

import pytest

import environment
import golden
import plain_stream
from environment import CONVERTERS, DIFF, PROJECT, built_programs
from recording import attach, convert

try:
    import jsonschema
except ImportError:
    jsonschema = None

pytestmark = pytest.mark.short
STREAMS = os.path.join(PROJECT, "tests", "streams")
VERSION = re.search(r"version: '(.*)',", open(os.path.join(PROJECT, "meson.build")).read())[1]
# What a schema of the Firefox Profiler says, and what has its version, belongs to the viewer.
OURS = ["diff", "dump", "info", "report", "report-jsonl"]


def read(*path):
    with open(os.path.join(PROJECT, *path), encoding="utf-8") as file:
        return file.read()


def schema(name):
    return json.loads(read("schemas", f"{name}.schema.json"))


def objects(value, name=None):
    """(name, schema) of each schema in a schema, with the name of the member that it is for."""
    if isinstance(value, list):
        for one in value:
            yield from objects(one, name)
    elif isinstance(value, dict):
        yield name, value
        for key, part in value.items():
            for inner, one in part.items() if key == "properties" else [(name, part)]:
                yield from objects(one, inner)


def rows_of(heading):
    """The rows of the first table below the sentence, in docs/formats.md."""
    table = read("docs", "formats.md").split(heading)[1].split("\n\n")[1].splitlines()
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in table[2:]]


def test_schemas_name_each_key_and_the_version():
    assert sorted(OURS + ["gecko"]) == sorted(os.path.basename(path).partition(".")[0]
                                              for path in glob.glob(os.path.join(PROJECT, "schemas", "*.schema.json")))
    for name in OURS:
        found = list(objects(schema(name)))
        assert any(member == "version" and part == {"const": 1} | {key: part[key] for key in part if key == "description"}
                   for member, part in found), name
        for member, part in found:
            assert "properties" not in part or part.get("additionalProperties") is False, (name, member)
            assert "required" not in part or "properties" not in part or set(part["required"]) <= set(part["properties"])


def test_unstable_keys_are_those_of_the_page():
    marked = {(member, name) for name in OURS for member, part in objects(schema(name)) if "x-stability" in part}
    told = {(key.strip("`"), name) for key, name, _ in rows_of("Keys of JSON that may still change")}
    assert marked == told and marked
    for name in OURS:
        for member, part in objects(schema(name)):
            assert part.get("x-stability", "unstable: ").startswith("unstable: "), (name, member)


def test_unstable_options_are_those_of_the_page():
    marked = set()
    for program in ["pyreel", *built_programs()]:
        page = read("man", f"{program}.1").replace("\\-", "-")
        for paragraph in re.split(r"\n\.(?:TP|RE|SH|SS)\b", page):
            if "\nNot stable:" in paragraph:
                marked.add(f"{program} {re.search(r'--[a-z-]+', paragraph)[0]}")
    assert marked == {option.strip("`") for option, _ in rows_of("Options that may still change")} and marked


def wrong_in(name, told):
    if jsonschema is None:
        environment.missing("python3-jsonschema")
    return [f"{'.'.join(map(str, error.absolute_path))}: {error.message[:300]}"
            for error in jsonschema.Draft202012Validator(schema(name)).iter_errors(told)]


def printed(*command):
    done = subprocess.run(list(map(str, command)), stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    return json.loads(done.stdout)


def test_info_of_each_recording_keeps_the_schema():
    """The schema has all keys that pyreel-info prints, and pyreel-info prints all keys that the schema has."""
    seen = collections.Counter()
    cases = sorted(glob.glob(os.path.join(STREAMS, "*", "expected-info.json")))
    for case in map(os.path.dirname, cases):
        names = [os.path.join(case, name) for name in sorted(os.listdir(case)) if name.startswith("recording")]
        for options in ([], ["--from", "0.2", "--to", "90%", "--threads", "*"]):
            told = printed(CONVERTERS["info"], "--json", "-q", *options, *names)
            assert wrong_in("info", told) == [], case
            seen.update(told.keys() | {f"process {key}" for row in told["processes"] for key in row}
                        | {f"thread {key}" for row in told["threads"] for key in row} | {f"task {key}" for row in told["tasks"] for key in row})
    parts = schema("info")["$defs"]
    assert seen.keys() == parts["recording"]["properties"].keys() | {f"{kind} {key}" for kind in ("process", "thread", "task")
                                                                    for key in parts[kind]["properties"]}


def test_info_of_several_keeps_the_schema():
    names = [os.path.join(STREAMS, case, golden.RECORDING) for case in ("plain-3.11", "tree-3.13", "later-version", "threads-3.11")]
    told = printed(CONVERTERS["info"], "--json", *names)
    assert wrong_in("info", told) == []
    assert (told["version"], told["totals"]["shown"]) == (1, 3) and "stream version 2" in told["recordings"][2]["error"]


@pytest.mark.parametrize("case", ["tree-3.13", "async-all-3.15", "opcodes-3.15", "cut"])
def test_reports_and_comparisons_keep_the_schema(case):
    path, other = (os.path.join(STREAMS, name, golden.RECORDING) for name in (case, "threads-3.11"))
    assert wrong_in("report", printed(CONVERTERS["report"], "--json", "-q", "--tree", path)) == []
    assert wrong_in("diff", printed(DIFF, "--json", "-q", "--paths", "--weight", "wall", path, other)) == []
    lines = subprocess.run([CONVERTERS["report"], "--jsonl", "-q", path], stdout=subprocess.PIPE, check=True).stdout.splitlines()
    assert [wrong_in("report-jsonl", json.loads(line)) for line in lines] == [[]] * len(lines) and len(lines) > 2


def test_info_of_another_format_keeps_the_schema(tmp_path):
    """The version is that of the other format."""
    path = tmp_path / "tachyon.bin"
    assert convert("tachyon", os.path.join(STREAMS, "plain-3.11", golden.RECORDING), "-o", path).code == 0
    told = printed(CONVERTERS["info"], "--json", path)
    assert wrong_in("info", told) == []
    assert told["format"] == "tachyon" and told["format_version"] >= 1


def test_labels_are_those_of_the_page():
    """pyreel-pprof names all labels when it is asked for one that does not exist."""
    row = next(row for row in read("docs", "formats.md").splitlines() if row.startswith("| pprof |"))
    types, labels = row.split("the names of the labels:")
    assert re.findall(r"`(\w+)`", types) == ["samples", "wall", "cpu", "gil", "gil_wait"]
    refused = convert("pprof", "-", "--labels", "nothing").messages
    known = "".join(re.search(r"these labels only:(.*?)\nTry", refused, re.S)[1].split()).split(",")
    assert re.findall(r"`(\w+)`", labels) == known


def test_a_key_that_no_schema_has_is_found():
    """The check above is no check if it accepts anything."""
    told = printed(CONVERTERS["info"], "--json", os.path.join(STREAMS, "plain-3.11", golden.RECORDING))
    assert wrong_in("info", {**told, "another": 1}) and wrong_in("info", {key: told[key] for key in told if key != "version"})


def test_version_is_the_same_everywhere():
    assert re.search(rf"^## {re.escape(VERSION)}, \d{{4}}-\d\d-\d\d$", read("CHANGELOG.md"), re.M)
    assert re.search(r"^## (\S+)", read("CHANGELOG.md"), re.M)[1].rstrip(",") == VERSION
    pages = glob.glob(os.path.join(PROJECT, "man", "*.1")) + [os.path.join(PROJECT, "pyreel", "pyreel.7.in")]
    assert {re.search(r'^\.TH .* "pyreel (\S+)"', read(page))[1] for page in pages} == {VERSION}
    assert re.search(r'^__version__ = "(.*)"$', read(os.path.join(PROJECT, "python", "pyreel", "__init__.py")), re.M)[1] == VERSION
    for program in built_programs().values():
        assert subprocess.run([program, "--version"], stdout=subprocess.PIPE, text=True, check=True).stdout.split()[1] == VERSION


def test_a_recording_says_who_made_it(spinning, tmp_path):
    path = tmp_path / "a.pyreel"
    attach(spinning, path, "--compression", "none")
    told = printed(CONVERTERS["info"], "--json", path)
    assert (told["format_version"], told["pyreel_version"]) == (1, VERSION)
    header = plain_stream.Recording(path).header
    assert {1, 2, 8, 17} <= header.keys()
    text = subprocess.run([CONVERTERS["info"], str(path)], stdout=subprocess.PIPE, text=True, check=True).stdout
    assert f"pyreel {VERSION}, stream version 1\n" in text
