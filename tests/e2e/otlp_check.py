# SPDX-License-Identifier: MIT
"""Reads OTLP profiles, an ExportProfilesServiceRequest, and holds them to what the protocol says that they MUST and SHOULD be.

    request = load("app.otlp.gz")  # plain or gzip; raises Malformed when it can't be read at all
    check(request)                 # what is wrong with it, a list of texts
    resources(request)             # what it says, for a request that check() finds nothing wrong with
    equal(one, other)              # whether two say the same, however they are encoded; each may be a list of requests

The messages are OpenTelemetry's own, which tests/tools/make-otlp installs. The Collector hands on keys and texts of attributes as
references into the dictionary, which are resolved here.
"""

import collections
import dataclasses
import functools
import importlib
import types
import zlib

import environment

TABLES = ("mapping", "location", "function", "link", "string", "attribute", "stack")
# Fields that refer to an element of a table, beside those of texts, which end in _strindex.
REFERENCES = {"mapping_index": "mapping", "location_indices": "location", "function_index": "function", "link_index": "link",
              "attribute_indices": "attribute", "stack_index": "stack"}
KINDS = {"cpython", "native", "kernel"}  # of frames, the attribute profile.frame.type

Frame = collections.namedtuple("Frame", "function file line kind")
Line = collections.namedtuple("Line", "function system_name file first line column")
Mapping = collections.namedtuple("Mapping", "file begin end offset attributes")
Location = collections.namedtuple("Location", "lines address mapping attributes")  # attributes: a Facts
Sample = collections.namedtuple("Sample", "stack attributes link values times")  # stack: Locations, root first; link: None or hex
Resource = collections.namedtuple("Resource", "attributes profiles")


class Malformed(Exception):
    """It is no such request at all."""


@functools.lru_cache(maxsize=None)
def messages():
    """The classes of the messages: ExportProfilesServiceRequest, Profile, KeyValue, ..."""
    environment.need_otlp()
    names = ("collector.profiles.v1development.profiles_service", "profiles.v1development.profiles", "common.v1.common",
             "resource.v1.resource")
    classes = {}
    for name in names:
        module = importlib.import_module(f"opentelemetry.proto.{name}_pb2")
        classes.update({key: getattr(module, key) for key in module.DESCRIPTOR.message_types_by_name})
    return types.SimpleNamespace(**classes)


def load(path):
    with open(path, "rb") as file:
        return parse(file.read())


def parse(data):
    if data[:2] == b"\x1f\x8b":
        data = unpacked(data)
    request = messages().ExportProfilesServiceRequest()
    try:
        request.ParseFromString(data)
    except Exception as error:  # of a class that only protobuf has
        raise Malformed(f"no ExportProfilesServiceRequest: {error}") from error
    return request


def unpacked(data):
    gzip = zlib.decompressobj(wbits=31)
    try:
        data = gzip.decompress(data)
    except zlib.error as error:
        raise Malformed(f"broken gzip: {error}") from error
    if not gzip.eof or gzip.unused_data:
        raise Malformed("gzip that is cut off, or has something behind its end")
    return data


# ---- rules ----

def table(request, kind):
    return getattr(request.dictionary, f"{kind}_table")


def references(message):
    """(table, index) of each reference in a message and in what it holds. An index 0 that says nothing is not there."""
    for field, value in message.ListFields():
        kind = "string" if field.name.endswith("_strindex") else REFERENCES.get(field.name)
        many = value if isinstance(value, collections.abc.Sequence) and not isinstance(value, (str, bytes)) else [value]
        for part in many:
            if kind:
                yield kind, part
            elif field.message_type:
                yield from references(part)


def check(request):
    """Everything that is wrong with a request, in words; an empty list when it is right."""
    checker = Checker(request)
    checker.known_fields()
    checker.zeros()
    checker.reach()
    if not checker.problems:  # else nothing can be looked up
        checker.duplicates()
        checker.places()
        checker.attributes()
        for resource in request.resource_profiles:
            for scope in resource.scope_profiles:
                for profile in scope.profiles:
                    checker.profile(profile)
    return checker.problems


def says_nothing(kind, row):
    """The zero value has no fields; an id of zeros, and a value that is none, say as little: the Collector writes the latter."""
    if kind == "string":
        return row == ""
    if kind == "link":
        return not any(row.trace_id + row.span_id)
    return not [field for field, value in row.ListFields() if kind != "attribute" or field.name != "value" or value.ByteSize()]


