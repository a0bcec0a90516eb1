# SPDX-License-Identifier: MIT
"""The rules for a Firefox Profiler file, each of which a profile can break alone: gecko_check finds each of them."""

import copy
import gzip
import json
import os

import pytest

import gecko_check
import gecko_output
import gecko_rules
from environment import CONVERTERS, PROJECT
from recording import run

RECORDING = os.path.join(PROJECT, "tests/streams/threads-3.11/recording.pyreel")
INTERVAL = 10
SAMPLES = 6


def table(name, *rows):
    """A shared table: each row has the cells of all columns."""
    columns = {column: [row[i] for row in rows] for i, column in enumerate(gecko_rules.TABLES[name])}
    return {**columns, "length": len(rows)}


class Profile(dict):
    """A profile that obeys each rule: main() calls work() in two threads, of which one is idle for a while."""

    def __init__(self):
        super().__init__(libs=[], pages=[], threads=[self.thread(0), self.thread(1)])
        self["shared"] = self.shared()
        self["counters"] = [self.counter("GIL held", "line-rate"), self.counter("Resident memory", "line-accumulated")]
        self["profilerOverhead"] = [{
            "pid": "42", "mainThreadIndex": 0, "statistics": dict.fromkeys(gecko_rules.STATISTICS, 1),
            "samples": {**{column: [5, 5] for column in gecko_rules.OVERHEADS}, "time": [0, 10], "length": 2},
        }]
        self["meta"] = self.meta()

    @staticmethod
    def shared():
        return {
            "stackTable": table("stackTable", (0, None), (1, 0), (2, 1)),
            "frameTable": table("frameTable", *((-1, 0, category, 0, function, None, None, line, None, None)
                                                for category, function, line in ((0, 0, 2), (0, 1, 5), (1, 2, None)))),
            "funcTable": table("funcTable", (0, False, False, 0, 0, 1, None, None), (1, False, False, 0, 0, 4, None, None),
                               (2, False, False, -1, None, None, None, None)),
            "resourceTable": table("resourceTable", (4, 1, None, None)),
            "sources": table("sources", (None, 3, 1, 1, None, None)),
            "nativeSymbols": table("nativeSymbols"),
            "sourceLocationTable": table("sourceLocationTable"),
            "stringArray": ["main", "work", "[idle]", "/home/me/app.py", "app.py", "GIL wait"],
        }

    @staticmethod
    def thread(number):
        return {
            "name": ("app.py", "worker")[number], "isMainThread": number == 0, "processType": "default",
            "processName": "app.py", "pid": "42", "tid": 42 + number, "processStartupTime": 0,
            "processShutdownTime": 100, "registerTime": 1, "unregisterTime": 99, "pausedRanges": [],
            "showMarkersInTimeline": True,
            "samples": {
                "stack": [0, 1, 1, 2, 2, 1], "time": [1.5 + INTERVAL * i for i in range(SAMPLES)],
                "threadCPUDelta": [None, 10_000_000, 9_999_000, 0, 0, 5000], "eventDelay": [0, 1.5, None, 0, 0, 0],
                "weight": None, "weightType": "samples", "length": SAMPLES,
            },
            "markers": {
                "data": [{"type": "GILWait", "holder": 1, "waited": 4.5, "color": "red", "cause": {"time": 12, "stack": 1}},
                         {"type": "GILWait", "holder": 1, "waited": 1, "color": "red"}],
                "name": [5, 5], "startTime": [12, 30], "endTime": [16.5, 31], "phase": [1, 1], "category": [0, 0],
                "length": 2,
            },
        }

    @staticmethod
    def counter(name, kind):
        return {
            "name": name, "category": "Python", "description": "What it is.", "pid": "42", "mainThreadIndex": 0,
            "samples": {"time": [0, 10, 20], "count": [5, 5, -3 if kind == "line-accumulated" else 3], "length": 3},
            "display": {"graphType": kind, "unit": "bytes", "color": "green", "markerSchemaLocation": None,
                        "sortWeight": 10, "label": name,
                        "tooltipRows": [{"type": "value", "source": "count", "format": {"unit": "number"}, "label": name}]},
        }

    @staticmethod
    def meta():
        return {
            **dict.fromkeys(gecko_rules.NUMBERS, 0), **dict.fromkeys(gecko_rules.TRUE_SWITCHES, True),
            **dict.fromkeys(gecko_rules.STRINGS, ""), "preprocessedProfileVersion": 64, "interval": INTERVAL,
            "profilingEndTime": 100, "product": "app.py – Python", "misc": "rv:3.15.2", "logicalCPUs": 4,
            "initialVisibleThreads": [0, 1], "initialSelectedThreads": [1],
            "sampleUnits": dict(gecko_rules.SAMPLE_UNITS),
            "categories": [{"name": "Your code", "color": "yellow", "subcategories": ["Other"]},
                           {"name": "Idle", "color": "transparent", "subcategories": ["Other"]},
                           {"name": "Other", "color": "grey", "subcategories": ["Other"]}],
            "markerSchema": [{
                "name": "GILWait", "description": "What it is.", "display": ["marker-chart", "timeline-overview"],
                "tooltipLabel": "{marker.name}", "tableLabel": "{marker.data.holder}",
                "chartLabel": "{marker.data.holder}", "colorField": "color",
                "fields": [{"key": "holder", "label": "Held by", "format": "unique-string"},
                           {"key": "waited", "label": "Waited", "format": "duration"},
                           {"key": "color", "format": "string", "hidden": True}]}],
            "configuration": {"threads": ["all"], "features": ["native"], "capacity": 0},
            "extra": [{"label": "Sampling", "entries": [{"label": "Samples", "format": "integer", "value": 12}]}],
        }


