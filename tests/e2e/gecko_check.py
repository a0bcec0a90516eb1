# SPDX-License-Identifier: MIT
"""Checks a Firefox Profiler file by itself, because the viewers take many broken ones without a word.

    profile = gecko_check.load("profile.json.gz")
    problems = gecko_check.problems(profile)        a list of sentences; empty when all is well
    summary = gecko_check.summary(profile)          what is in it, thread by thread
    stacks = gecko_check.stacks(profile, thread)    {(root, ..., leaf): samples}, as collapsed stacks have it; with
                                                    leaves=True also [idle] and [waiting for GIL]

As a program it prints the summary as JSON, or the problems on stderr and exits with 1.
It knows the processed format of version 64, the one that pyreel writes.
"""

import collections
import gzip
import json
import math
import re
import sys

VERSION = 64
LEAVES = ("[idle]", "[waiting for GIL]")
FRAME_COLORS = {
    "transparent", "purple", "green", "orange", "yellow", "lightblue", "blue", "brown", "magenta", "red", "lightred",
    "darkgrey", "grey",
}
KEYS_IN_ORDER = ["libs", "threads", "shared", "counters", "meta"]
TRUE_SWITCHES = ["symbolicated", "symbolicationNotSupported", "sourceCodeIsNotOnSearchfox", "usesOnlyOneStackType",
                 "keepProfileThreadOrder"]

NUMBERS = ["interval", "startTime", "startTimeAsClockMonotonicNanosecondsSinceBoot", "profilingStartTime",
           "profilingEndTime", "version", "processType", "stackwalk"]
STRINGS = ["product", "misc", "oscpu", "platform", "abi", "toolkit", "importedFrom", "arguments"]

# Of each shared table the columns, and what their cells are: a place in another table, or a kind of value.
# "?" says that null is allowed.
TABLES = {
    "stackTable": {"frame": "frameTable", "prefix": "stackTable?"},
    "frameTable": {
        "address": "integer", "inlineDepth": "integer", "category": "category", "subcategory": "integer",
        "func": "funcTable", "nativeSymbol": "nativeSymbols?", "innerWindowID": "integer?", "line": "positive?",
        "column": "positive?", "originalLocation": "sourceLocationTable?",
    },
    "funcTable": {
        "name": "stringArray", "isJS": "boolean", "relevantForJS": "boolean", "resource": "resource",
        "source": "sources?", "lineNumber": "positive?", "columnNumber": "positive?",
        "originalLocation": "sourceLocationTable?",
    },
    "resourceTable": {"name": "stringArray", "type": "integer", "lib": "integer?", "host": "stringArray?"},
    "nativeSymbols": {
        "libIndex": "integer", "address": "integer", "name": "stringArray", "functionSize": "integer?",
    },
    "sources": {
        "id": "string?", "filename": "stringArray", "startLine": "integer", "startColumn": "integer",
        "sourceMapURL": "stringArray?", "content": "string?",
    },
    "sourceLocationTable": {"source": "sources", "line": "positive", "column": "positive"},
}
MARKER_COLUMNS = ["data", "name", "startTime", "endTime", "phase", "category"]
INTERVAL = 1  # a marker's phase
GRAPH_COLORS = {"blue", "green", "grey", "ink", "magenta", "orange", "purple", "red", "teal", "yellow"}
DISPLAYS = {"marker-chart", "marker-table", "timeline-overview", "timeline-memory"}
LABELS = ["tooltipLabel", "tableLabel", "chartLabel"]
SAMPLE_UNITS = {"time": "ms", "eventDelay": "ms", "threadCPUDelta": "ns"}


def refuse_constant(name):
    raise ValueError(f"{name} is not JSON")


def load(path):
    """The profile in a .json or .json.gz file. Raises ValueError or OSError when it is not JSON in UTF-8."""
    with open(path, "rb") as file:
        data = file.read()
    if data[:2] == b"\x1f\x8b":
        data = gzip.decompress(data)
    return json.loads(data.decode("utf-8"), parse_constant=refuse_constant)


def is_integer(value):
    return isinstance(value, int) and not isinstance(value, bool)


def is_number(value):
    return (is_integer(value) or isinstance(value, float)) and math.isfinite(value)