class Checker:
    def __init__(self, request):
        self.request, self.reader, self.problems, self.ids = request, Reader(request), [], set()

    def fail(self, problem):
        if problem not in self.problems:
            self.problems.append(problem)

    def known_fields(self):
        known = type(self.request)()
        known.CopyFrom(self.request)
        known.DiscardUnknownFields()
        if known.ByteSize() != self.request.ByteSize():
            self.fail(f"{self.request.ByteSize() - known.ByteSize()} bytes of fields that the protocol does not have")

    def zeros(self):
        for kind in TABLES:
            rows = table(self.request, kind)
            if not len(rows):
                self.fail(f"the table of {kind}s is empty: element 0 must be there")
            elif not says_nothing(kind, rows[0]):
                self.fail(f"element 0 of the table of {kind}s is not the zero value")

    def reach(self):
        """Everything that resources refer to, directly or not, is there; nothing else is."""
        used, waiting = {kind: {0} for kind in TABLES}, [("the resources", reference)
                                                         for part in self.request.resource_profiles for reference in references(part)]
        while waiting:
            where, (kind, index) = waiting.pop()
            rows = table(self.request, kind)
            if not 0 <= index < len(rows):
                self.fail(f"{where}: {kind} {index} does not exist")
            elif index not in used[kind]:
                used[kind].add(index)
                if kind != "string":
                    waiting += [(f"{kind} {index}", reference) for reference in references(rows[index])]
        for kind in TABLES:
            orphans = set(range(len(table(self.request, kind)))) - used[kind]
            if orphans:
                self.fail(f"nothing refers to {kind} {min(orphans)} ({len(orphans)} such)")

    def duplicates(self):
        """Things are equal by what they say: also two locations whose functions are equal."""
        for kind in TABLES:
            seen = {}
            for index in range(len(table(self.request, kind))):
                first = seen.setdefault(self.reader.content(kind, index), index)
                if first != index:
                    self.fail(f"{kind} {index} says the same as {kind} {first}")

    def places(self):
        for index in range(1, len(self.request.dictionary.function_table)):
            if not self.reader.function(index)[0]:
                self.fail(f"function {index} has no name")
        for index, location in list(enumerate(self.request.dictionary.location_table))[1:]:
            if not location.lines and not location.address:
                self.fail(f"location {index} has neither a line nor an address")
            if any(line.line < 0 or line.column < 0 or not line.function_index for line in location.lines):
                self.fail(f"location {index} has a line without a function, or below 0")
            mapping = self.request.dictionary.mapping_table[location.mapping_index]
            if location.address and mapping.memory_limit and not mapping.memory_start <= location.address < mapping.memory_limit:
                self.fail(f"location {index} is outside of its mapping")
        for index, mapping in list(enumerate(self.request.dictionary.mapping_table))[1:]:
            if mapping.memory_limit < mapping.memory_start:
                self.fail(f"mapping {index} ends before it begins")
        for index, stack in list(enumerate(self.request.dictionary.stack_table))[1:]:
            self.stack(index, [self.reader.location(number) for number in stack.location_indices])

    def stack(self, index, locations):
        """Leaf first: the kernel is called by everything and calls nothing."""
        kinds = [frame.kind for location in locations for frame in frames_of(location)]
        if not kinds or not all(self.request.dictionary.stack_table[index].location_indices):
            self.fail(f"stack {index} has no location, or one that says nothing")
        if "kernel" in kinds and kinds[-1 - kinds[::-1].index("kernel")::-1] != ["kernel"] * kinds.count("kernel"):
            self.fail(f"stack {index} has a frame of the kernel that calls others: it is not leaf first")
        if not {kind for kind in kinds if kind is not None} <= KINDS:
            self.fail(f"stack {index} has frames of the kinds {sorted({str(kind) for kind in kinds})}")

    def attributes(self):
        """A key stands once in each list of attributes, in one of its two forms."""
        for resource in self.request.resource_profiles:
            self.keys("a resource", resource.resource.attributes)
            for scope in resource.scope_profiles:
                self.keys("a scope", scope.scope.attributes)
        rows = self.request.dictionary.attribute_table
        for index, row in list(enumerate(rows))[1:]:
            if not row.key_strindex:
                self.fail(f"attribute {index} has no key")
            if row.value.WhichOneof("value") is None:
                self.fail(f"attribute {index} has no value")
        for kind in ("mapping", "location"):
            for index, row in enumerate(table(self.request, kind)):
                self.indices(f"{kind} {index}", row)

    def keys(self, where, pairs):
        for pair in pairs:
            if bool(pair.key) == bool(pair.key_strindex):
                self.fail(f"{where} has an attribute with no key, or with two")
            if pair.value.WhichOneof("value") is None:
                self.fail(f"{where} has an attribute {self.reader.key(pair)} without a value")
        self.once(where, [self.reader.key(pair) for pair in pairs])

    def indices(self, where, row):
        if not all(row.attribute_indices):
            self.fail(f"{where} has the attribute 0, which says nothing")
        self.once(where, [self.reader.text(self.request.dictionary.attribute_table[i].key_strindex) for i in row.attribute_indices])

    def once(self, where, keys):
        for key, count in collections.Counter(keys).items():
            if count > 1:
                self.fail(f"{where} has the attribute {key} {count} times")

    def profile(self, profile):
        name, unit = (self.reader.text(i) for i in (profile.sample_type.type_strindex, profile.sample_type.unit_strindex))
        where = f"profile {name or '?'}"
        if not name or not unit:
            self.fail(f"{where}: sample type {name!r} in {unit!r}")
        if not profile.time_unix_nano:
            self.fail(f"{where}: no time")
        if profile.profile_id and (len(profile.profile_id) != 16 or not any(profile.profile_id) or profile.profile_id in self.ids):
            self.fail(f"{where}: the id {profile.profile_id.hex()} is not 16 bytes, or zero, or has been given")
        self.ids.add(bytes(profile.profile_id))
        self.indices(where, profile)
        shapes, identities = set(), set()
        for sample in profile.samples:
            shapes.add((bool(sample.values), bool(sample.timestamps_unix_nano)))
            identity = sample.stack_index, tuple(sorted(sample.attribute_indices)), sample.link_index
            if identity in identities:  # with times, too: they belong into one sample
                self.fail(f"{where}: two samples with stack {sample.stack_index}, attributes {sorted(sample.attribute_indices)}, "
                          f"link {sample.link_index}")
            identities.add(identity)
            self.sample(where, profile, sample)
        if len(shapes) > 1:
            self.fail(f"{where}: its samples have {len(shapes)} shapes")

    def sample(self, where, profile, sample):
        values, times = sample.values, sample.timestamps_unix_nano
        if not values and not times or values and times and len(values) != len(times):
            self.fail(f"{where}: a sample with {len(values)} values and {len(times)} times")
        if not times and len(values) > 1:
            self.fail(f"{where}: a sample with {len(values)} values of no time, which one would say")
        if any(value < 0 for value in values):
            self.fail(f"{where}: a value below 0")
        if any(not profile.time_unix_nano <= time < profile.time_unix_nano + profile.duration_nano for time in times):
            self.fail(f"{where}: a sample at a time that is outside of the profile's")
        if not sample.stack_index:
            self.fail(f"{where}: a sample without a stack")
        self.indices(f"{where}: a sample", sample)