def set_at(*path):
    """set_at("meta", "interval", 0): what puts 0 there."""
    *keys, last, value = path

    def put(profile):
        for key in keys:
            profile = profile[key]
        profile[last] = value
    return put


def without(*path):
    *keys, last = path

    def remove(profile):
        for key in keys:
            profile = profile[key]
        del profile[last]
    return remove


def many_markers(count, name="GILWait"):
    def fill(profile):
        profile["meta"]["markerSchema"].append({**profile["meta"]["markerSchema"][0], "name": "Task"})
        data = {"type": name, "holder": 1, "waited": 1, "color": "red"}
        markers = profile["threads"][1]["markers"]
        markers.update(data=[data] * count, name=[5] * count, startTime=[20 + i / count for i in range(count)],
                       endTime=[20 + i / count for i in range(count)], phase=[0] * count, category=[0] * count,
                       length=count)
    return fill


def sources(*path):
    return set_at("shared", *path)


def samples(*path):
    return set_at("threads", 0, "samples", *path)


def markers(*path):
    return set_at("threads", 0, "markers", *path)


def schema(*path):
    return set_at("meta", "markerSchema", 0, *path)


def display(*path):
    return set_at("counters", 0, "display", *path)


def counted(*path):
    return set_at("counters", 0, "samples", *path)


def overhead(*path):
    return set_at("profilerOverhead", 0, *path)