def has_surrogates(text):
    return any("\ud800" <= char <= "\udfff" for char in text)


class Checker:
    def __init__(self, profile):
        self.profile = profile
        self.shared = profile.get("shared", {})
        self.meta = profile.get("meta", {})
        self.schemas = {}
        self.problems = []

    def expect(self, good, problem):
        if not good:
            self.problems.append(problem)
        return good

    def check(self):
        keys = [key for key in self.profile if key in KEYS_IN_ORDER]
        self.expect(keys == KEYS_IN_ORDER, f"keys are {keys}")
        self.expect(list(self.profile)[-1:] == ["meta"], "meta is not last")
        for key in ("libs", "pages", "counters"):
            self.expect(self.profile.get(key) == [], f"{key} is {self.profile.get(key)!r}")
        self.check_meta()
        self.check_schemas()
        self.check_categories()
        self.check_strings()
        for name in TABLES:
            self.check_table(name)
        if not self.problems:  # the rest looks into other tables
            self.check_order()
            self.check_subcategories()
            self.check_threads()
        return self.problems

    def check_meta(self):
        meta = self.meta
        version = meta.get("preprocessedProfileVersion")
        self.expect(version == VERSION, f"version is {version}, not {VERSION}")
        for key in NUMBERS:
            self.expect(is_number(meta.get(key)), f"meta.{key} is {meta.get(key)!r}")
        self.expect(is_number(meta.get("interval")) and meta["interval"] > 0, "meta.interval is not above 0")
        for key in TRUE_SWITCHES:
            self.expect(meta.get(key) is True, f"meta.{key} is {meta.get(key)!r}")
        self.expect(isinstance(meta.get("markerSchema"), list), "meta.markerSchema is missing")
        for key in STRINGS:
            value = meta.get(key)
            self.expect(isinstance(value, str) and not has_surrogates(value), f"meta.{key} is {value!r}")
        start, end = meta.get("profilingStartTime"), meta.get("profilingEndTime")
        self.expect(0 <= start < end, f"the profile is from {start!r} to {end!r}")
        threads = len(self.profile.get("threads", []))
        for key in ("initialVisibleThreads", "initialSelectedThreads"):
            places = meta.get(key)
            good = isinstance(places, list) and places and all(is_integer(p) and 0 <= p < threads for p in places)
            self.expect(good and len(set(places)) == len(places), f"meta.{key} is {places!r} of {threads} threads")
        for entry in meta["extra"][0]["entries"]:
            kinds = {"string": str, "integer": int, "duration": int}
            good = isinstance(entry["label"], str) and isinstance(entry["value"], kinds.get(entry["format"], ()))
            self.expect(good, f"extra row {entry!r}")

    def check_schemas(self):
        for schema in self.meta.get("markerSchema") or []:
            name, fields = schema["name"], {field["key"] for field in schema["fields"]}
            self.expect(name not in self.schemas, f"marker schema {name} comes twice")
            self.schemas[name] = schema
            self.expect(set(schema["display"]) <= DISPLAYS, f"marker schema {name} is for {schema['display']}")
            named = set(re.findall(r"{marker\.data\.(\w+)}", " ".join(schema[label] for label in LABELS)))
            self.expect(named | {schema["colorField"]} <= fields, f"marker schema {name} names a field it does not have")

    def check_categories(self):
        categories = self.meta.get("categories", [])
        colors = [category.get("color") for category in categories]
        self.expect("grey" in colors, "no category is grey")
        self.expect(set(colors) <= FRAME_COLORS, f"colours are {colors}")
        self.expect(len(categories) <= 256, "more than 256 categories")
        for category in categories:
            names = [category.get("name"), *category.get("subcategories", [])]
            self.expect(all(isinstance(name, str) for name in names), f"category {category!r}")
            self.expect(names[1:2] == ["Other"], f"category {category!r} has no subcategory Other")

    def check_strings(self):
        strings = self.shared.get("stringArray")
        if not self.expect(isinstance(strings, list), "shared.stringArray is missing"):
            return
        for i, string in enumerate(strings):
            if self.expect(isinstance(string, str), f"string {i} is {string!r}"):
                self.expect(not has_surrogates(string) and "\0" not in string, f"string {i} is {string!r}")

    def size_of(self, kind):
        if kind == "stringArray":
            return len(self.shared["stringArray"])
        if kind == "category":
            return len(self.meta.get("categories", []))
        return self.shared.get(kind, {}).get("length", 0)

    def cell_is_good(self, kind, cell):
        if cell is None:
            return kind.endswith("?")
        kind = kind.rstrip("?")
        if kind == "boolean":
            return isinstance(cell, bool)
        if kind == "string":
            return isinstance(cell, str)
        if kind == "integer":
            return is_integer(cell)
        if kind == "positive":
            return is_integer(cell) and cell > 0
        if kind == "resource":
            return is_integer(cell) and -1 <= cell < self.size_of("resourceTable")
        return is_integer(cell) and 0 <= cell < self.size_of(kind)

    def check_table(self, name):
        table = self.shared.get(name)
        if not self.expect(isinstance(table, dict), f"shared.{name} is missing"):
            return
        self.expect(set(table) == {*TABLES[name], "length"}, f"shared.{name} has columns {sorted(table)}")
        length = table.get("length")
        for column, kind in TABLES[name].items():
            cells = table.get(column, [])
            self.expect(len(cells) == length, f"{name}.{column} has {len(cells)} entries, length is {length}")
            bad = next((i for i, cell in enumerate(cells) if not self.cell_is_good(kind, cell)), None)
            self.expect(bad is None, f"{name}.{column}[{bad}] is {cells[bad] if bad is not None else ''!r}")

    def check_order(self):
        for i, prefix in enumerate(self.shared["stackTable"]["prefix"]):
            self.expect(prefix is None or prefix < i, f"stack {i} comes before its prefix {prefix}")

    def check_subcategories(self):
        """In range. A function has the same category wherever it occurs: the viewer greys a node that has several."""
        frames = self.shared["frameTable"]
        categories = self.meta["categories"]
        seen = {}
        for i, (category, subcategory) in enumerate(zip(frames["category"], frames["subcategory"])):
            count = len(categories[category]["subcategories"])
            self.expect(0 <= subcategory < count, f"frame {i} has subcategory {subcategory} of {count}")
            before = seen.setdefault(frames["func"][i], category)
            self.expect(before == category, f"function {frames['func'][i]} has two categories")

    def check_threads(self):
        threads = self.profile["threads"]
        self.expect(len(threads) > 0, "there are no threads")
        mains = collections.Counter(thread.get("pid") for thread in threads if thread.get("isMainThread"))
        for pid, count in mains.items():
            self.expect(count == 1, f"process {pid} has {count} main threads")
        ids = collections.Counter((thread.get("pid"), str(thread.get("tid"))) for thread in threads)
        for (pid, tid), count in ids.items():
            self.expect(count == 1, f"process {pid} has {count} threads {tid}")
        for i, thread in enumerate(threads):
            where = f"thread {i}"
            self.check_identity(where, thread)
            self.check_samples(where, thread.get("samples", {}))
            self.check_cpu(where, thread.get("samples", {}))
            self.check_markers(where, thread)
        units = self.meta.get("sampleUnits")
        known = any("threadCPUDelta" in thread["samples"] for thread in threads)
        self.expect(units == (SAMPLE_UNITS if known else None), f"meta.sampleUnits is {units!r}")

    def check_identity(self, where, thread):
        for key in ("name", "pid", "processName", "processType"):
            value = thread.get(key)
            self.expect(isinstance(value, str) and value and not has_surrogates(value), f"{where}: {key} is {value!r}")
        tid = thread.get("tid")
        self.expect(is_integer(tid) or isinstance(tid, str), f"{where}: tid is {tid!r}")
        self.expect(isinstance(thread.get("isMainThread"), bool), f"{where}: isMainThread is missing")
        self.expect(thread.get("pausedRanges") == [], f"{where}: pausedRanges is {thread.get('pausedRanges')!r}")
        for start, end in (("registerTime", "unregisterTime"), ("processStartupTime", "processShutdownTime")):
            since, until = thread.get(start), thread.get(end, "missing")
            self.expect(is_number(since), f"{where}: {start} is {since!r}")
            good = until is None or (is_number(until) and until >= since)
            self.expect(good, f"{where}: {end} is {until!r}, {start} is {since!r}")

    def check_samples(self, where, samples):
        length = samples.get("length")
        for column in ("stack", "time"):
            cells = samples.get(column, [])
            if not self.expect(len(cells) == length, f"{where}: {column} has {len(cells)} entries, length is {length}"):
                return
        weight = samples.get("weight", "missing")
        self.expect(weight is None or len(weight) == length, f"{where}: weight is {weight!r}")
        kind = "samples" if weight is None else "tracing-ms"  # those of several recordings with different intervals
        self.expect(samples.get("weightType") == kind, f"{where}: weightType is {samples.get('weightType')!r}")
        self.expect(all(is_number(cell) and cell > 0 for cell in weight or []), f"{where}: weight is {weight!r}")
        stacks = self.shared["stackTable"]["length"]
        bad = next((s for s in samples["stack"] if not is_integer(s) or not 0 <= s < stacks), None)
        self.expect(bad is None, f"{where}: a sample has stack {bad!r} of {stacks}")
        times = samples["time"]
        if self.expect(all(map(is_number, times)), f"{where}: a time is not a number"):
            back = next((i for i in range(1, len(times)) if times[i] < times[i - 1]), None)
            self.expect(back is None, f"{where}: time goes back at sample {back}")
            end = self.meta["profilingEndTime"]
            self.expect(not times or 0 <= times[0] <= times[-1] <= end, f"{where}: times are outside of 0 to {end}")

    def check_cpu(self, where, samples):
        column = samples.get("threadCPUDelta")
        if column is None:
            return
        length = samples["length"]
        self.expect(len(column) == length, f"{where}: threadCPUDelta has {len(column)} entries, length is {length}")
        bad = next((cell for cell in column if cell is not None and (not is_integer(cell) or cell < 0)), None)
        self.expect(bad is None, f"{where}: threadCPUDelta has {bad!r} in it")

    def check_markers(self, where, thread):
        markers = thread.get("markers", {})
        length = markers.get("length")
        for column in MARKER_COLUMNS:
            cells = markers.get(column)
            if not self.expect(cells is not None and len(cells) == length, f"{where}: markers.{column}"):
                return
        last = {}
        for i in range(length):
            data, name, start, end, phase, category = (markers[column][i] for column in MARKER_COLUMNS)
            which = f"{where}: marker {i}"
            self.check_payload(which, data)
            self.expect(is_integer(name) and 0 <= name < self.size_of("stringArray"), f"{which} has name {name!r}")
            self.expect(is_integer(category) and 0 <= category < self.size_of("category"), f"{which} has category {category!r}")
            self.expect(phase == INTERVAL, f"{which} has phase {phase!r}")
            if self.expect(is_number(start) and is_number(end), f"{which} is from {start!r} to {end!r}"):
                until = self.meta["profilingEndTime"]
                self.expect(0 <= start <= end <= until, f"{which} is from {start} to {end}, the profile to {until}")
                self.expect(start >= last.get(name, 0), f"{which} begins at {start}, in another of its name")
                last[name] = end
        overview = any("timeline-overview" in self.schemas.get(data["type"], {}).get("display", ()) for data in markers["data"])
        shown = thread.get("showMarkersInTimeline")
        self.expect(shown is overview, f"{where}: showMarkersInTimeline is {shown!r}")

    def check_payload(self, which, data):
        schema = self.schemas.get(data["type"])
        if not self.expect(schema, f"{which} has no schema {data['type']!r}"):
            return
        self.expect(data[schema["colorField"]] in GRAPH_COLORS, f"{which} has colour {data[schema['colorField']]!r}")
        stack = data["cause"]["stack"]
        self.expect(self.cell_is_good("stackTable", stack), f"{which} has stack {stack!r}")
        for field in schema["fields"]:
            value = data[field["key"]]
            kind = {"unique-string": "stringArray", "integer": "integer"}.get(field["format"], "string")
            self.expect(self.cell_is_good(kind, value), f"{which}: {field['key']} is {value!r}")


