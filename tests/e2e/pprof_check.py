# SPDX-License-Identifier: MIT
"""Reads a pprof profile and holds it to stricter rules than pprof does.

pprof accepts much that other readers do not: ids with gaps, texts twice, things that nothing refers to, several gzip
members. We promise the strict form, and this is the place that says what it is. Nothing but the standard library is
needed: the few lines of protobuf are here.

    profile = load("app.pb.gz")       # raises Malformed when it can't be read at all
    check(profile)                    # what is wrong with it, a list of texts
    compare(profile, info, weights)   # where its sums are not those of the recording, a list of texts
    summary(profile)                  # what it says, as plain dicts and lists

    python3 pprof_check.py FILE...    # prints the summary as JSON; exit 1 with the reasons on stderr
"""

import collections
import json
import re
import struct
import sys
import zlib

REQUIRED_LABELS = {"thread": "text", "thread_id": "number", "pid": "number", "interpreter": "number"}
COLUMNS = [("samples", "count"), ("wall", "nanoseconds"), ("cpu", "nanoseconds"), ("gil", "nanoseconds"),
           ("gil_wait", "nanoseconds")]
DEFAULT_COLUMNS = ("wall", "cpu")  # compare() says which of them


class Malformed(Exception):
    """It is not a profile at all."""


# What each message holds: field number -> (name, type). A type in brackets may come many times; a type that is a dict
# is a message. Numbers are int64 but where it says "id" (uint64).
VALUE_TYPE = {1: ("type", "text"), 2: ("unit", "text")}
LABEL = {1: ("key", "text"), 2: ("str", "text"), 3: ("num", "int"), 4: ("num_unit", "text")}
SAMPLE = {1: ("location_id", ["id"]), 2: ("value", ["int"]), 3: ("label", [LABEL])}
MAPPING = {
    1: ("id", "id"), 2: ("memory_start", "id"), 3: ("memory_limit", "id"), 4: ("file_offset", "id"),
    5: ("filename", "text"), 6: ("build_id", "text"), 7: ("has_functions", "int"), 8: ("has_filenames", "int"),
    9: ("has_line_numbers", "int"), 10: ("has_inline_frames", "int"),
}
LINE = {1: ("function_id", "id"), 2: ("line", "int"), 3: ("column", "int")}
LOCATION = {
    1: ("id", "id"), 2: ("mapping_id", "id"), 3: ("address", "id"), 4: ("line", [LINE]), 5: ("is_folded", "int"),
}
FUNCTION = {
    1: ("id", "id"), 2: ("name", "text"), 3: ("system_name", "text"), 4: ("filename", "text"),
    5: ("start_line", "int"),
}
PROFILE = {
    1: ("sample_type", [VALUE_TYPE]), 2: ("sample", [SAMPLE]), 3: ("mapping", [MAPPING]), 4: ("location", [LOCATION]),
    5: ("function", [FUNCTION]), 6: ("string_table", ["bytes"]), 7: ("drop_frames", "text"),
    8: ("keep_frames", "text"), 9: ("time_nanos", "int"), 10: ("duration_nanos", "int"),
    11: ("period_type", VALUE_TYPE), 12: ("period", "int"), 13: ("comment", ["text"]),
    14: ("default_sample_type", "text"),
}

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5


def take_varint(data, at):
    value = shift = 0
    while True:
        if at >= len(data) or shift > 63:
            raise Malformed(f"a broken number at byte {at}")
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & (1 << 64) - 1, at
        shift += 7


def take_field(data, at):
    """Number, wire type and value of the field at `at`, and where the next one begins."""
    tag, at = take_varint(data, at)
    number, wire = tag >> 3, tag & 7
    if wire == VARINT:
        value, at = take_varint(data, at)
        return number, wire, value, at
    if wire == BYTES:
        size, at = take_varint(data, at)
    else:
        size = {FIXED64: 8, FIXED32: 4}.get(wire)
        if size is None:
            raise Malformed(f"unknown wire type {wire} before byte {at}")
    if at + size > len(data):
        raise Malformed(f"cut off: a field before byte {at} says it has {size} bytes")
    return number, wire, data[at : at + size], at + size


