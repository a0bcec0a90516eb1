# SPDX-License-Identifier: MIT
"""The rules that a Firefox Profiler file obeys. The viewers take many broken files without a word: they draw a wrong tree,
leave a track out, or stop when a person opens a certain tab. gecko_check.py says how to ask.

Columns are looked at as a whole (the set of their types, their least and their greatest cell), so that a profile with
millions of samples takes seconds.
"""

import collections
import itertools
import json
import math
import operator
import re

VERSION = 64
FRAME_COLORS = {
    "transparent", "purple", "green", "orange", "yellow", "lightblue", "blue", "brown", "magenta", "red", "lightred",
    "darkgrey", "grey",
}
GRAPH_COLORS = {"blue", "green", "grey", "ink", "magenta", "orange", "purple", "red", "teal", "yellow"}
KEYS_IN_ORDER = ["libs", "threads", "shared", "counters", "meta"]
KEYS = {*KEYS_IN_ORDER, "pages", "profilerOverhead"}
TRUE_SWITCHES = ["symbolicated", "symbolicationNotSupported", "sourceCodeIsNotOnSearchfox", "usesOnlyOneStackType",
                 "keepProfileThreadOrder"]
NUMBERS = ["interval", "startTime", "startTimeAsClockMonotonicNanosecondsSinceBoot", "profilingStartTime",
           "profilingEndTime", "version", "processType", "stackwalk"]
STRINGS = ["product", "misc", "oscpu", "platform", "abi", "toolkit", "importedFrom", "arguments"]
MACHINE = {"physicalCPUs": int, "logicalCPUs": int, "mainMemory": int, "CPUName": str}  # said where it is known
EXTRA_VALUES = {"string": str, "integer": int, "duration": (int, float), "percentage": (int, float), "bytes": int,
                "decimal": (int, float), "milliseconds": (int, float), "microseconds": (int, float)}
SAMPLE_UNITS = {"time": "ms", "eventDelay": "ms", "threadCPUDelta": "ns"}

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
        "id": "string?", "filename": "stringArray", "startLine": "positive", "startColumn": "positive",
        "sourceMapURL": "stringArray?", "content": "string?",
    },
    "sourceLocationTable": {"source": "sources", "line": "positive", "column": "positive"},
}
LIBRARY = 1  # the resource type that the command line tool prints as "package!function"
TYPES = {"boolean": bool, "string": str}  # of kinds; of all others: int

MARKER_COLUMNS = ["data", "name", "startTime", "endTime", "phase", "category"]
INSTANT, INTERVAL = 0, 1  # phases
DISPLAYS = {"marker-chart", "marker-table", "timeline-overview", "timeline-memory"}
LABELS = ["tooltipLabel", "tableLabel", "chartLabel"]
FIELD_KINDS = {
    "unique-string": "stringArray", "flow-id": "stringArray", "terminating-flow-id": "stringArray",
    **dict.fromkeys(["string", "sanitized-string", "url", "file-path"], "string"),
    **dict.fromkeys(["duration", "time", "seconds", "milliseconds", "microseconds", "nanoseconds", "bytes", "percentage",
                     "integer", "decimal", "pid", "tid"], "number"),
}
MOST_MARKERS, MARKERS_SHARE = 20_000, 0.05
LIVES = {"Task", "Runs task", "Thread", "Process ends", "Title", "Span"}  # types of markers
FEW_BYTES = {False: 16 * 1024, True: 512 * 1024}  # in any file, of states and of lives: lives stand for tracks
COUNTER_POINTS = 4000
COUNTER_DISPLAY = {"graphType", "unit", "color", "markerSchemaLocation", "sortWeight", "label", "tooltipRows"}

OVERHEADS = ["counters", "expiredMarkerCleaning", "locking", "threads"]
STATISTICS = {f"{which}{what}" for which in ("max", "min", "mean")
              for what in ("Cleaning", "Counter", "Interval", "Lockings", "Overhead", "Thread")}