# ---- what it says ----

class Facts(dict):
    """Attributes: {key: value}, or {key: (value, unit)} for one that has a unit. May be a key itself."""

    def __hash__(self):
        return hash(frozenset(self.items()))

    def __eq__(self, other):  # 1 and True are not the same
        return dict.__eq__(self, other) and all(type(value) is type(other[key]) for key, value in self.items())


@dataclasses.dataclass(frozen=True)
class Profile:
    type: str
    unit: str
    scope: tuple  # (name, version)
    begin: int  # Unix time in nanoseconds
    duration: int
    period: tuple  # (type, unit, number)
    attributes: Facts
    samples: tuple

    @property
    def stacks(self):
        """{(Frame, ...): sum of the values}, root first."""
        found = collections.Counter()
        for sample in self.samples:
            found[frames_of_stack(sample.stack)] += value_of(sample)
        return found

    @property
    def sum(self):
        return sum(map(value_of, self.samples))

    @property
    def observations(self):
        """How many there are; where there are no times, one of each sample."""
        return sum(max(len(sample.values), len(sample.times)) for sample in self.samples)

    @property
    def mappings(self):
        return {location.mapping for sample in self.samples for location in sample.stack if location.mapping}


def value_of(sample):
    """Each time without a value counts for 1."""
    return sum(sample.values) if sample.values else len(sample.times)