BROKEN = {  # what is wrong with the profile: (how it comes about, the problem)
    "the order of its parts": (lambda p: p.update(libs=p.pop("libs")), "keys are"),
    "an unknown part": (lambda p: p.__setitem__("more", []) or p.update(meta=p.pop("meta")), "keys are"),
    "meta is not last": (lambda p: p.update(pages=p.pop("pages")), "meta is not last"),
    "libraries": (set_at("libs", [{}]), "libs is"),
    "a later version": (set_at("meta", "preprocessedProfileVersion", 75), "version is 75"),
    "a text for a number": (set_at("meta", "startTime", "now"), "meta.startTime is 'now'"),
    "no interval": (set_at("meta", "interval", 0), "meta.interval is not above 0"),
    "a switch": (set_at("meta", "symbolicated", False), "meta.symbolicated is False"),
    "no schemas": (without("meta", "markerSchema"), "meta.markerSchema is missing"),
    "half a character": (set_at("meta", "arguments", "\udce4"), "meta.arguments is"),
    "no processors": (set_at("meta", "physicalCPUs", 0), "meta.physicalCPUs is 0"),
    "no product": (set_at("meta", "product", ""), "meta.product is empty"),
    "a version that is cut": (set_at("meta", "misc", "rv:3.15.0rc1"), "meta.misc is"),
    "an empty range": (set_at("meta", "profilingEndTime", 0), "the profile is from 0 to 0"),
    "a thread that is not there": (set_at("meta", "initialVisibleThreads", [0, 2]), "meta.initialVisibleThreads is [0, 2]"),
    "a thread twice": (set_at("meta", "initialVisibleThreads", [0, 1, 1]), "meta.initialVisibleThreads"),
    "a hidden thread is selected": (set_at("meta", "initialVisibleThreads", [0]), "threads [1] are selected"),
    "several are selected": (set_at("meta", "initialSelectedThreads", [0, 1]), "would merge them"),
    "no extra": (set_at("meta", "extra", []), "meta.extra is"),
    "one section twice": (lambda p: p["meta"]["extra"].append(p["meta"]["extra"][0]), "has the sections"),
    "an extra row": (set_at("meta", "extra", 0, "entries", 0, "value", "12"), "extra row"),
    "an extra number": (set_at("meta", "extra", 0, "entries", 0, {"label": "a", "format": "decimal", "value": float("inf")}), "extra row"),
    "an extra row without a label": (set_at("meta", "extra", 0, "entries", 0, "label", ""), "extra row"),
    "half a configuration": (without("meta", "configuration", "capacity"), "meta.configuration is"),
    "features": (set_at("meta", "configuration", "features", [1]), "meta.configuration.features"),
    "capacity": (set_at("meta", "configuration", "capacity", -1), "meta.configuration.capacity"),
    "a schema twice": (lambda p: p["meta"]["markerSchema"].append(p["meta"]["markerSchema"][0]), "comes twice"),
    "a field twice": (lambda p: p["meta"]["markerSchema"][0]["fields"].append(p["meta"]["markerSchema"][0]["fields"][0]), "has the fields"),
    "an unknown place": (schema("display", ["timeline-network"]), "is for ['timeline-network']"),
    "no place": (schema("display", []), "is for []"),
    "a format of a field": (schema("fields", 0, "format", "hexadecimal"), "has the field"),
    "a field without a label": (schema("fields", 0, "label", ""), "has the field"),
    "a label of nothing": (schema("tableLabel", "{marker.data.who}"), "names a field it does not have"),
    "a colour of nothing": (schema("colorField", "paint"), "names a field it does not have"),
    "graphs": (schema("graphs", []), "makes a track of its own"),
    "no grey": (set_at("meta", "categories", 2, "color", "blue"), "no category is grey"),
    "a colour": (set_at("meta", "categories", 0, "color", "pink"), "colours are"),
    "a category twice": (set_at("meta", "categories", 0, "name", "Other"), "categories are"),
    "a category without a name": (set_at("meta", "categories", 0, "name", ""), "category"),
    "the first subcategory": (set_at("meta", "categories", 0, "subcategories", ["json"]), "has no subcategory Other"),
    "subcategories": (set_at("meta", "categories", 0, "subcategories", ["Other", *map(str, range(256))]), "more than 256 subcategories"),
    "categories": (lambda p: p["meta"]["categories"].extend(
        {"name": str(i), "color": "blue", "subcategories": ["Other"]} for i in range(254)), "more than 256 categories"),
    "idle is not transparent": (set_at("meta", "categories", 1, "color", "blue"), "only Idle is transparent"),
    "no strings": (without("shared", "stringArray"), "shape is not"),
    "a string that is none": (sources("stringArray", 0, None), "string 0 is None"),
    "a zero": (sources("stringArray", 0, "a\0"), "string 0 is"),
    "no table": (without("shared", "nativeSymbols"), "shared.nativeSymbols is missing"),
    "a column too many": (sources("frameTable", "lib", []), "shared.frameTable has columns"),
    "a length": (sources("frameTable", "length", 4), "entries, length is 4"),
    "a stack that is not there": (sources("stackTable", "prefix", 2, 3), "stackTable.prefix[2] is 3"),
    "a stack before its prefix": (sources("stackTable", "prefix", 1, 2), "stack 1 comes before its prefix 2"),
    "a frame that is not there": (sources("stackTable", "frame", 2, 9), "stackTable.frame[2] is 9"),
    "null": (sources("stackTable", "frame", 2, None), "stackTable.frame[2] is None"),
    "a switch for a number": (sources("frameTable", "func", 0, True), "frameTable.func[0] is True"),
    "line 0": (sources("frameTable", "line", 0, 0), "frameTable.line[0] is 0"),
    "a category that is not there": (sources("frameTable", "category", 0, 3), "frameTable.category[0] is 3"),
    "a subcategory that is not there": (sources("frameTable", "subcategory", 0, 1), "frame 0 has subcategory 1 of 1"),
    "two categories of a function": (sources("frameTable", "func", 1, 2), "function 2 has two categories"),
    "below idle": (lambda p: p["shared"]["stackTable"].update(frame=[0, 2, 1], prefix=[None, 0, 1]), "goes on below a frame that is idle"),
    "a resource that is not there": (sources("funcTable", "resource", 0, 1), "funcTable.resource[0] is 1"),
    "a file without a resource": (sources("funcTable", "resource", 0, -1), "function 0 has a file and no resource"),
    "a label with a resource": (sources("funcTable", "resource", 2, 0), "function 2 has no file"),
    "a resource without a name": (sources("stringArray", 4, ""), "a resource has no name"),
    "a resource of another type": (sources("resourceTable", "type", 0, 5), "resources have the types {5}"),
    "a library": (sources("resourceTable", "lib", 0, 1), "a resource has a library"),
    "a file twice": (sources("sources", table("sources", *[(None, 3, 1, 1, None, None)] * 2)), "more than once"),
    "a file without a name": (sources("stringArray", 3, ""), "a source has no file name"),
    "text that is none": (sources("sources", "content", 0, 5), "sources.content[0] is 5"),
    "a stack of nothing": (lambda p: (p["shared"]["stackTable"]["frame"].append(0), p["shared"]["stackTable"]["prefix"].append(None),
                                      p["shared"]["stackTable"].update(length=4)), "stack 3 is not used"),
    "a frame of nothing": (sources("stackTable", "frame", [0, 1, 1]), "frame 2 is not used"),
    "two main threads": (set_at("threads", 1, "isMainThread", True), "process 42 has 2 main threads"),
    "a thread number twice": (set_at("threads", 1, "tid", "42"), "process 42 has 2 threads 42"),
    "no name": (set_at("threads", 1, "name", ""), "thread 1: name is ''"),
    "a pid that is a number": (set_at("threads", 1, "pid", 42), "pid is 42"),
    "a pid that is none": (set_at("threads", 1, "pid", "app"), "pid is 'app'"),
    "another type of process": (set_at("threads", 1, "processType", "tab"), "processType is 'tab'"),
    "no tid": (set_at("threads", 1, "tid", None), "tid is None"),
    "main or not": (without("threads", 1, "isMainThread"), "isMainThread is missing"),
    "pauses": (set_at("threads", 1, "pausedRanges", [{}]), "pausedRanges is"),
    "an end before the beginning": (set_at("threads", 1, "unregisterTime", 0.5), "unregisterTime is 0.5"),
    "no end": (without("threads", 1, "processShutdownTime"), "processShutdownTime is 'missing'"),
    "a stack too few": (lambda p: p["threads"][0]["samples"]["stack"].pop(), "stack has 5 entries"),
    "a sample of no stack": (samples("stack", 0, 3), "a sample has stack 3 of 3"),
    "a sample without a stack": (samples("stack", 0, None), "a sample has stack None"),
    "a time that is none": (samples("time", 2, None), "a time is not a number"),
    "an endless time": (samples("time", 5, float("inf")), "a time is not a number"),
    "a time that goes back": (samples("time", 2, 3), "sample 2 has the time 3 after 11.5"),
    "equal times": (samples("time", 2, 11.5), "sample 2 has the time 11.5 after 11.5"),
    "a time after the end": (samples("time", 5, 100.5), "times are outside of 0 to 100"),
    "a sample before the thread": (set_at("threads", 0, "registerTime", 2), "the thread begins at 2"),
    "a sample after the thread": (set_at("threads", 0, "unregisterTime", 50), "the thread ends at 50"),
    "weights": (samples("weight", [1] * SAMPLES), "weightType is 'samples'"),
    "a weight too few": (samples("weight", [1]), "weight is [1]"),
    "a weight below 0": (lambda p: p["threads"][0]["samples"].update(weight=[-1] * SAMPLES, weightType="tracing-ms"), "a weight is below 0"),
    "differences in no order": (lambda p: (p["threads"][0]["samples"].update(weight=[1, -1, 2] * (SAMPLES // 3), weightType="tracing-ms"),
                                           p["meta"]["extra"].append({"label": "Comparison", "entries": []})),
                                "thread 0: the differences are not in order"),
    "CPU times too few": (samples("threadCPUDelta", [0]), "threadCPUDelta has 1 entries"),
    "a negative CPU time": (samples("threadCPUDelta", 1, -1), "threadCPUDelta is not a time"),
    "a CPU time that is none": (samples("threadCPUDelta", 1, "1"), "threadCPUDelta is not a time"),
    "delays too few": (samples("eventDelay", [0]), "eventDelay has 1 entries"),
    "a negative delay": (samples("eventDelay", 0, -1), "eventDelay is not a time"),
    "no units": (without("meta", "sampleUnits"), "meta.sampleUnits is None"),
    "another unit": (set_at("meta", "sampleUnits", "threadCPUDelta", "ms"), "meta.sampleUnits is"),
    "a column of markers": (lambda p: p["threads"][0]["markers"]["phase"].pop(), "markers.phase"),
    "a marker without a name": (markers("name", 0, 6), "has the name 6"),
    "a marker's category": (markers("category", 0, 3), "has the category 3"),
    "a marker without an end": (markers("endTime", 0, None), "markers.endTime has other than numbers"),
    "a phase": (markers("phase", 0, 4), "has phase 4"),
    "half a marker": (markers("phase", 0, 2), "has phase 2"),
    "an instant that lasts": (markers("phase", 0, 0), "is an instant from 12 to 16.5"),
    "a marker that ends before": (markers("endTime", 0, 11), "is from 12 to 11"),
    "a marker after the end": (markers("endTime", 1, 101), "is from 30 to 101"),
    "a state within itself": (markers("startTime", 1, 15), "begins at 15, in another of its name"),
    "no overview": (set_at("threads", 0, "showMarkersInTimeline", False), "showMarkersInTimeline is False"),
    "a marker without a schema": (markers("data", 0, "type", "Other"), "has no schema 'Other'"),
    "a field that no schema has": (markers("data", 0, "more", 1), "has ['more'], which its schema has not"),
    "a marker's colour": (markers("data", 0, "color", "pink"), "has colour 'pink'"),
    "a marker's stack": (markers("data", 0, "cause", "stack", 3), "has stack 3"),
    "a marker's time": (markers("data", 0, "cause", "time", None), "has the cause"),
    "a string that is not there": (markers("data", 0, "holder", 6), "holder is 6"),
    "a number that is none": (markers("data", 0, "waited", "1"), "waited is '1'"),
    "too many markers": (many_markers(20_001), "20003 markers are more than 20000"),
    "markers that are most of the file": (many_markers(500), "markers take"),
    "tasks that are most of the file": (many_markers(10_000, "Task"), "markers of lives take"),
    "a counter without a name": (set_at("counters", 0, "name", ""), "counter 0: name is ''"),
    "a counter of another process": (set_at("counters", 0, "pid", "43"), "counter 0 is of thread 0, pid '43'"),
    "a counter of no thread": (set_at("counters", 0, "mainThreadIndex", 2), "counter 0 is of thread 2"),
    "a counter twice": (set_at("counters", 1, "name", "GIL held"), "counter 1 is the second 'GIL held'"),
    "a counter that is hidden": (lambda p: p["counters"][0].update(category="CPU", name="processCPU"), "that the viewer hides"),
    "how a counter looks": (without("counters", 0, "display", "label"), "display has"),
    "a graph": (display("graphType", "bars"), "counter 0: 'bars'"),
    "a counter's colour": (display("color", "darkgrey"), "counter 0 has colour 'darkgrey'"),
    "a counter's markers": (display("markerSchemaLocation", "timeline-ipc"), "has markers of 'timeline-ipc'"),
    "a counter's label": (display("label", ""), "label is ''"),
    "a counter's unit": (display("unit", None), "unit is None"),
    "a counter's place": (display("sortWeight", "1"), "sortWeight is '1'"),
    "a counter's tooltip": (display("tooltipRows", []), "tooltipRows is []"),
    "a point too few": (lambda p: p["counters"][0]["samples"]["count"].pop(), "count has 2 entries"),
    "a point that is none": (counted("count", 0, None), "count has other than numbers"),
    "no points": (set_at("counters", 0, "samples", {"time": [], "count": [], "length": 0}), "has 0 points"),
    "points": (set_at("counters", 0, "samples", {"time": [i / 50 for i in range(4001)], "count": [0] * 4001, "length": 4001}), "has 4001 points"),
    "two points at one time": (counted("time", [0, 10, 10]), "point 2 is not after the one before"),
    "a point after the end": (counted("time", 2, 101), "times are outside of 0 to 100"),
    "a negative rate": (counted("count", 2, -1), "counter 0 falls to -1"),
    "less than nothing": (set_at("counters", 1, "samples", "count", 2, -11), "counter 1 falls to -1"),
    "a cost of no thread": (overhead("mainThreadIndex", 5), "overhead 0 is of thread 5"),
    "half of the cost": (without("profilerOverhead", 0, "statistics", "maxThread"), "lacks ['maxThread']"),
    "a cost that is none": (overhead("statistics", "maxThread", None), "statistics has other than numbers"),
    "a column of costs": (without("profilerOverhead", 0, "samples", "locking"), "samples has"),
    "a cost too few": (overhead("samples", "locking", [1]), "locking has 1 entries, length is 2"),
    "no threads": (lambda p: p["threads"].clear(), "threads"),
    "no meta": (lambda p: p.__setitem__("meta", None), "shape is not"),
}


def test_a_good_profile_obeys_each_rule():
    assert gecko_check.problems(Profile()) == []


@pytest.mark.parametrize("broken", BROKEN)
def test_a_broken_rule_is_found(broken):
    profile = Profile()
    how, problem = BROKEN[broken]
    how(profile)
    problems = gecko_check.problems(profile)
    assert any(problem in found for found in problems), problems


def test_all_markers_are_many_when_they_are_asked_for():
    profile = Profile()
    many_markers(20_001)(profile)
    assert gecko_check.problems(profile, all_markers=True) == []


def test_thousands_of_tasks_are_few():
    profile = Profile()
    many_markers(3_000, "Task")(profile)
    assert gecko_check.problems(profile) == []


def test_lives_of_tasks_overlap():
    profile = Profile()
    profile["meta"]["markerSchema"][0]["name"] = "Task"
    markers = profile["threads"][0]["markers"]
    markers["startTime"][1] = 15
    for thread in profile["threads"]:
        for data in thread["markers"]["data"]:
            data["type"] = "Task"
    assert gecko_check.problems(profile) == []


def test_the_compact_form_is_the_same_profile(tmp_path):
    plain, compact = Profile(), Profile()
    compact["meta"]["preprocessedProfileVersion"] = 66
    stacks = compact["shared"]["stackTable"]
    stacks["prefixOffset"] = [0 if prefix is None else i - prefix for i, prefix in enumerate(stacks.pop("prefix"))]
    for owner in (*compact["threads"], *compact["counters"]):
        times = owner["samples"].pop("time")
        owner["samples"]["timeDeltas"] = [times[0], *(b - a for a, b in zip(times, times[1:]))]
    path = tmp_path / "compact.json.gz"
    path.write_bytes(gzip.compress(json.dumps(compact).encode()))
    assert gecko_check.load(path) == plain


# ---- bytes ----

@pytest.mark.parametrize("data", [b"", b"{", b'{"a": NaN}', b'{"a": "\xff"}', gzip.compress(b"{}")[:-4]], ids=repr)
def test_what_is_no_profile_is_no_profile(tmp_path, data):
    (tmp_path / "broken").write_bytes(data)
    with pytest.raises((ValueError, EOFError)):
        gecko_check.load(tmp_path / "broken")


# ---- sums ----

INFO = {"threads": [{"pid": 42, "tid": tid, "samples": SAMPLES, "cpu_s": 0.020004, "wall_s": 0.06, "gil_percent": 10.8}
                    for tid in (42, 43)],
        "samples": 2 * SAMPLES, "processes": [{"pid": 42, "cpu_s": 0.04, "most_resident_bytes": 10}]}

DIFFERENCES = {  # what is wrong with the sums: (how the recording differs, the problem)
    "a sample too many": (lambda info: info["threads"][1].update(samples=7) or info.update(samples=13), "thread ('42', '43') has 6 of samples, and 7"),
    "CPU time of a thread": (lambda info: info["threads"][0].update(cpu_s=0.03), "thread ('42', '42') has 20"),
    "a thread that is not there": (lambda info: info["threads"].append({**info["threads"][0], "tid": 44, "samples": 1, "cpu_s": None})
                                   or info.update(samples=13),
                                   "all threads have 12 of samples, and 13"),
    "time with the lock": (lambda info: info["threads"][0].update(wall_s=10), "counter GIL held of process 42 is 13"),
    "memory": (lambda info: info["processes"][0].update(most_resident_bytes=11), "counter Resident memory of process 42 is 10, and 11"),
}


def test_the_sums_of_the_recording():
    assert gecko_check.compare(Profile(), INFO) == []


def test_entries_of_tasks_have_no_sums():
    assert gecko_check.compare(Profile(), {**INFO, "samples": 100}) == []


@pytest.mark.parametrize("different", DIFFERENCES)
def test_other_sums_are_found(different):
    info = copy.deepcopy(INFO)
    how, problem = DIFFERENCES[different]
    how(info)
    problems = gecko_check.compare(Profile(), info)
    assert any(problem in found for found in problems), problems


# ---- the files of other tests ----

OUTPUTS = {
    "app.json": ["-o", "app.json", "app.pyreel"],
    "b.json.gz": ["--markers=all", "--output=b.json.gz", "a.pyreel"],
    "c.json": ["a.pyreel", "-oc.json"],
    "a.pyreel.json.gz": ["--from", "1", "a.pyreel", "b.pyreel"],
    "d": ["--from", "a.pyreel", "-o", "d"],
}


@pytest.mark.parametrize("path", OUTPUTS)
def test_the_output_of_a_command_is_found(path):
    assert gecko_output.output_of(OUTPUTS[path], lambda word: word.endswith(".pyreel")) == path


@pytest.mark.parametrize("arguments", [["--help"], ["-o", "-", "a.pyreel"], ["-o", "/dev/stdout", "a.pyreel"],
                                       []], ids=" ".join)
def test_there_may_be_no_output(arguments):
    assert gecko_output.output_of(arguments) is None


def test_each_output_is_held_to_the_rules(tmp_path, monkeypatch):
    """The converter of a real recording: its file is looked at wherever a test makes it."""
    seen = []
    monkeypatch.setattr(gecko_check, "load", lambda path: seen.append(str(path)) or {})
    with pytest.raises(AssertionError, match="the profile's shape|keys are"):
        run(CONVERTERS["gecko"], "-o", tmp_path / "a.json", RECORDING)
    assert seen == [str(tmp_path / "a.json")]