def signed(value):
    return value - (1 << 64) if value >> 63 else value


def take_scalars(kind, wire, value):
    """The numbers of a numeric field: one, or many when they are packed."""
    if wire == BYTES:
        numbers, at = [], 0
        while at < len(value):
            number, at = take_varint(value, at)
            numbers.append(number)
    elif wire == VARINT:
        numbers = [value]
    else:
        raise Malformed(f"wire type {wire} for a number")
    return numbers if kind == "id" else [signed(n) for n in numbers]


def decode(data, fields, problems):
    message = {name: [] if isinstance(kind, list) else decode(b"", kind, problems) if isinstance(kind, dict) else 0
               for name, kind in fields.values()}
    at, last, seen = 0, 0, set()
    while at < len(data):
        number, wire, value, at = take_field(data, at)
        if number not in fields:
            problems.append(f"field {number} is not of the format")
            continue
        name, kind = fields[number]
        if number < last:
            problems.append(f"{name} comes after a later field")
        last = number
        many = isinstance(kind, list)
        if not many and number in seen:
            problems.append(f"{name} is said twice")
        seen.add(number)
        kind = kind[0] if many else kind
        if isinstance(kind, dict) or kind == "bytes":
            if wire != BYTES:
                raise Malformed(f"wire type {wire} for {name}")
            values = [decode(value, kind, problems) if isinstance(kind, dict) else bytes(value)]
        else:
            values = take_scalars(kind, wire, value)
        if many:
            message[name] += values
        else:
            message[name] = values[-1] if values else message[name]
    return message


def unpack(data, problems):
    """What is in the one gzip member, without a name or a time."""
    if data[:3] != b"\x1f\x8b\x08" or len(data) < 18:
        raise Malformed("not a gzip file")
    if data[3] != 0:
        problems.append(f"gzip: flags {data[3]:#x}: a name, a comment or extra fields")
    if struct.unpack("<I", data[4:8])[0] != 0:
        problems.append("gzip: has a time stamp")
    member = zlib.decompressobj(wbits=31)
    try:
        plain = member.decompress(data)
    except zlib.error as error:
        raise Malformed(f"gzip: {error}") from None
    if not member.eof:
        raise Malformed("gzip: cut off")
    if member.unused_data:
        problems.append("gzip: more than one member")
    return plain


def load(path):
    """The profile's message as dicts. What is wrong with its form is under "problems"."""
    with open(path, "rb") as file:
        data = file.read()
    problems = []
    profile = decode(memoryview(unpack(data, problems)), PROFILE, problems)
    profile["problems"] = list(dict.fromkeys(problems))
    return profile


def type_of(profile, value_type):
    return text_at(profile, value_type["type"]), text_at(profile, value_type["unit"])


def text_at(profile, index):
    strings = profile["string_table"]
    return strings[index].decode("utf-8", "replace") if 0 <= index < len(strings) else f"<no text {index}>"