def problems(profile):
    """What is wrong with a profile, in sentences. A profile of quite another shape is one problem."""
    checker = Checker(profile)
    try:
        return checker.check()
    except (AttributeError, IndexError, KeyError, TypeError) as error:
        return checker.problems + [f"the profile's shape is not what it should be: {error!r}"]


def weights(thread):
    samples = thread["samples"]
    return samples["weight"] or [1] * samples["length"]


def stack_weights(thread):
    counts = collections.Counter()
    for stack, weight in zip(thread["samples"]["stack"], weights(thread)):
        counts[stack] += weight
    return counts


def frame_labels(profile, label):
    """Each frame's label; `label` gets name, file, line."""
    shared = profile["shared"]
    strings, functions, sources = shared["stringArray"], shared["funcTable"], shared["sources"]
    labels = []
    for function, line in zip(shared["frameTable"]["func"], shared["frameTable"]["line"]):
        source = functions["source"][function]
        file = None if source is None else strings[sources["filename"][source]]
        labels.append(label(strings[functions["name"][function]], file, line))
    return labels


def stacks(profile, thread, label=lambda name, file, line: name, leaves=False):
    """The samples of a thread per stack, {(root, ..., leaf): samples}. `label` makes a frame of name, file and line."""
    labels = frame_labels(profile, label)
    waits = [name in LEAVES and file is None for name, file in frame_labels(profile, lambda name, file, line: (name, file))]
    table = profile["shared"]["stackTable"]
    folded = collections.Counter()
    for stack, weight in stack_weights(thread).items():
        frames = []
        if stack is not None and not leaves and waits[table["frame"][stack]]:
            stack = table["prefix"][stack]
        while stack is not None:
            frames.append(labels[table["frame"][stack]])
            stack = table["prefix"][stack]
        folded[tuple(reversed(frames))] += weight
    return folded


