# SPDX-License-Identifier: MIT
"""Profiles in the raw format of Firefox's own profiler (pyreel-gecko --raw-gecko): rows as long as their schema, indexes
in range, callers in front of callees, times that do not go back. Viewers take broken files without a word.

    profile = gecko_raw.load("profile.json.gz")
    problems = gecko_raw.problems(profile)          a list of sentences; empty when all is well
    threads = gecko_raw.told(profile)               {(pid, tid): what the thread shows, with names for numbers}
"""

import gzip
import json
import math
import re

VERSION = 29
MAIN = "GeckoMain"
SCHEMAS = {
    "samples": ["stack", "time", "eventDelay", "threadCPUDelta"],
    "markers": ["name", "startTime", "endTime", "phase", "category", "data"],
    "stackTable": ["prefix", "frame"],
    "frameTable": ["location", "relevantForJS", "innerWindowID", "implementation", "line", "column", "category", "subcategory"],
}
META = ("version", "startTime", "shutdownTime", "categories", "markerSchema")
FULL_META = (*META, "interval", "stackwalk", "debug", "gcpoison", "asyncstack", "processType", "presymbolicated")
# As the viewer reads the location of a function with a file: name, file, line, column.
LOCATION = re.compile(r"^(.*) \((.+?):([0-9]+)(?::([0-9]+))?\)$")


def load(path):
    with open(path, "rb") as file:
        data = file.read()
    return json.loads(gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data)


def processes(profile):
    return [profile, *profile["processes"]]


def rows(table):
    """The rows of a table, as dictionaries."""
    names = sorted(table["schema"], key=table["schema"].get)
    return [dict(zip(names, row)) for row in table["data"]]


# ---- rules ----

class Rules:
    def __init__(self, profile):
        self.found = []
        meta = profile["meta"]
        self.categories = [len(category["subcategories"]) for category in meta["categories"]]
        self.texts = {schema["name"]: [field["key"] for field in schema["data"] if field.get("format") == "unique-string"]
                      for schema in meta["markerSchema"]}
        self.check("preprocessedProfileVersion" not in meta, "the profile claims to be processed")
        self.check(not [key for key in FULL_META if key not in meta], "a member of meta is absent")
        self.check(profile["threads"], "the profile has no threads")
        for process in processes(profile):
            self.check_process(process, meta)
        pids = [thread["pid"] for process in processes(profile) for thread in process["threads"][:1]]
        self.check(len(set(pids)) == len(pids), "two processes have one pid")

    def check(self, fine, *problem):
        if not fine:
            self.found.append(" ".join(map(str, problem)))

    def check_process(self, process, meta):
        self.check(process["meta"]["version"] == VERSION, "a process has another version")
        self.check(process["meta"]["categories"] == meta["categories"], "a process has other categories")
        self.check(not [key for key in META if key not in process["meta"]], "a member of a process's meta is absent")
        self.check(process["libs"] == process["pages"] == process["pausedRanges"] == [], "libs, pages, pausedRanges")
        self.check(len({thread["pid"] for thread in process["threads"]}) == 1, "a process has several pids")
        self.check(sum(thread["name"] == MAIN for thread in process["threads"]) <= 1, "two main threads")
        tids = [thread["tid"] for thread in process["threads"]]
        self.check(len(set(tids)) == len(tids), "two threads have one tid")
        for thread in process["threads"]:
            self.check_thread(thread)
        for counter in process["counters"]:
            self.check_rows(counter["samples"], ["time", "count"], counter["name"])
            self.check_times([row[0] for row in counter["samples"]["data"]], counter["name"])

    def check_rows(self, table, columns, what):
        self.check(table["schema"] == {name: i for i, name in enumerate(columns)}, what, "has another schema")
        self.check(all(len(row) == len(columns) for row in table["data"]), what, "has rows of other lengths")

    def check_times(self, times, what):
        self.check(all(isinstance(time, (int, float)) and math.isfinite(time) for time in times), what, "has no number as time")
        self.check(all(a <= b for a, b in zip(times, times[1:])), what, "has times that go back")

    def in_range(self, index, length):
        return type(index) is int and 0 <= index < length

    def check_thread(self, thread):
        what = f"thread {thread['tid']}:"
        for name, columns in SCHEMAS.items():
            known = len(thread[name]["schema"]) if name == "samples" else None
            self.check_rows(thread[name], columns[:known], f"{what} {name}")
        strings, stacks, frames = thread["stringTable"], rows(thread["stackTable"]), rows(thread["frameTable"])
        for i, stack in enumerate(stacks):
            self.check(stack["prefix"] is None or self.in_range(stack["prefix"], i), what, "stack", i, "comes before its caller")
            self.check(self.in_range(stack["frame"], len(frames)), what, "stack", i, "has no frame")
        for i, frame in enumerate(frames):
            self.check(self.in_range(frame["location"], len(strings)), what, "frame", i, "has no location")
            self.check_category(frame, what)
        samples = rows(thread["samples"])
        self.check(all(self.in_range(sample["stack"], len(stacks)) for sample in samples), what, "a sample has no stack")
        self.check_times([sample["time"] for sample in samples], what)
        for marker in rows(thread["markers"]):
            self.check_marker(marker, len(strings), len(stacks), what)
        self.check_uses(thread, stacks, frames, what)

    def check_category(self, frame, what):
        fine = self.in_range(frame["category"], len(self.categories))
        self.check(fine and self.in_range(frame["subcategory"], self.categories[frame["category"]]), what, "a category is absent")

    def check_marker(self, marker, strings, stacks, what):
        data = marker["data"]
        self.check(self.in_range(marker["name"], strings), what, "a marker has no name")
        self.check(self.in_range(marker["category"], len(self.categories)), what, "a marker has no category")
        self.check(marker["phase"] == 1 and marker["startTime"] <= marker["endTime"], what, "a marker is no interval")
        self.check(data["type"] in self.texts, what, "a marker has no schema")
        self.check(all(self.in_range(data[key], strings) for key in self.texts[data["type"]] if key in data), what,
                   "a marker has a field without text")
        if "stack" in data:
            samples = data["stack"]["samples"]
            self.check_rows(samples, ["stack", "time"], f"{what} a marker's stack")
            self.check(len(samples["data"]) == 1 and self.in_range(samples["data"][0][0], stacks), what, "a marker's stack is absent")

    def check_uses(self, thread, stacks, frames, what):
        """A thread has only what it uses."""
        used = {stack["frame"] for stack in stacks}
        self.check(used == set(range(len(frames))), what, "frames that no stack has")
        leaves = {sample["stack"] for sample in rows(thread["samples"])}
        leaves |= {marker["data"]["stack"]["samples"]["data"][0][0] for marker in rows(thread["markers"]) if "stack" in marker["data"]}
        called = {stack["prefix"] for stack in stacks}
        self.check(set(range(len(stacks))) <= leaves | called, what, "stacks that nothing has")


