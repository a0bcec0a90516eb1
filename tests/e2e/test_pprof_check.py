# SPDX-License-Identifier: MIT
"""The strict rules for a profile, each of which a profile can break alone: pprof_check finds each of them."""

import copy
import gzip

import pytest

import pprof_check
from pprof_check import COLUMNS, LABEL, LINE, LOCATION, PROFILE, SAMPLE, VALUE_TYPE


# ---- writing ----

def varint(value):
    value &= (1 << 64) - 1
    bytes_ = bytearray()
    while value > 0x7F:
        bytes_.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes(bytes_ + bytes([value]))


def field(number, value):
    """A number, or a field of bytes."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    return varint(number << 3 | 2) + varint(len(value)) + value


def encode(message, fields):
    """The reverse of pprof_check.decode()."""
    data = b""
    for number, (name, kind) in sorted(fields.items()):
        value = message[name]
        if isinstance(kind, dict):
            data += field(number, encode(value, kind))
        elif not isinstance(kind, list):
            data += field(number, value) if value else b""
        elif kind == ["bytes"]:
            data += b"".join(field(number, row) for row in value)
        elif isinstance(kind[0], dict):
            data += b"".join(field(number, encode(row, kind[0])) for row in value)
        elif value:
            data += field(number, b"".join(map(varint, value)))
    return data


def message(fields, **values):
    return {**pprof_check.decode(b"", fields, []), **values}


class Profile(dict):
    """A profile that obeys each rule: work() in two threads, of which one calls <GC>."""

    def __init__(self):
        super().__init__(message(PROFILE, string_table=[b""]))
        text = self.text
        self["sample_type"] = [self.type(*column) for column in COLUMNS]
        for thread, stack in (("MainThread", [1]), ("worker", [2, 1])):
            labels = [message(LABEL, key=text("thread"), str=text(thread))]
            labels += [message(LABEL, key=text(key), num=number, num_unit=text("id"))
                       for key, number in (("thread_id", 41 + len(stack)), ("pid", 42), ("interpreter", 0))]
            self["sample"].append(message(SAMPLE, location_id=stack, value=[2, 2000000, 1000000, 1000000, 0], label=labels))
        self["mapping"] = [message(pprof_check.MAPPING, id=1, filename=text("/usr/bin/python3"), has_functions=1,
                                   has_filenames=1, has_line_numbers=1)]
        for number, (name, file, line) in enumerate([("work", "/w.py", 3), ("<GC>", "", 0)], 1):
            self["location"].append(message(LOCATION, id=number, mapping_id=1,
                                            line=[message(LINE, function_id=number, line=line)]))
            self["function"].append(message(pprof_check.FUNCTION, id=number, name=text(name), filename=text(file)))
        self.update(time_nanos=1, duration_nanos=1, period=1, period_type=self.type("wall", "nanoseconds"),
                    default_sample_type=text("wall"), comment=[text("command: w.py")])

    def text(self, string):
        """The index of a text in the table, where it is put when it is not there yet."""
        string = string if isinstance(string, bytes) else string.encode()
        if string not in self["string_table"]:
            self["string_table"].append(string)
        return self["string_table"].index(string)

    def type(self, name, unit):
        return message(VALUE_TYPE, type=self.text(name), unit=self.text(unit))

    def label(self, sample, key):
        (found,) = [label for label in self["sample"][sample]["label"] if label["key"] == self.text(key)]
        return found


def problems_of(tmp_path, data):
    path = tmp_path / "app.pb.gz"
    path.write_bytes(data)
    return pprof_check.examine(path)[1]


def packed(plain):
    return gzip.compress(plain, mtime=0)


def test_a_profile_that_obeys_the_rules(tmp_path):
    assert problems_of(tmp_path, packed(encode(Profile(), PROFILE))) == []


# ---- the rules ----

def swap(rows):
    rows[0], rows[1] = rows[1], rows[0]


def change(row, **values):
    row.update(values)


BREAKS = {  # what a profile does: (how, the problem that is found)
    "location ids out of order": (lambda p: swap(p["location"]), "location 2 where 1 was due"),
    "a gap in the function ids": (lambda p: change(p["function"][1], id=3), "function 3 where 2 was due"),
    "a mapping without an id": (lambda p: change(p["mapping"][0], id=0), "mapping 0 where 1 was due"),
    "a text twice": (lambda p: p["string_table"].append(b"wall"), "string_table has a text twice"),
    "a text that is not UTF-8": (lambda p: change(p["function"][0], name=p.text(b"\xffwork")), "is not UTF-8"),
    "a table that begins with a text": (lambda p: p["string_table"].pop(0), "does not begin with an empty text"),
    "a type with a minus": (lambda p: change(p["sample_type"][4], type=p.text("gil-wait")), "columns ["),
    "a column too few": (lambda p: p["sample_type"].pop(), "columns ["),
    "columns in another order": (lambda p: swap(p["sample_type"]), "columns ["),
    "a column twice": (lambda p: change(p["sample_type"][4], type=p.text("gil")), "columns ["),
    "a column in microseconds": (lambda p: change(p["sample_type"][1], unit=p.text("microseconds")), "columns ["),
    "a default that is another column": (lambda p: change(p, default_sample_type=p.text("gil")), "default_sample_type 'gil'"),
    "no default": (lambda p: change(p, default_sample_type=0), "default_sample_type ''"),
    "no period type": (lambda p: change(p, period_type=message(VALUE_TYPE)), "period type ('', '')"),
    "no period": (lambda p: change(p, period=0), "period 0"),
    "a location that nothing uses": (lambda p: change(p["sample"][1], location_id=[1]), "nothing refers to location 2"),
    "a function that nothing uses": (lambda p: change(p["location"][1]["line"][0], function_id=1), "nothing refers to function 2"),
    "a mapping that nothing uses": (lambda p: p["mapping"].append({**p["mapping"][0], "id": 2}), "nothing refers to mapping 2"),
    "a text that nothing uses": (lambda p: p.text("idle"), "nothing refers to text 'idle'"),
    "a location that is not there": (lambda p: change(p["sample"][0], location_id=[3]), "location 3 does not exist"),
    "a location without a mapping": (lambda p: change(p["location"][0], mapping_id=0), "mapping 0 does not exist"),
    "a line without a function": (lambda p: change(p["location"][0]["line"][0], function_id=0), "function 0 does not exist"),
    "a text index past the table": (lambda p: change(p["function"][0], filename=99), "which does not exist"),
    "a sample without thread": (lambda p: p["sample"][0]["label"].pop(0), "label 'thread' is missing"),
    "a sample without thread_id": (lambda p: p["sample"][0]["label"].pop(1), "label 'thread_id' is missing"),
    "a sample without pid": (lambda p: p["sample"][0]["label"].pop(2), "label 'pid' is missing"),
    "a sample without interpreter": (lambda p: p["sample"][0]["label"].pop(3), "label 'interpreter' is missing"),
    "a label without a key": (lambda p: p["sample"][0]["label"].append(message(LABEL, str=p.text("thread"))), "without a name or twice"),
    "a label twice": (lambda p: p["sample"][0]["label"].append(p.label(0, "thread")), "without a name or twice"),
    "a label that is a text and a number": (lambda p: change(p.label(0, "thread"), num=1), "is a text and a number"),
    "a number with another unit": (lambda p: change(p.label(0, "pid"), num_unit=p.text("count")), "whose unit is not id"),
    "a number without a unit": (lambda p: change(p.label(0, "interpreter"), num_unit=0), "whose unit is not id"),
    "a value too few": (lambda p: p["sample"][0]["value"].pop(), "sample 0: 4 values"),
    "a negative value": (lambda p: p["sample"][0]["value"].__setitem__(1, -1), "a negative value"),
    "a sample without a stack": (lambda p: change(p["sample"][0], location_id=[]), "no stack"),
    "a location of two lines": (lambda p: p["location"][0].update(line=2 * p["location"][0]["line"]), "location 1: 2 lines"),
    "a negative line": (lambda p: change(p["location"][0]["line"][0], line=-1), "a negative line or column"),
    "a mapping whose symbols are not there": (lambda p: change(p["mapping"][0], has_functions=0), "would look for names"),
    "a mapping without a file": (lambda p: change(p["mapping"][0], filename=0), "mapping 1: no file"),
    "a function without a name": (lambda p: change(p["function"][1], name=0), "function 2: no name"),
    "a system name": (lambda p: change(p["function"][0], system_name=p.text("work")), "has a system name"),
    "a comment that pprof hides": (lambda p: change(p, comment=[p.text("# hidden")]), "comment '# hidden'"),
    "a comment of two lines": (lambda p: change(p, comment=[p.text("a\nb")]), "comment 'a\\nb'"),
    "no time": (lambda p: change(p, time_nanos=0), "time 0"),
}


@pytest.mark.parametrize("broken", BREAKS)
def test_a_broken_rule_is_found(tmp_path, broken):
    profile = Profile()
    how, problem = BREAKS[broken]
    how(profile)
    problems = problems_of(tmp_path, packed(encode(profile, PROFILE)))
    assert any(problem in found for found in problems), problems


BYTES = {  # what is wrong with the file: (how the file is made of the message, the problem)
    "doc_url": (lambda plain: packed(plain + field(15, 1)), "field 15 is not of the format"),
    "a field out of order": (lambda plain: packed(plain + field(12, 1)), "period comes after a later field"),
    "a field twice": (lambda plain: packed(plain + field(14, 1)), "default_sample_type is said twice"),
    "two members": (lambda plain: 2 * packed(plain), "gzip: more than one member"),
    "a time stamp": (lambda plain: gzip.compress(plain, mtime=1), "gzip: has a time stamp"),
    "a file name": (lambda plain: named(packed(plain)), "gzip: flags 0x8"),
    "a member that is cut off": (lambda plain: packed(plain)[:-1], "gzip: cut off"),
    "a wrong checksum": (lambda plain: packed(plain)[:-8] + bytes(4) + packed(plain)[-4:], "gzip: "),
    "a message that is cut off": (lambda plain: packed(plain[:-1]), "broken number"),
    "no gzip": (lambda plain: plain, "not a gzip file"),
}


def named(member):
    """The gzip member with the name that the command gzip writes."""
    return member[:3] + b"\x08" + member[4:10] + b"app.pb\0" + member[10:]


@pytest.mark.parametrize("broken", BYTES)
def test_a_broken_file_is_found(tmp_path, broken):
    how, problem = BYTES[broken]
    problems = problems_of(tmp_path, how(encode(Profile(), PROFILE)))
    assert any(problem in found for found in problems), problems


# ---- sums ----

INFO = {"mode": "wall", "rate_hz": 1000, "samples": 4, "tasks": [], "threads": [
    {"pid": 42, "tid": tid, "interpreter": 0, "samples": 2, "wall_s": 0.002, "cpu_s": 0.001} for tid in (42, 43)]}
WEIGHTS = {"wall": 0.004, "cpu": 0.002, "gil": 0.002}

DIFFERENCES = {  # what is wrong with the sums: (how the profile or the recording differs, the problem)
    "a sample too many": (lambda p, i, w: change(i["threads"][1], samples=1), "samples of thread (42, 43, 0) is 2, and 1"),
    "wall of a thread": (lambda p, i, w: change(i["threads"][0], wall_s=0.003), "wall of thread (42, 42, 0) is 0.002, and 0.003"),
    "cpu of a thread": (lambda p, i, w: change(i["threads"][0], cpu_s=0), "cpu of thread (42, 42, 0) is 0.001, and 0"),
    "a thread that is not there": (lambda p, i, w: p["sample"].pop(), "samples of thread (42, 43, 0) is 0, and 2"),
    "a thread too many": (lambda p, i, w: i["threads"].pop(), "samples of thread (42, 43, 0) is 2, and 0"),
    "another pid": (lambda p, i, w: change(p.label(0, "pid"), num=43), "samples of thread (43, 42, 0) is 2, and 0"),
    "CPU time without a stack": (lambda p, i, w: i["threads"].append({**i["threads"][0], "tid": 44, "samples": 0}),
                                 "CPU time without a stack is 0, and 0.001"),
    "the sum of gil": (lambda p, i, w: w.update(gil=0.003), "the sum of gil is 0.002, and 0.003"),
    "gil_wait, which is not known": (lambda p, i, w: p["sample"][0]["value"].__setitem__(4, 1000000), "the sum of gil_wait is 0.001, and 0"),
    "the default": (lambda p, i, w: change(p, default_sample_type=p.text("cpu")), "the default column is not wall"),
    "the default of -m cpu": (lambda p, i, w: change(i, mode="cpu"), "the default column is not cpu"),
}


def test_the_sums_of_the_recording():
    assert pprof_check.compare(Profile(), INFO, WEIGHTS) == []


@pytest.mark.parametrize("different", DIFFERENCES)
def test_other_sums_are_found(different):
    profile, info, weights = Profile(), copy.deepcopy(INFO), dict(WEIGHTS)
    how, problem = DIFFERENCES[different]
    how(profile, info, weights)
    problems = pprof_check.compare(profile, info, weights)
    assert any(problem in found for found in problems), problems