STATISTICS |= {"overheadDurations", "overheadPercentage", "profiledDuration", "samplingCount"}


LIB_KEYS = ["arch", "name", "path", "debugName", "debugPath", "breakpadId", "codeId"]


def breakpad_id(build_id):
    """A build id as Mozilla's symbol servers have it: a GUID, whose first three numbers are little-endian in the file."""
    raw = bytes.fromhex(build_id or "")[:16].ljust(16, b"\0")
    return (raw[3::-1] + raw[5:3:-1] + raw[7:5:-1] + raw[8:]).hex().upper() + "0"


def is_integer(value):
    return isinstance(value, int) and not isinstance(value, bool)


def is_number(value):
    return (is_integer(value) or isinstance(value, float)) and math.isfinite(value)


def is_text(value):
    return isinstance(value, str) and not has_surrogates(value)


def has_surrogates(text):
    return any("\ud800" <= char <= "\udfff" for char in text)


def are_numbers(cells):
    return set(map(type, cells)) <= {int, float} and all(map(math.isfinite, cells))


def first_back(cells, rises=operator.lt):
    """The index of the first cell that is not above the one before; None when they rise all the way."""
    rises = map(rises, cells, itertools.islice(cells, 1, None))
    return next((i for i, rise in enumerate(rises, 1) if not rise), None)