def problems(profile):
    return Rules(profile).found


# ---- what it says ----

def function_of(location):
    """(name, file, line) as the viewer reads a location. In a file name, a blank before a parenthesis is another blank."""
    match = LOCATION.match(location)
    return (match[1], match[2].replace("\N{NO-BREAK SPACE}(", " ("), int(match[3])) if match else (location, None, None)


def told_of_thread(thread, texts):
    strings, frames = thread["stringTable"], rows(thread["frameTable"])
    stacks = []
    for prefix, frame in thread["stackTable"]["data"]:
        cells = frames[frame]
        own = (*function_of(strings[cells["location"]]), cells["line"], cells["column"], cells["category"], cells["subcategory"])
        stacks.append((*(stacks[prefix] if prefix is not None else ()), own))
    markers = []
    for marker in rows(thread["markers"]):
        data = dict(marker["data"])
        data.update({key: strings[data[key]] for key in texts[data["type"]] if key in data})
        if "stack" in data:
            stack, time = data.pop("stack")["samples"]["data"][0]
            data["cause"] = (time, stacks[stack])
        markers.append((strings[marker["name"]], marker["startTime"], marker["endTime"], marker["category"], data))
    samples = rows(thread["samples"])
    return {
        "name": thread["processName"] if thread["name"] == MAIN else thread["name"],
        "life": (thread["registerTime"], thread["unregisterTime"]),
        "stacks": [stacks[sample["stack"]] for sample in samples],
        "times": [sample["time"] for sample in samples],
        "cpu": [sample.get("threadCPUDelta") for sample in samples],
        "delays": [sample["eventDelay"] for sample in samples],
        "markers": markers,
    }


def told(profile):
    texts = Rules(profile).texts
    return {(str(thread["pid"]), thread["tid"]): told_of_thread(thread, texts)
            for process in processes(profile) for thread in process["threads"]}