class Checker:
    """Collects what is wrong, and which things are used."""

    def __init__(self, profile):
        self.profile = profile
        self.problems = list(profile["problems"])
        self.used = {"text": {0}, "location": set(), "function": set(), "mapping": set()}

    def fail(self, problem):
        if problem not in self.problems:
            self.problems.append(problem)

    def texts(self, message, fields, where):
        """Every text of a message is in the table."""
        for name, kind in fields.values():
            if kind not in ("text", ["text"]):
                continue
            for index in message[name] if isinstance(kind, list) else [message[name]]:
                self.used["text"].add(index)
                if not 0 <= index < len(self.profile["string_table"]):
                    self.fail(f"{where}: {name} is text {index}, which does not exist")

    def refers(self, kind, number, where):
        self.used[kind].add(number)
        if not 1 <= number <= len(self.profile[kind]):
            self.fail(f"{where}: {kind} {number} does not exist")

    def string_table(self):
        strings = self.profile["string_table"]
        if not strings or strings[0] != b"":
            self.fail("string_table does not begin with an empty text")
        if len(set(strings)) != len(strings):
            self.fail("string_table has a text twice")
        for string in strings:
            try:
                string.decode("utf-8")
            except UnicodeDecodeError:
                self.fail(f"text {string!r} is not UTF-8")

    def types(self):
        profile = self.profile
        for kind in profile["sample_type"] + [profile["period_type"]]:
            self.texts(kind, VALUE_TYPE, "value type")
        columns = [type_of(profile, kind) for kind in profile["sample_type"]]
        if columns != COLUMNS:  # a row of names without `-`, each once
            self.fail(f"columns {columns}")
        if type_of(profile, profile["period_type"]) not in COLUMNS[1:]:
            self.fail(f"period type {type_of(profile, profile['period_type'])}")
        if text_at(profile, profile["default_sample_type"]) not in DEFAULT_COLUMNS:
            self.fail(f"default_sample_type {text_at(profile, profile['default_sample_type'])!r}")
        if profile["period"] <= 0:
            self.fail(f"period {profile['period']}")

    def labels(self, sample, where):
        found = {}
        for label in sample["label"]:
            self.texts(label, LABEL, where)
            key = text_at(self.profile, label["key"])
            if label["key"] == 0 or key in found:
                self.fail(f"{where}: label {key!r} without a name or twice")
            if label["str"] and (label["num"] or label["num_unit"]):
                self.fail(f"{where}: label {key!r} is a text and a number")
            if not label["str"] and text_at(self.profile, label["num_unit"]) != "id":
                self.fail(f"{where}: label {key!r} is a number whose unit is not id")
            found[key] = "text" if label["str"] else "number"
        for key, kind in REQUIRED_LABELS.items():
            if found.get(key) != kind:
                self.fail(f"{where}: label {key!r} is missing or not a {kind}")

    def samples(self):
        for i, sample in enumerate(self.profile["sample"]):
            where = f"sample {i}"
            if len(sample["value"]) != len(self.profile["sample_type"]):
                self.fail(f"{where}: {len(sample['value'])} values")
            if any(value < 0 for value in sample["value"]):
                self.fail(f"{where}: a negative value")
            if not sample["location_id"]:
                self.fail(f"{where}: no stack")
            for location in sample["location_id"]:
                self.refers("location", location, where)
            self.labels(sample, where)

    def tables(self):
        profile = self.profile
        for kind, fields in (("mapping", MAPPING), ("location", LOCATION), ("function", FUNCTION)):
            for i, row in enumerate(profile[kind], 1):
                if row["id"] != i:
                    self.fail(f"{kind} {row['id']} where {i} was due")
                self.texts(row, fields, f"{kind} {i}")
        for i, location in enumerate(profile["location"], 1):
            self.refers("mapping", location["mapping_id"], f"location {i}")
            if not 1 <= len(location["line"]) <= (64 if location["address"] else 1):  # several: inlined functions
                self.fail(f"location {i}: {len(location['line'])} lines")
            for line in location["line"]:
                self.refers("function", line["function_id"], f"location {i}")
                if line["line"] < 0 or line["column"] < 0:
                    self.fail(f"location {i}: a negative line or column")

    def meanings(self):
        profile = self.profile
        for i, mapping in enumerate(profile["mapping"], 1):
            if not all(mapping[f"has_{what}"] for what in ("functions", "filenames", "line_numbers")):
                self.fail(f"mapping {i}: pprof would look for names in the file")
            if not mapping["filename"]:
                self.fail(f"mapping {i}: no file")
            if mapping["memory_limit"] < mapping["memory_start"] or (mapping["build_id"] and not mapping["memory_limit"]):
                self.fail(f"mapping {i}: a range that is none")
        for i, location in enumerate(profile["location"], 1):
            mapping = profile["mapping"][location["mapping_id"] - 1]
            if location["address"] and mapping["memory_limit"] and not mapping["memory_start"] <= location["address"] < mapping["memory_limit"]:
                self.fail(f"location {i}: outside of its mapping")
        if not profile["mapping"]:
            self.fail("no mapping")
        for i, function in enumerate(profile["function"], 1):
            if not function["name"]:
                self.fail(f"function {i}: no name")
            system_name = text_at(profile, function["system_name"])
            if system_name and not system_name.startswith(("_Z", "_R")):
                self.fail(f"function {i}: has the system name {system_name}, which pprof reads as C++")
        for comment in profile["comment"]:
            text = text_at(profile, comment)
            if not text or text.startswith("#") or any(ord(c) < 32 for c in text):
                self.fail(f"comment {text!r}")
        if profile["time_nanos"] <= 0 or profile["duration_nanos"] < 0:
            self.fail(f"time {profile['time_nanos']}, duration {profile['duration_nanos']}")

    def unused(self):
        self.used["mapping"].add(1)
        for kind in ("location", "function", "mapping"):
            idle = set(range(1, len(self.profile[kind]) + 1)) - self.used[kind]
            if idle:
                self.fail(f"nothing refers to {kind} {min(idle)} ({len(idle)} such)")
        idle = set(range(len(self.profile["string_table"]))) - self.used["text"]
        if idle:
            self.fail(f"nothing refers to text {text_at(self.profile, min(idle))!r} ({len(idle)} such)")