def function_times(profile, thread, leaves=False):
    """{function: [self, total]} in samples; a function counts once for a sample however often it is in its stack."""
    times = collections.defaultdict(lambda: [0, 0])
    for stack, weight in stacks(profile, thread, leaves=leaves).items():
        times[stack[-1]][0] += weight
        for name in set(stack):
            times[name][1] += weight
    return dict(times)


def cpu_ms(thread):
    """CPU time of a thread as the viewer adds it up; None when it is not known."""
    column = thread["samples"].get("threadCPUDelta")
    return None if column is None else sum(cell or 0 for cell in column[1:]) / 1e6


def marker_times(profile, thread):
    """{name: [markers, milliseconds]}"""
    times = collections.defaultdict(lambda: [0, 0])
    markers = thread["markers"]
    for name, start, end in zip(markers["name"], markers["startTime"], markers["endTime"]):
        row = times[profile["shared"]["stringArray"][name]]
        row[0] += 1
        row[1] += end - start
    return dict(times)


def thread_summary(profile, thread):
    return {
        "name": thread["name"],
        "pid": thread["pid"],
        "tid": thread["tid"],
        "main": thread["isMainThread"],
        "process": thread["processName"],
        "start_ms": thread["registerTime"],
        "end_ms": thread["unregisterTime"],
        "samples": sum(weights(thread)),
        "cpu_ms": cpu_ms(thread),
        "markers": marker_times(profile, thread),
        "functions": {
            name: {"self": own, "total": total} for name, (own, total) in function_times(profile, thread).items()
        },
    }


def summary(profile):
    """What is in a profile that has no problems."""
    meta = profile["meta"]
    threads = [thread_summary(profile, thread) for thread in profile["threads"]]
    return {
        "product": meta["product"],
        "misc": meta["misc"],
        "interval_ms": meta["interval"],
        "duration_ms": meta["profilingEndTime"] - meta["profilingStartTime"],
        "samples": sum(thread["samples"] for thread in threads),
        "extra": {row["label"]: row["value"] for group in meta["extra"] for row in group["entries"]},
        "threads": threads,
    }


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: gecko_check.py FILE")
    try:
        profile = load(sys.argv[1])
    except (OSError, EOFError, ValueError) as error:
        sys.exit(f"{sys.argv[1]}: {error}")
    found = problems(profile)
    if found:
        sys.exit("\n".join(f"{sys.argv[1]}: {problem}" for problem in found[:100]))
    json.dump(summary(profile), sys.stdout, indent=2)
    print()


if __name__ == "__main__":
    main()