def bytes_of(value):
    return len(json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass"))


class Rules:
    """`size` is that of the file in bytes, without compression. `all_markers`: made with --markers=all."""

    def __init__(self, profile, size=None, all_markers=False):
        self.profile = profile
        self.shared = profile.get("shared", {})
        self.meta = profile.get("meta", {})
        self.size = size
        self.all_markers = all_markers
        self.schemas = {}
        self.problems = []

    def expect(self, good, problem):
        if not good:
            self.problems.append(problem)
        return good

    def check(self):
        self.check_top()
        self.check_meta()
        self.check_selection()
        self.check_extra()
        self.check_configuration()
        self.check_schemas()
        self.check_categories()
        self.check_strings()
        for name in TABLES:
            self.check_table(name)
        if not self.problems:  # the rest looks into other tables
            self.check_order()
            self.check_frames()
            self.check_functions()
            self.check_symbols()
            self.check_threads()
            self.check_used()
            self.check_counters()
            self.check_overhead()
            self.check_budget()
        return self.problems

    # ---- the whole, and what is said of it ----

    def check_top(self):
        keys = [key for key in self.profile if key in KEYS_IN_ORDER]
        self.expect(keys == KEYS_IN_ORDER, f"keys are {keys}")
        self.expect(set(self.profile) <= KEYS, f"keys are {sorted(self.profile)}")
        self.expect(list(self.profile)[-1:] == ["meta"], "meta is not last")
        self.expect(self.profile.get("pages") == [], f"pages is {self.profile.get('pages')!r}")
        for i, lib in enumerate(self.profile.get("libs", [])):
            self.expect(list(lib) == LIB_KEYS, f"lib {i} has {list(lib)}")
            self.expect(lib["path"].endswith(lib["name"]) and lib["name"], f"lib {i} is called {lib['name']!r}")
            self.expect(lib["breakpadId"] == breakpad_id(lib["codeId"]), f"lib {i} has the ids {lib['codeId']} and {lib['breakpadId']}")

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
            self.expect(is_text(meta.get(key)), f"meta.{key} is {meta.get(key)!r}")
        for key, kind in MACHINE.items():
            value = meta.get(key)
            self.expect(value is None or isinstance(value, kind) and value, f"meta.{key} is {value!r}")
        if self.expect(meta.get("product"), "meta.product is empty"):
            self.expect(re.fullmatch(r"|rv:[\d.]+", meta.get("misc") or ""), f"meta.misc is {meta.get('misc')!r}")
        start, end = meta.get("profilingStartTime"), meta.get("profilingEndTime")
        self.expect(0 <= start < end, f"the profile is from {start!r} to {end!r}")

    def check_selection(self):
        threads = len(self.profile.get("threads", []))
        for key in ("initialVisibleThreads", "initialSelectedThreads"):
            places = self.meta.get(key)
            good = isinstance(places, list) and places and all(is_integer(p) and 0 <= p < threads for p in places)
            self.expect(good and len(set(places)) == len(places), f"meta.{key} is {places!r} of {threads} threads")
        visible, selected = self.meta.get("initialVisibleThreads"), self.meta.get("initialSelectedThreads")
        self.expect(set(selected) <= set(visible), f"threads {selected} are selected, threads {visible} are visible")
        self.expect(len(selected) == 1, f"threads {selected} are selected, and the viewer would merge them")

    def check_extra(self):
        sections = self.meta.get("extra")
        if not self.expect(isinstance(sections, list) and sections, f"meta.extra is {sections!r}"):
            return
        labels = collections.Counter(section["label"] for section in sections)
        self.expect(max(labels.values()) == 1, f"meta.extra has the sections {sorted(labels.elements())}")
        for entry in itertools.chain.from_iterable(section["entries"] for section in sections):
            value = entry["value"]
            good = is_text(entry["label"]) and entry["label"] and isinstance(value, EXTRA_VALUES.get(entry["format"], ()))
            good = good and not isinstance(value, bool) and (is_text(value) if isinstance(value, str) else is_number(value))
            self.expect(good, f"extra row {entry!r}")

    def check_configuration(self):
        configuration = self.meta.get("configuration")
        if configuration is None:
            return
        good = {"threads", "features", "capacity"} <= set(configuration) <= {"threads", "features", "capacity", "duration"}
        self.expect(good, f"meta.configuration is {configuration!r}")
        for key in ("threads", "features"):
            texts = configuration.get(key)
            self.expect(isinstance(texts, list) and all(map(is_text, texts)), f"meta.configuration.{key} is {texts!r}")
        for key in ("capacity", "duration"):
            value = configuration.get(key, 0)
            self.expect(is_number(value) and value >= 0, f"meta.configuration.{key} is {value!r}")

    def check_schemas(self):
        for schema in self.meta.get("markerSchema") or []:
            name, keys = schema["name"], [field["key"] for field in schema["fields"]]
            self.expect(is_text(name) and name not in self.schemas, f"marker schema {name} comes twice")
            self.schemas[name] = schema
            self.expect(len(set(keys)) == len(keys), f"marker schema {name} has the fields {keys}")
            display = schema["display"]
            self.expect(display and set(display) <= DISPLAYS, f"marker schema {name} is for {display}")
            for field in schema["fields"]:
                good = field["format"] in FIELD_KINDS and (field.get("hidden") or field.get("label"))
                self.expect(good, f"marker schema {name} has the field {field!r}")
            named = set(re.findall(r"{marker\.data\.(\w+)}", " ".join(schema.get(label) or "" for label in LABELS)))
            named |= {schema["colorField"]} if "colorField" in schema else set()
            self.expect(named <= set(keys), f"marker schema {name} names a field it does not have")
            self.expect("graphs" not in schema, f"marker schema {name} makes a track of its own for each thread")

    def check_categories(self):
        categories = self.meta.get("categories", [])
        colors = [category.get("color") for category in categories]
        self.expect("grey" in colors, "no category is grey")
        self.expect(set(colors) <= FRAME_COLORS, f"colours are {colors}")
        self.expect(len(categories) <= 256, "more than 256 categories")
        names = [category.get("name") for category in categories]
        self.expect(len(set(names)) == len(names), f"categories are {names}")
        for category in categories:
            texts = [category.get("name"), *category.get("subcategories", [])]
            self.expect(all(map(is_text, texts)) and all(texts), f"category {category!r}")
            self.expect(texts[1:2] == ["Other"], f"category {category!r} has no subcategory Other")
            self.expect(len(texts) <= 257, f"category {category.get('name')!r} has more than 256 subcategories")
            idle = category.get("name") == "Idle"
            self.expect(idle == (category.get("color") == "transparent"), f"category {category!r}: only Idle is transparent")

    # ---- the tables that threads share ----

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

    def first_bad(self, kind, cells):
        """The index of the first cell that is not of the kind; None when all are."""
        typed = TYPES.get(kind.rstrip("?"), int)
        allowed = {typed, type(None)} if kind.endswith("?") else {typed}
        if not set(map(type, cells)) <= allowed:
            return next(i for i, cell in enumerate(cells) if type(cell) not in allowed)
        kind = kind.rstrip("?")
        if kind in ("integer", "boolean", "string"):
            return None
        lowest = {"positive": 1, "resource": -1}.get(kind, 0)
        highest = {"positive": 1 << 53, "resource": self.size_of("resourceTable") - 1}.get(kind, self.size_of(kind) - 1)
        numbers = cells if type(None) not in allowed else [cell for cell in cells if cell is not None]
        if not numbers or lowest <= min(numbers) and max(numbers) <= highest:
            return None
        return next(i for i, cell in enumerate(cells) if cell is not None and not lowest <= cell <= highest)

    def check_table(self, name):
        table = self.shared.get(name)
        if not self.expect(isinstance(table, dict), f"shared.{name} is missing"):
            return
        self.expect(set(table) == {*TABLES[name], "length"}, f"shared.{name} has columns {sorted(table)}")
        length = table.get("length")
        for column, kind in TABLES[name].items():
            cells = table.get(column, [])
            self.expect(len(cells) == length, f"{name}.{column} has {len(cells)} entries, length is {length}")
            bad = self.first_bad(kind, cells)
            self.expect(bad is None, f"{name}.{column}[{bad}] is {cells[bad] if bad is not None else ''!r}")

    def check_order(self):
        for i, prefix in enumerate(self.shared["stackTable"]["prefix"]):
            self.expect(prefix is None or prefix < i, f"stack {i} comes before its prefix {prefix}")

    def check_frames(self):
        """The viewer greys a node that has more than one category. A state such as [idle] is the end of its stacks."""
        frames, stacks = self.shared["frameTable"], self.shared["stackTable"]
        categories = self.meta["categories"]
        seen = {}
        for i, (category, subcategory) in enumerate(zip(frames["category"], frames["subcategory"])):
            count = len(categories[category]["subcategories"])
            self.expect(0 <= subcategory < count, f"frame {i} has subcategory {subcategory} of {count}")
            before = seen.setdefault(frames["func"][i], category)
            self.expect(before == category, f"function {frames['func'][i]} has two categories")
        idle = {i for i, category in enumerate(categories) if category["name"] == "Idle"}
        for i, prefix in enumerate(stacks["prefix"]):
            above = None if prefix is None else frames["category"][stacks["frame"][prefix]]
            self.expect(above not in idle, f"stack {i} goes on below a frame that is idle")

    def check_functions(self):
        """The viewer dims a function without a resource, as a label. Only labels and native code have no file; native code
        has a library of its own."""
        functions, resources, strings = self.shared["funcTable"], self.shared["resourceTable"], self.shared["stringArray"]
        frames, categories = self.shared["frameTable"], self.profile["meta"]["categories"]
        code = {function for function, category in zip(frames["func"], frames["category"]) if categories[category]["name"] == "C code"}
        of_files = {resource for source, resource in zip(functions["source"], functions["resource"]) if source is not None}
        for i, (source, resource) in enumerate(zip(functions["source"], functions["resource"])):
            if source is None:
                native = i in code and resource >= 0 and resource not in of_files
                self.expect(resource == -1 or native, f"function {i} has no file, and the resource {resource}")
            else:
                self.expect(resource >= 0, f"function {i} has a file and no resource")
        self.expect(all(strings[name] for name in resources["name"]), "a resource has no name")
        self.expect(all(kind == LIBRARY for kind in resources["type"]), f"resources have the types {set(resources['type'])}")
        named = [lib for lib in resources["lib"] if lib is not None]
        self.expect(sorted(named) == list(range(len(self.profile["libs"]))), f"resources have the libraries {named}")
        files = collections.Counter(self.shared["sources"]["filename"])
        twice = [strings[file] for file, count in files.items() if count > 1]
        self.expect(not twice, f"sources have {twice[:3]} more than once")
        self.expect(all(strings[file] for file in files), "a source has no file name")

    def check_symbols(self):
        """A native symbol is a function of native code: each of its frames lies in its library, behind its first byte."""
        frames, functions, symbols = (self.shared[name] for name in ("frameTable", "funcTable", "nativeSymbols"))
        libs = self.shared["resourceTable"]["lib"]
        for i, lib in enumerate(symbols["libIndex"]):
            self.expect(0 <= lib < len(self.profile["libs"]), f"native symbol {i} has library {lib}")
        for i, (symbol, address, function) in enumerate(zip(frames["nativeSymbol"], frames["address"], frames["func"])):
            if symbol is None:
                continue
            resource = functions["resource"][function]
            self.expect(resource >= 0 and libs[resource] == symbols["libIndex"][symbol], f"frame {i} has a symbol of another library")
            inlined = frames["inlineDepth"][i] > 0  # into the symbol's function
            category = self.profile["meta"]["categories"][frames["category"][i]]["name"]
            self.expect(category == "C code", f"frame {i} of native code is {category}")
            self.expect(inlined or functions["name"][function] == symbols["name"][symbol], f"frame {i} has a symbol of another name")
            self.expect(address >= symbols["address"][symbol], f"frame {i} at {address} is in front of its symbol")

    def has_origins(self):
        """Whether origin is the category of a function."""
        return any(category["name"] == "Idle" for category in self.meta["categories"])

    def is_thinned(self):
        return any(row["label"] == "Left out by --max-samples" for group in self.meta["extra"] for row in group["entries"])

    def check_used(self):
        """Each row of stacks and of frames is there for a sample or a marker, or for a sample that --max-samples left
        out."""
        if not self.has_origins() or self.is_thinned():
            return
        stacks = self.shared["stackTable"]
        used = set()
        for thread in self.profile["threads"]:
            used.update(thread["samples"]["stack"])
            used.update(data["cause"]["stack"] for data in thread["markers"]["data"] if data and data.get("cause"))
        used.update(stacks["prefix"])
        for name, seen in (("stack", used), ("frame", set(stacks["frame"]))):
            unused = next((i for i in range(self.shared[f"{name}Table"]["length"]) if i not in seen), None)
            self.expect(unused is None, f"{name} {unused} is not used")

    # ---- threads ----

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
            self.check_samples(where, thread.get("samples", {}), shared=thread.get("name") == "other tasks")
            self.check_life(where, thread)
            self.check_cpu(where, thread.get("samples", {}))
            self.check_delays(where, thread.get("samples", {}))
            self.check_markers(where, thread)
        units = self.meta.get("sampleUnits")
        known = any({"threadCPUDelta", "eventDelay"} & set(thread["samples"]) for thread in threads)
        self.expect(units == (SAMPLE_UNITS if known else None), f"meta.sampleUnits is {units!r}")

    def check_identity(self, where, thread):
        for key in ("name", "pid", "processName", "processType"):
            self.expect(is_text(thread.get(key)) and thread[key], f"{where}: {key} is {thread.get(key)!r}")
        self.expect(re.fullmatch(r"\d+(\.\d+)?", thread.get("pid") or ""), f"{where}: pid is {thread.get('pid')!r}")
        self.expect(thread.get("processType") == "default", f"{where}: processType is {thread.get('processType')!r}")
        tid = thread.get("tid")
        self.expect(is_integer(tid) or is_text(tid) and tid, f"{where}: tid is {tid!r}")
        self.expect(isinstance(thread.get("isMainThread"), bool), f"{where}: isMainThread is missing")
        self.expect(thread.get("pausedRanges") == [], f"{where}: pausedRanges is {thread.get('pausedRanges')!r}")
        for start, end in (("registerTime", "unregisterTime"), ("processStartupTime", "processShutdownTime")):
            since, until = thread.get(start), thread.get(end, "missing")
            self.expect(is_number(since), f"{where}: {start} is {since!r}")
            good = until is None or (is_number(until) and until >= since)
            self.expect(good, f"{where}: {end} is {until!r}, {start} is {since!r}")

    def check_samples(self, where, samples, shared):
        """`shared`: samples of many tasks, which may have been at one time."""
        length = samples.get("length")
        for column in ("stack", "time"):
            cells = samples.get(column, [])
            if not self.expect(len(cells) == length, f"{where}: {column} has {len(cells)} entries, length is {length}"):
                return
        self.check_weights(where, samples)
        bad = self.first_bad("stackTable", samples["stack"])
        if bad is not None:
            self.expect(False, f"{where}: a sample has stack {samples['stack'][bad]!r} of {self.size_of('stackTable')}")
        times = samples["time"]
        if self.expect(are_numbers(times), f"{where}: a time is not a number"):
            back = first_back(times, operator.le if shared else operator.lt)
            what = "" if back is None else f"the time {times[back]} after {times[back - 1]}"
            self.expect(back is None, f"{where}: sample {back} has {what}")
            end = self.meta["profilingEndTime"]
            self.expect(not times or 0 <= times[0] <= times[-1] <= end, f"{where}: times are outside of 0 to {end}")

    def check_weights(self, where, samples):
        """Milliseconds where samples stand for different times; the samples for which one stands in a thinned profile; else
        none."""
        weight, length = samples.get("weight", "missing"), samples["length"]
        if not self.expect(weight is None or len(weight) == length, f"{where}: weight is {weight!r}"):
            return
        counts = weight is not None and self.is_thinned() and samples.get("weightType") == "samples"
        kind = "samples" if weight is None or counts else "tracing-ms"
        self.expect(samples.get("weightType") == kind, f"{where}: weightType is {samples.get('weightType')!r}")
        self.expect(not counts or all(is_integer(cell) and cell > 0 for cell in weight), f"{where}: a count is not above 0")
        self.expect(are_numbers(weight or []) and min(weight or [0]) >= 0, f"{where}: a weight is below 0")

    def check_life(self, where, thread):
        """A thread has samples only while it lives: the viewer shades the rest of its track."""
        times = thread["samples"].get("time")
        since, until = thread.get("registerTime"), thread.get("unregisterTime")
        if not times or not are_numbers(times):
            return
        self.expect(since <= times[0], f"{where}: a sample at {times[0]}, the thread begins at {since}")
        self.expect(until is None or times[-1] <= until, f"{where}: a sample at {times[-1]}, the thread ends at {until}")

    def check_cpu(self, where, samples):
        column = samples.get("threadCPUDelta")
        if column is None:
            return
        length = samples["length"]
        self.expect(len(column) == length, f"{where}: threadCPUDelta has {len(column)} entries, length is {length}")
        cells = [cell for cell in column if cell is not None]
        self.expect(are_numbers(cells) and min(cells, default=0) >= 0, f"{where}: threadCPUDelta is not a time")

    def check_delays(self, where, samples):
        column = samples.get("eventDelay")
        if column is None:
            return
        length = samples["length"]
        self.expect(len(column) == length, f"{where}: eventDelay has {len(column)} entries, length is {length}")
        cells = [cell for cell in column if cell is not None]
        self.expect(are_numbers(cells) and min(cells, default=0) >= 0, f"{where}: eventDelay is not a time")

    # ---- markers ----

    def check_markers(self, where, thread):
        markers = thread.get("markers", {})
        length = markers.get("length")
        for column in MARKER_COLUMNS:
            cells = markers.get(column)
            if not self.expect(cells is not None and len(cells) == length, f"{where}: markers.{column}"):
                return
        for column, kind in (("name", "stringArray"), ("category", "category")):
            bad = self.first_bad(kind, markers[column])
            if bad is not None:
                self.expect(False, f"{where}: marker {bad} has the {column} {markers[column][bad]!r}")
        if not all(self.expect(are_numbers(markers[column]), f"{where}: markers.{column} has other than numbers")
                   for column in ("startTime", "endTime")):
            return
        until = self.meta["profilingEndTime"]
        last = {}
        for i, (data, name, start, end, phase) in enumerate(zip(*(markers[column] for column in MARKER_COLUMNS[:5]))):
            which = f"{where}: marker {i}"
            self.check_payload(which, data)
            self.expect(phase in (INSTANT, INTERVAL), f"{which} has phase {phase!r}")
            self.expect(phase != INSTANT or start == end, f"{which} is an instant from {start} to {end}")
            self.expect(0 <= start <= end <= until, f"{which} is from {start} to {end}, the profile to {until}")
            if not self.may_overlap(data):
                self.expect(start >= last.get(name, 0), f"{which} begins at {start}, in another of its name")
                last[name] = end
        overview = any("timeline-overview" in self.schemas.get(data["type"], {}).get("display", ()) for data in markers["data"])
        shown = thread.get("showMarkersInTimeline")
        self.expect(shown is overview, f"{where}: showMarkersInTimeline is {shown!r}")

    @staticmethod
    def may_overlap(data):
        """A state of a thread is over when it begins again. Lives of tasks and of threads are not states."""
        return data["type"] in LIVES

    def check_payload(self, which, data):
        schema = self.schemas.get(data["type"])
        if not self.expect(schema, f"{which} has no schema {data['type']!r}"):
            return
        fields = {field["key"]: field for field in schema["fields"]}
        more = set(data) - set(fields) - {"type", "cause"}
        self.expect(not more, f"{which} has {sorted(more)}, which its schema has not")
        if "colorField" in schema:
            color = data.get(schema["colorField"])
            self.expect(color in GRAPH_COLORS, f"{which} has colour {color!r}")
        if "cause" in data:
            cause = data["cause"]
            good = self.first_bad("stackTable", [cause["stack"]]) is None
            self.expect(good, f"{which} has stack {cause['stack']!r}")
            self.expect(is_number(cause.get("time", 0)), f"{which} has the cause {cause!r}")
        for key, field in fields.items():
            if key in data:
                self.check_field(which, key, FIELD_KINDS[field["format"]], data[key])

    def check_field(self, which, key, kind, value):
        if kind == "number":
            good = is_number(value)
        elif kind == "string":
            good = is_text(value)
        else:
            good = self.first_bad(kind, [value]) is None
        self.expect(good, f"{which}: {key} is {value!r}")

    def check_budget(self):
        """Markers are few: what no one looks for hides what one looks for, and makes the file large."""
        noise = {"Holds GIL", "On CPU", "Off CPU"} & set(self.schemas)
        if self.all_markers or noise:
            return
        count = sum(thread["markers"]["length"] for thread in self.profile["threads"])
        self.expect(count <= MOST_MARKERS, f"{count} markers are more than {MOST_MARKERS}")
        data = [data for thread in self.profile["threads"] for data in thread["markers"]["data"]]
        columns = sum(bytes_of(thread["markers"]) for thread in self.profile["threads"]) - bytes_of(data)
        for lives, few in FEW_BYTES.items():
            mine = [one for one in data if self.may_overlap(one) == lives]
            size = bytes_of(mine) + columns * len(mine) / max(len(data), 1)
            if size > few:
                whole = self.size or bytes_of(self.profile)
                self.expect(size <= MARKERS_SHARE * whole, f"markers{' of lives' * lives} take {size:.0f} bytes of {whole}")

    # ---- counters ----

    def owner_is_good(self, what):
        """Whether pid and mainThreadIndex of a counter are those of a thread."""
        threads, index = self.profile["threads"], what.get("mainThreadIndex")
        return is_integer(index) and 0 <= index < len(threads) and threads[index]["pid"] == what.get("pid")

    def check_counters(self):
        counters = self.profile["counters"]
        seen = set()
        for i, counter in enumerate(counters):
            which = f"counter {i}"
            for key in ("name", "category", "description"):
                self.expect(is_text(counter.get(key)) and counter[key], f"{which}: {key} is {counter.get(key)!r}")
            self.expect(self.owner_is_good(counter), f"{which} is of thread {counter.get('mainThreadIndex')!r}, "
                                                     f"pid {counter.get('pid')!r}")
            hidden = (counter.get("category"), counter.get("name")) == ("CPU", "processCPU")
            self.expect(not hidden, f"{which} is of a kind that the viewer hides")
            key = counter.get("pid"), counter.get("name")
            self.expect(key not in seen, f"{which} is the second {key[1]!r} of process {key[0]}")
            seen.add(key)
            self.check_counter_display(which, counter.get("display", {}))
            self.check_counter_samples(which, counter)

    def check_counter_display(self, which, display):
        self.expect(set(display) == COUNTER_DISPLAY, f"{which}: display has {sorted(display)}")
        self.expect(display.get("graphType") in ("line-rate", "line-accumulated"), f"{which}: {display.get('graphType')!r}")
        self.expect(display.get("color") in GRAPH_COLORS, f"{which} has colour {display.get('color')!r}")
        location = display.get("markerSchemaLocation")
        self.expect(location in (None, "timeline-memory"), f"{which} has markers of {location!r}")
        self.expect(is_text(display.get("label")) and display["label"], f"{which}: label is {display.get('label')!r}")
        self.expect(isinstance(display.get("unit"), str), f"{which}: unit is {display.get('unit')!r}")
        self.expect(is_number(display.get("sortWeight")), f"{which}: sortWeight is {display.get('sortWeight')!r}")
        rows = display.get("tooltipRows")
        self.expect(isinstance(rows, list) and rows, f"{which}: tooltipRows is {rows!r}")

    def check_counter_samples(self, which, counter):
        samples = counter.get("samples", {})
        times, counts, length = samples.get("time", []), samples.get("count", []), samples.get("length")
        for column, cells in (("time", times), ("count", counts)):
            self.expect(len(cells) == length, f"{which}: {column} has {len(cells)} entries, length is {length}")
            if not self.expect(are_numbers(cells), f"{which}: {column} has other than numbers"):
                return
        self.expect(length and length <= COUNTER_POINTS, f"{which} has {length} points")
        back = first_back(times)
        self.expect(back is None, f"{which}: point {back} is not after the one before")
        end = self.meta["profilingEndTime"]
        self.expect(not times or 0 <= times[0] <= times[-1] <= end, f"{which}: times are outside of 0 to {end}")
        accumulated = counter["display"].get("graphType") == "line-accumulated"
        lowest = min(itertools.accumulate(counts), default=0) if accumulated else min(counts, default=0)
        self.expect(lowest >= -1e-6, f"{which} falls to {lowest}")

    def check_overhead(self):
        for i, overhead in enumerate(self.profile.get("profilerOverhead", [])):
            which = f"overhead {i}"
            self.expect(self.owner_is_good(overhead), f"{which} is of thread {overhead.get('mainThreadIndex')!r}, "
                                                      f"pid {overhead.get('pid')!r}")
            statistics = overhead.get("statistics", {})
            self.expect(set(statistics) == STATISTICS, f"{which}: statistics lacks {sorted(STATISTICS - set(statistics))}, "
                                                       f"has {sorted(set(statistics) - STATISTICS)}")
            self.expect(are_numbers(list(statistics.values())), f"{which}: statistics has other than numbers")
            samples = overhead.get("samples", {})
            self.expect(set(samples) == {*OVERHEADS, "time", "length"}, f"{which}: samples has {sorted(samples)}")
            for column in (*OVERHEADS, "time"):
                cells = samples.get(column, [])
                good = len(cells) == samples.get("length") and are_numbers(cells)
                self.expect(good, f"{which}: {column} has {len(cells)} entries, length is {samples.get('length')}")