def check(profile):
    """Everything that is wrong with a profile, in words; an empty list when it is right."""
    checker = Checker(profile)
    checker.texts(profile, PROFILE, "profile")
    checker.string_table()
    checker.types()
    checker.samples()
    checker.tables()
    checker.meanings()
    checker.unused()
    return checker.problems


# The other outputs round: pyreel-info to so many seconds, pyreel-collapsed each stack to a microsecond.
ROUNDED = 5e-6


def compare(profile, info, weights):
    """Where a whole recording and its profile differ, in words; an empty list when each column has the recording's sum.

    `info` is what pyreel-info --json says, a list of it for several recordings; `weights` has the sums of the columns of
    nanoseconds that pyreel-collapsed --weight gives of all of them, by their names, in seconds, and no unknown column.
    The CPU time of a thread of which -m keeps no sample belongs to no stack: a comment says how much that is.
    A merge takes the looks of a run one by one, which may change a thread's time by an interval (wall.h)."""
    recordings = info if isinstance(info, list) else [info]
    problems = []
    if text_at(profile, profile["default_sample_type"]) == "cpu" and not weights.get("cpu"):
        problems.append("the default column is CPU time, and there is none")
    slack = 2 * ROUNDED + (max(1 / figures["rate_hz"] for figures in recordings) if len(recordings) > 1 else 0)
    threads = threads_of(recordings)
    shown = collections.defaultdict(lambda: [0] * len(COLUMNS))
    for sample in profile["sample"]:
        labels = label_values(profile, sample)
        row = shown[labels["pid"], labels["thread_id"], labels["interpreter"]]
        row[:] = map(sum, zip(row, sample["value"]))
    for key in sorted(threads.keys() | shown.keys()):
        samples, *seconds = threads.get(key, (0, 0, 0))
        if shown[key][0] != samples:
            problems.append(f"samples of thread {key} is {shown[key][0]}, and {samples} in the recording")
        for name, known, value in zip(("wall", "cpu"), seconds, shown[key][1:]) if samples else ():
            if known is not None and abs(value / 1e9 - known) > slack:
                problems.append(f"{name} of thread {key} is {value / 1e9}, and {known} in the recording")
    left = sum(cpu or 0 for samples, _, cpu in threads.values() if not samples)
    if len(recordings) == 1 and abs(left - without_stack(profile)) > slack * (1 + len(threads)):
        problems.append(f"CPU time without a stack is {without_stack(profile)}, and {left} in the recording")
    for column, (name, _) in list(enumerate(COLUMNS))[1:]:
        value = sum(row[column] for row in shown.values()) / 1e9
        if abs(value - weights.get(name, 0)) > ROUNDED * (1 + len(profile["sample"])):
            problems.append(f"the sum of {name} is {value}, and {weights.get(name, 0)} in the recording")
    return problems


