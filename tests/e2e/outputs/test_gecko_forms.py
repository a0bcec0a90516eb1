# SPDX-License-Identifier: MIT
"""Forms of a Firefox Profiler file: what is in the profile is the same in each."""

import collections
import json
import pathlib

import pytest

import gecko_check
import gecko_raw
import viewers
from environment import CONVERTERS, PROJECT
from golden import RECORDING
from recording import run, succeed

STREAMS = pathlib.Path(PROJECT) / "tests" / "streams"
CASES = ["plain-3.11", "threads-3.11", "interpreters-3.14", "weighted"]


def profile_of(case, folder, *options):
    path = folder / "out.json"
    succeed(CONVERTERS["gecko"], *options, "--force", "-o", path, STREAMS / case / RECORDING)
    return path


@pytest.mark.short
@pytest.mark.parametrize("case", CASES)
def test_the_compact_form_has_the_same_profile(case, tmp_path):
    usual = gecko_check.load(profile_of(case, tmp_path))
    path = profile_of(case, tmp_path, "--compact")
    with open(path) as file:
        compact = json.load(file)
    assert compact["meta"]["preprocessedProfileVersion"] == 66
    assert "prefix" not in compact["shared"]["stackTable"]
    assert not any("time" in thread["samples"] for thread in compact["threads"])
    assert gecko_check.load(path) == usual


def test_the_viewer_reads_the_compact_form(tmp_path):
    seen = []
    for options in ((), ("--compact",)):
        with viewers.opened(profile_of("threads-3.11", tmp_path, *options)) as viewer:
            seen.append((viewer.threads(), viewer.functions("t-0")))
    assert seen[0] == seen[1]


# ---- the raw format ----

RAW_CASES = [*CASES, "gil-thread-3.15", "exceptions-3.13", "gc-3.15", "measures-3.15", "opcodes-3.15", "damaged", "cut", "lost-block"]


def told_of_usual(profile):
    """What gecko_raw.told() says of a raw profile, of the usual one."""
    shared, strings = profile["shared"], profile["shared"]["stringArray"]
    functions, frames, table = shared["funcTable"], shared["frameTable"], shared["stackTable"]
    texts = {schema["name"]: [field["key"] for field in schema["fields"] if field["format"] == "unique-string"]
             for schema in profile["meta"]["markerSchema"]}
    stacks = []

    def frame_of(frame):
        function = frames["func"][frame]
        source, line = functions["source"][function], functions["lineNumber"][function]
        file = None if source is None else strings[shared["sources"]["filename"][source]]
        return (strings[functions["name"][function]], file, line if file is None else line or 0, frames["line"][frame],
                frames["column"][frame], frames["category"][frame], frames["subcategory"][frame])

    for frame, prefix in zip(table["frame"], table["prefix"]):
        stacks.append((*(stacks[prefix] if prefix is not None else ()), frame_of(frame)))

    def data_of(data):
        data = {**data, **{key: strings[data[key]] for key in texts[data["type"]] if key in data}}
        if "cause" in data:
            data["cause"] = (data["cause"]["time"], stacks[data["cause"]["stack"]])
        return data

    found = {}
    for thread in profile["threads"]:
        samples, markers = thread["samples"], thread["markers"]
        nothing = [None] * samples["length"]
        found[thread["pid"], thread["tid"]] = {
            "name": thread["name"],
            "life": (thread["registerTime"], thread["unregisterTime"]),
            "stacks": [stacks[stack] for stack in samples["stack"]],
            "times": samples["time"],
            "cpu": samples.get("threadCPUDelta", nothing),
            "delays": samples.get("eventDelay", [0] * samples["length"]),
            "markers": [(strings[name], start, end, category, data_of(data)) for name, start, end, category, data in zip(
                markers["name"], markers["startTime"], markers["endTime"], markers["category"], markers["data"])],
        }
    return found


def counters_of(owner):
    return {counter["name"]: counter for counter in owner["counters"]}


@pytest.mark.short
@pytest.mark.parametrize("options", [(), ("--markers=all",)], ids=["few", "all"])
@pytest.mark.parametrize("case", RAW_CASES)
def test_the_raw_form_says_what_the_usual_one_says(case, options, tmp_path):
    usual = gecko_check.load(profile_of(case, tmp_path, *options))
    raw = gecko_raw.load(profile_of(case, tmp_path, "--raw-gecko", *options))
    assert gecko_raw.problems(raw) == []
    assert gecko_raw.told(raw) == told_of_usual(usual)
    assert raw["meta"]["categories"] == usual["meta"]["categories"]
    for name, counter in counters_of(raw).items():
        samples = counters_of(usual)[name]["samples"]
        assert counter["samples"]["data"] == [list(row) for row in zip(samples["time"], samples["count"])]
    assert set(counters_of(usual)) - set(counters_of(raw)) <= {"Waiting for GIL"}


def test_further_processes_are_profiles_within_the_raw_one(tmp_path):
    path = tmp_path / "out.json"
    inputs = [STREAMS / case / RECORDING for case in ("threads-3.11", "measures-3.15")]
    succeed(CONVERTERS["gecko"], "-o", path, *inputs)
    usual = gecko_check.load(path)
    succeed(CONVERTERS["gecko"], "--raw-gecko", "--force", "-o", path, *inputs)
    raw = gecko_raw.load(path)
    assert len(gecko_raw.processes(raw)) == len({thread["pid"] for thread in usual["threads"]}) > 1
    assert gecko_raw.problems(raw) == []
    assert gecko_raw.told(raw) == told_of_usual(usual)
    with viewers.opened(path) as viewer:
        assert viewer.ask("profile", "info")["processCount"] == len(gecko_raw.processes(raw))


def seen_of(viewer):
    """What the viewer shows of each thread: names, CPU, times of functions, markers. The raw form has no packages as
    owners of functions, so functions of one name are one."""
    seen = {}
    for thread in viewer.threads():
        handle = thread["threadHandle"]
        info = viewer.ask("thread", "info", thread=handle)
        functions = collections.Counter()
        for function in viewer.functions(handle):
            functions[function["name"], "self"] += function["selfSamples"]
            functions[function["name"], "total"] += function["totalSamples"]
        seen[thread["pid"], str(thread["tid"])] = (
            info["friendlyName"], info["sampleCount"], info["createdAt"], info["endedAt"], thread["cpuMs"], functions,
            sorted((marker["start"], marker["duration"], marker["name"], marker["label"], marker["category"], marker["hasStack"])
                   for marker in viewer.markers(handle)))
    return seen


@pytest.mark.short
@pytest.mark.parametrize("case", ["measures-3.15"])
def test_the_viewer_reads_the_raw_form(case, tmp_path):
    seen = []
    for options in (("--weight=samples",), ("--raw-gecko",)):
        with viewers.opened(profile_of(case, tmp_path, *options)) as viewer:
            seen.append(seen_of(viewer))
    assert seen[0] == seen[1]


@pytest.mark.parametrize("option", ["--compact", "--embed-sources", "--weight=cpu", "--max-samples=5"])
def test_the_raw_form_refuses_what_it_cannot_say(option, tmp_path):
    ended = run(CONVERTERS["gecko"], "--raw-gecko", option, "-o", tmp_path / "out.json", STREAMS / "plain-3.11" / RECORDING)
    assert ended.code == 2 and "--raw-gecko" in ended.messages and option.partition("=")[0] in ended.messages, ended
    assert not (tmp_path / "out.json").exists()