def frames_of(location):
    """Leaf first, as the lines are: the first was inlined into the next. An address without a name is a frame, too."""
    kind = location.attributes.get("profile.frame.type")
    return [Frame(line.function, line.file, line.line, kind) for line in location.lines] or [Frame(f"{location.address:#x}", "", 0, kind)]


def frames_of_stack(stack):
    return tuple(frame for location in stack for frame in reversed(frames_of(location)))


class Reader:
    """Looks up what indices stand for. Each thing is a plain value, equal to others that say the same."""

    def __init__(self, request):
        self.dictionary, self.known = request.dictionary, {}

    def content(self, kind, index):
        return getattr(self, {"string": "text"}.get(kind, kind))(index)

    def text(self, index):
        return self.dictionary.string_table[index]

    def key(self, pair):
        return self.text(pair.key_strindex) if pair.key_strindex else pair.key

    def value(self, value):
        kind = value.WhichOneof("value")
        if kind == "string_value_strindex":
            return self.text(value.string_value_strindex)
        if kind == "array_value":
            return tuple(self.value(part) for part in value.array_value.values)
        if kind == "kvlist_value":
            return self.facts(value.kvlist_value.values)
        return getattr(value, kind) if kind else None

    def facts(self, pairs):
        return Facts((self.key(pair), self.value(pair.value)) for pair in pairs)

    def facts_at(self, indices):
        return Facts(list(self.attribute(index).items())[0] for index in indices)

    def attribute(self, index):
        row = self.dictionary.attribute_table[index]
        value, unit = self.value(row.value), self.text(row.unit_strindex)
        return Facts({self.text(row.key_strindex): (value, unit) if unit else value})

    def function(self, index):
        row = self.dictionary.function_table[index]
        return (self.text(row.name_strindex), self.text(row.system_name_strindex), self.text(row.filename_strindex), row.start_line)

    def mapping(self, index):
        row = self.dictionary.mapping_table[index]
        return Mapping(self.text(row.filename_strindex), row.memory_start, row.memory_limit, row.file_offset,
                       self.facts_at(row.attribute_indices))

    def location(self, index):
        if index not in self.known:
            row = self.dictionary.location_table[index]
            lines = tuple(Line(*self.function(line.function_index), line.line, line.column) for line in row.lines)
            mapping = self.mapping(row.mapping_index) if row.mapping_index else None
            self.known[index] = Location(lines, row.address, mapping, self.facts_at(row.attribute_indices))
        return self.known[index]

    def stack(self, index):
        """Root first."""
        return tuple(self.location(number) for number in reversed(self.dictionary.stack_table[index].location_indices))

    def link(self, index):
        row = self.dictionary.link_table[index]
        return (row.trace_id.hex(), row.span_id.hex()) if index else None

    def sample(self, sample):
        return Sample(self.stack(sample.stack_index), self.facts_at(sample.attribute_indices), self.link(sample.link_index),
                      tuple(sample.values), tuple(sample.timestamps_unix_nano))

    def profile(self, scope, profile):
        kind, period = profile.sample_type, profile.period_type
        return Profile(
            type=self.text(kind.type_strindex), unit=self.text(kind.unit_strindex), scope=(scope.name, scope.version),
            begin=profile.time_unix_nano, duration=profile.duration_nano,
            period=(self.text(period.type_strindex), self.text(period.unit_strindex), profile.period),
            attributes=self.facts_at(profile.attribute_indices), samples=tuple(map(self.sample, profile.samples)))


def resources(request):
    """A list of Resource: attributes as a dict, and profiles."""
    reader = Reader(request)
    return [Resource(reader.facts(resource.resource.attributes),
                     [reader.profile(scope.scope, profile) for scope in resource.scope_profiles for profile in scope.profiles])
            for resource in request.resource_profiles]


def said(requests):
    """{(attributes of the resource, profile without samples): samples as a set} of a request or a list of them, as a multiset."""
    found = collections.Counter()
    for request in requests if isinstance(requests, (list, tuple)) else [requests]:
        for resource in resources(request):
            for profile in resource.profiles:
                samples = collections.Counter(map(by_time, profile.samples))
                found[resource.attributes, dataclasses.replace(profile, samples=()), frozenset(samples.items())] += 1
    return found


def by_time(sample):
    """The order of its observations does not matter."""
    pairs = sorted(zip(sample.times, sample.values or [1] * len(sample.times))) if sample.times else sorted(sample.values)
    return sample._replace(values=tuple(pairs), times=())


def equal(one, other):
    return said(one) == said(other)