def without_stack(profile):
    """The seconds of CPU time that a comment says are in no column."""
    comments = "\n".join(text_at(profile, comment) for comment in profile["comment"])
    match = re.search(r"^([\d.]+) s of CPU time belong to threads without a sample ", comments, re.MULTILINE)
    return float(match[1]) if match else 0


def threads_of(recordings):
    """{(pid, tid, interpreter): [samples, seconds of wall, seconds of CPU]} of what pyreel-info says; None: not known.

    With --async all a thread has no sample while it runs a task, and the samples of its tasks, running and waiting, stand
    under its number. Their times are not said."""
    threads = {}
    for figures in recordings:
        for thread in figures["threads"]:
            key = thread["pid"], thread["tid"], thread["interpreter"]
            assert key not in threads, "recordings of one process"
            threads[key] = [thread["samples"], thread["wall_s"], thread["cpu_s"]]
        of_tasks = figures["samples"] - sum(thread["samples"] for thread in figures["threads"])
        for task in figures["tasks"] if of_tasks else ():
            row = threads.setdefault((task["pid"], task["tid"], 0), [0, None, None])
            row[:] = row[0] + task["samples"], None, None
    return threads


def label_values(profile, sample):
    return {
        text_at(profile, label["key"]): text_at(profile, label["str"]) if label["str"] else label["num"]
        for label in sample["label"]
    }


def frames_of(profile, sample):
    """The stack as (function, line), leaf first."""
    frames = []
    for number in sample["location_id"]:
        for line in profile["location"][number - 1]["line"]:
            function = profile["function"][line["function_id"] - 1]
            frames.append((text_at(profile, function["name"]), line["line"]))
    return frames


def count_functions(samples):
    """By name: samples in which it is the leaf, and in which it is anywhere."""
    functions = {}
    for stack, _, values in samples:
        for name in {name for name, _ in stack}:
            functions.setdefault(name, {"flat": 0, "cum": 0})["cum"] += values[0]
        if stack:
            functions[stack[0][0]]["flat"] += values[0]
    return functions


def summary(profile):
    """What the profile says. Call it for a profile that check() finds nothing wrong with.

    `samples` is a list of (stack, labels, values), a stack being a list of (function, line), leaf first; `functions`
    has each name's own samples (flat) and those it is anywhere in (cum); `defined` lists (name, file, first line).
    """
    samples = [(frames_of(profile, s), label_values(profile, s), s["value"]) for s in profile["sample"]]
    types = [type_of(profile, kind) for kind in profile["sample_type"]]
    return {
        "sample_types": types,
        "default_sample_type": text_at(profile, profile["default_sample_type"]),
        "period_type": type_of(profile, profile["period_type"]),
        "period": profile["period"],
        "time_nanos": profile["time_nanos"],
        "duration_nanos": profile["duration_nanos"],
        "comments": [text_at(profile, comment) for comment in profile["comment"]],
        "mappings": [text_at(profile, mapping["filename"]) for mapping in profile["mapping"]],
        "totals": [sum(values) for values in zip(*(s[2] for s in samples))] or [0] * len(types),
        "defined": [
            (text_at(profile, f["name"]), text_at(profile, f["filename"]), f["start_line"])
            for f in profile["function"]
        ],
        "functions": count_functions(samples),
        "samples": samples,
    }


def examine(path):
    """The profile or None, and what is wrong with it."""
    try:
        profile = load(path)
    except (Malformed, OSError) as error:
        return None, [str(error)]
    return profile, check(profile)


def main(paths):
    if not paths or paths[0] in ("-h", "--help"):
        print(__doc__.strip())
        return 0 if paths else 2
    failed = False
    for path in paths:
        profile, problems = examine(path)
        for problem in problems:
            print(f"{path}: {problem}", file=sys.stderr)
        if problems:
            failed = True
        else:
            print(json.dumps(summary(profile), indent=1, ensure_ascii=False))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
