# SPDX-License-Identifier: MIT
"""What reads OTLP profiles for the other tests finds each thing that is wrong with them."""

import collections
import gzip
import itertools
import re

import pytest

import made_otlp
import otlp_check
from made_otlp import BEGIN, MAIN, READ, SECOND, WORK

pytestmark = pytest.mark.short


def profiles(request):
    return request.resource_profiles[0].scope_profiles[0].profiles


def first(request):
    return profiles(request)[0]


# Each breaks a right request in one way; what is said of it begins the line.
VIOLATIONS = {}


def violation(words, made=made_otlp.small):
    def keep(function):
        VIOLATIONS[function.__name__] = made, function, words
        return function
    return keep


for kind in otlp_check.TABLES:
    def empty(request, kind=kind):
        del otlp_check.table(request, kind)[:]

    VIOLATIONS[f"no_{kind}s"] = made_otlp.small, empty, f"the table of {kind}s is empty"

NOT_ZERO = {"mapping": {"memory_start": 1}, "location": {"address": 1}, "function": {"start_line": 1}, "link": {"span_id": b"12345678"},
            "attribute": {"key_strindex": 1}, "stack": {"location_indices": [1]}}
for kind, fields in NOT_ZERO.items():
    def begin(request, kind=kind, fields=fields):
        row = otlp_check.table(request, kind)[0]
        row.MergeFrom(type(row)(**fields))

    VIOLATIONS[f"first_{kind}_is_not_zero"] = made_otlp.small, begin, f"element 0 of the table of {kind}s is not the zero value"


@violation("element 0 of the table of strings is not the zero value")
def first_text_is_not_empty(request):
    request.dictionary.string_table[0] = "x"


# The last element of each table is in use; what holds the index of one gets one too many.
INDICES = {
    "string": lambda request, index: setattr(request.dictionary.function_table[1], "filename_strindex", index),
    "mapping": lambda request, index: setattr(request.dictionary.location_table[1], "mapping_index", index),
    "location": lambda request, index: request.dictionary.stack_table[1].location_indices.append(index),
    "function": lambda request, index: setattr(request.dictionary.location_table[1].lines[0], "function_index", index),
    "link": lambda request, index: setattr(first(request).samples[0], "link_index", index),
    "attribute": lambda request, index: first(request).attribute_indices.append(index),
    "stack": lambda request, index: setattr(first(request).samples[0], "stack_index", index),
}
for (kind, put), below in itertools.product(INDICES.items(), (False, True)):
    def point(request, kind=kind, put=put, below=below):
        put(request, -1 if below else len(otlp_check.table(request, kind)))

    VIOLATIONS[f"{kind}_{'below' if below else 'behind'}_the_table"] = made_otlp.small, point, rf".*: {kind} -?\d+ does not exist"


@violation(r"the resources: string 99 does not exist")
def text_of_a_resource_that_is_not_there(request):
    request.resource_profiles[0].resource.attributes[0].value.string_value_strindex = 99


for kind in otlp_check.TABLES:
    def orphan(request, kind=kind):
        rows = otlp_check.table(request, kind)
        rows.append("nobody") if kind == "string" else rows.add()

    VIOLATIONS[f"orphan_in_the_{kind}s"] = made_otlp.small, orphan, rf"nothing refers to {kind} \d+ \(1 such\)"


@violation(r"nothing refers to stack \d+ ")
def what_only_orphans_refer_to_is_one(request):
    """Nothing of it is said of its location, which another stack has."""
    request.dictionary.stack_table.add(location_indices=[1, 1])


@violation("string .* says the same as string")
def text_twice(request):
    table = request.dictionary.string_table
    table.append(table[1])
    first(request).period_type.type_strindex = len(table) - 1


@violation("function .* says the same as function")
def function_twice(request):
    table = request.dictionary.function_table
    table.add().CopyFrom(table[1])
    request.dictionary.location_table[1].lines.add(function_index=len(table) - 1)


@violation("stack .* says the same as stack")
def stack_twice(request):
    table = request.dictionary.stack_table
    table.add().CopyFrom(table[1])
    first(request).samples[0].stack_index = len(table) - 1


@violation("location .* says the same as location")
def location_twice(request):
    table = request.dictionary.location_table
    table.add().CopyFrom(table[1])
    request.dictionary.stack_table[1].location_indices[-1] = len(table) - 1


@violation("link .* says the same as link")
def link_twice(request):
    table = request.dictionary.link_table
    table.add().CopyFrom(table[1])
    first(request).samples[0].link_index = len(table) - 1


@violation("attribute .* says the same as attribute")
def attribute_twice_in_two_forms(request):
    table, texts = request.dictionary.attribute_table, request.dictionary.string_table
    index = next(i for i, row in enumerate(table) if row.value.string_value == "cpython")
    texts.append("cpython")
    table.add(key_strindex=table[index].key_strindex).value.string_value_strindex = len(texts) - 1
    request.dictionary.location_table[1].attribute_indices[0] = len(table) - 1


@violation("mapping .* says the same as mapping")
def mapping_twice(request):
    for location in request.dictionary.location_table[1:3]:
        request.dictionary.mapping_table.add(memory_start=1, memory_limit=2)
        location.mapping_index = len(request.dictionary.mapping_table) - 1


@violation("mapping 1 ends before it begins")
def mapping_backwards(request):
    request.dictionary.mapping_table.add(memory_start=2, memory_limit=1)
    request.dictionary.location_table[1].mapping_index = 1


@violation("location 1 is outside of its mapping")
def address_elsewhere(request):
    request.dictionary.mapping_table.add(memory_start=1, memory_limit=2)
    request.dictionary.location_table[1].mapping_index, request.dictionary.location_table[1].address = 1, 2


@violation(r"function \d+ has no name")
def function_without_a_name(request):
    function = request.dictionary.function_table[-1]
    function.name_strindex, function.filename_strindex = 0, function.name_strindex


@violation(r"location \d+ has neither a line nor an address")
def location_of_nothing(request):
    request.dictionary.location_table.add().attribute_indices.append(1)
    request.dictionary.stack_table[1].location_indices.append(len(request.dictionary.location_table) - 1)


@violation(r"location 1 has a line without a function")
def line_of_nothing(request):
    request.dictionary.location_table[1].lines.add(line=3)


@violation(r"location 1 has a line without a function, or below 0")
def line_below_zero(request):
    request.dictionary.location_table[1].lines[0].line = -3


@violation(r"stack 1 has no location, or one that says nothing")
def stack_with_a_zero(request):
    request.dictionary.stack_table[1].location_indices.append(0)


@violation(r"stack \d+ has a frame of the kernel that calls others: it is not leaf first")
def root_first(request):
    for stack in request.dictionary.stack_table:
        stack.location_indices[:] = reversed(stack.location_indices)


@violation(r"stack \d+ has frames of the kinds \['martian'\]")
def unknown_kind(request):
    for row in request.dictionary.attribute_table:
        if row.value.string_value == "cpython":
            row.value.string_value = "martian"


@violation(r"profile \?: sample type '' in ''")
def no_sample_type(request):
    profiles(request).add(time_unix_nano=BEGIN)


@violation("profile samples: sample type 'samples' in ''")
def no_unit(request):
    first(request).sample_type.unit_strindex = 0
    profiles(request)[1].period_type.unit_strindex = list(request.dictionary.string_table).index("count")


@violation("profile samples: no time")
def no_time(request):
    first(request).time_unix_nano = 0


@violation("profile samples: the id 00000000000000000000000000000000 is not 16 bytes, or zero")
def zero_id(request):
    first(request).profile_id = bytes(16)


@violation("profile wall: the id 31.* is not 16 bytes, or zero, or has been given")
def id_twice(request):
    for profile in profiles(request):
        profile.profile_id = b"1234567890123456"


@violation("profile samples: its samples have 2 shapes")
def values_beside_times(request):
    sample = first(request).samples[0]
    del sample.values[:]
    sample.timestamps_unix_nano.append(BEGIN)


@violation("profile samples: a sample with 1 values and 2 times")
def more_times_than_values(request):
    for sample in first(request).samples:
        sample.timestamps_unix_nano.extend([BEGIN, BEGIN + 1])


@violation("profile samples: a sample with 0 values and 0 times", made_otlp.timed)
def sample_of_nothing(request):
    del first(request).samples[0].timestamps_unix_nano[:]


@violation("profile samples: a sample with 2 values of no time")
def values_that_were_not_added_up(request):
    first(request).samples[0].values.append(1)


@violation("profile samples: a value below 0")
def value_below_zero(request):
    first(request).samples[0].values[0] = -1


@violation(r"profile samples: two samples with stack 1, attributes \[\d+, \d+\], link 0")
def sample_twice(request):
    sample = first(request).samples.add()
    sample.CopyFrom(first(request).samples[0])
    sample.attribute_indices[:] = reversed(sample.attribute_indices)


@violation(r"profile samples: two samples with stack 1, ", made_otlp.timed)
def sample_of_times_twice(request):
    first(request).samples.add().CopyFrom(first(request).samples[0])


@violation("profile samples: a sample at a time that is outside", made_otlp.timed)
def before_its_profile(request):
    first(request).samples[0].timestamps_unix_nano[0] -= 1


@violation("profile samples: a sample at a time that is outside", made_otlp.timed)
def at_the_end_of_its_profile(request):
    first(request).samples[0].timestamps_unix_nano[0] = BEGIN + 10 * SECOND


@violation("profile samples: a sample without a stack")
def no_stack(request):
    first(request).samples[0].stack_index = 0


@violation("profile samples: a sample has the attribute thread.id 2 times")
def two_threads(request):
    sample = first(request).samples[0]
    sample.attribute_indices.extend(set(first(request).samples[1].attribute_indices) - set(sample.attribute_indices))


@violation("profile samples: a sample has the attribute 0")
def attribute_zero(request):
    first(request).samples[0].attribute_indices.append(0)


@violation("a resource has the attribute service.name 2 times")
def two_names(request):
    attributes = request.resource_profiles[0].resource.attributes
    attributes.add().CopyFrom(attributes[0])


@violation("a resource has an attribute with no key, or with two")
def two_keys(request):
    request.resource_profiles[0].resource.attributes[0].key_strindex = 1


@violation("a scope has an attribute x without a value")
def no_value(request):
    request.resource_profiles[0].scope_profiles[0].scope.attributes.add(key="x")


@violation(r"attribute \d+ has no value")
def attribute_without_a_value(request):
    request.dictionary.attribute_table[1].ClearField("value")


@violation(r"attribute \d+ has no key")
def attribute_without_a_key(request):
    row = request.dictionary.attribute_table[1]
    row.key_strindex, row.unit_strindex = 0, row.key_strindex


@violation("4 bytes of fields that the protocol does not have")
def unknown_field(request):
    first(request).MergeFromString(bytes([0xF8, 0x7F, 0x96, 0x01]))  # field 2047, a number


@pytest.mark.parametrize("name", VIOLATIONS)
def test_what_is_wrong_is_found(name):
    made, violate, words = VIOLATIONS[name]
    request = made().request
    assert otlp_check.check(request) == []
    violate(request)
    problems = otlp_check.check(request)
    assert any(re.match(words, problem) for problem in problems), problems


# ---- what it says ----

def test_what_a_request_says():
    (resource,) = otlp_check.resources(made_otlp.small().request)
    assert resource.attributes == {"service.name": "web", "process.pid": 41, "process.runtime.version": "3.13.0"}
    samples, wall = resource.profiles
    assert (samples.type, samples.unit, wall.type, wall.unit, samples.scope) == ("samples", "count", "wall", "nanoseconds", ("pyreel", ""))
    main, work, read = (otlp_check.Frame(*frame) for frame in (MAIN, WORK, READ))
    assert samples.stacks == collections.Counter({(main, work): 5, (main, work, read): 1})
    assert (samples.sum, wall.sum, samples.observations) == (6, 60_000_000, 3)
    assert (samples.begin, samples.duration) == (BEGIN, 10 * SECOND)
    assert [sample.attributes["thread.name"] for sample in samples.samples] == ["MainThread", "wörker", "wörker"]
    assert [sample.link for sample in samples.samples] == [None, ("0102030405060708090a0b0c0d0e0f10", "0102030405060708"), None]


def test_a_time_without_a_value_counts_for_one():
    ((_, (profile,)),) = otlp_check.resources(made_otlp.timed().request)
    assert profile.sum == profile.observations == 4
    assert sorted(profile.stacks.values()) == [1, 3]


def test_inlined_calls_are_frames_and_an_address_is_one():
    made = made_otlp.Made()
    profile = made.profile(made.resource(service_name="web"), "samples", "count")
    outer, inner = (made.element("function", name_strindex=made.text(name)) for name in ("outer", "inner"))
    mapping = made.element("mapping", memory_start=0x1000, memory_limit=0x2000, filename_strindex=made.text("/lib/libc.so.6"))
    lines = [made.messages.Line(function_index=function, line=1) for function in (inner, outer)]
    inlined = made.element("location", mapping_index=mapping, address=0x1010, lines=lines)
    bare = made.element("location", mapping_index=mapping, address=0x1020)
    made.sample(profile, made.element("stack", location_indices=[bare, inlined]), [1])
    assert otlp_check.check(made.request) == []
    ((_, (profile,)),) = otlp_check.resources(made.request)
    (stack,) = profile.stacks
    assert [frame.function for frame in stack] == ["outer", "inner", "0x1020"]
    assert {mapping.file for mapping in profile.mappings} == {"/lib/libc.so.6"}


# ---- two that say the same ----

def by_reference(request):
    """As the Collector hands it on: keys and texts are in the dictionary, whose texts are in another order."""
    dictionary, made = request.dictionary, type(request)()
    made.CopyFrom(request)
    added = {"service.name", "web", "process.pid", "process.runtime.version", "3.13.0"}
    texts = ["", *sorted((added | set(dictionary.string_table)) - {""}, reverse=True)]
    rename(made, [texts.index(text) for text in dictionary.string_table])
    made.dictionary.string_table[:] = texts
    for pair in made.resource_profiles[0].resource.attributes:
        pair.key_strindex = texts.index(pair.key)
        pair.ClearField("key")
        if pair.value.HasField("string_value"):
            pair.value.string_value_strindex = texts.index(pair.value.string_value)
    return made


def rename(message, numbers):
    for field, value in message.ListFields():
        if field.name.endswith("_strindex"):
            setattr(message, field.name, numbers[value])
        elif field.message_type:
            for part in [value] if hasattr(value, "ListFields") else value:
                rename(part, numbers)


def test_references_say_what_texts_say():
    request = made_otlp.small().request
    other = by_reference(request)
    assert otlp_check.check(other) == [] and request.SerializeToString() != other.SerializeToString()
    assert otlp_check.resources(other)[0].attributes["service.name"] == "web"
    assert otlp_check.equal(request, other)


def test_requests_are_equal_in_any_order_and_any_number():
    web, jobs = made_otlp.small("web").request, made_otlp.small("jobs").request
    assert not otlp_check.equal(web, jobs)
    assert otlp_check.equal([web, jobs], [jobs, web])
    assert not otlp_check.equal([web, web], [web])
    other = made_otlp.small().request
    first(other).samples.sort(key=lambda sample: -sample.stack_index)
    assert list(first(other).samples) != list(first(web).samples) and otlp_check.equal(web, other)


def changed_value(request):
    first(request).samples[0].values[0] += 1


def changed_begin(request):
    first(request).time_unix_nano += 1


def changed_line(request):
    request.dictionary.location_table[1].lines[0].line += 1


def changed_thread(request):
    next(row for row in request.dictionary.attribute_table if row.value.int_value == 41).value.int_value = 43


def changed_name(request):
    request.resource_profiles[0].resource.attributes[0].value.string_value += "x"


def changed_link(request):
    first(request).samples[1].link_index = 0


@pytest.mark.parametrize("change", [changed_value, changed_begin, changed_line, changed_thread, changed_name, changed_link])
def test_requests_that_differ_are_not_equal(change):
    one, other = made_otlp.small().request, made_otlp.small().request
    change(other)
    assert not otlp_check.equal(one, other)


def test_a_number_is_not_a_truth():
    one, other = made_otlp.small().request, made_otlp.small().request
    one.resource_profiles[0].resource.attributes[0].value.int_value = 1
    other.resource_profiles[0].resource.attributes[0].value.bool_value = True
    assert not otlp_check.equal(one, other)


# ---- files ----

def test_files_are_plain_or_gzip(tmp_path):
    request = made_otlp.small().request
    data = request.SerializeToString()
    for name, content in ("plain", data), ("gzip", gzip.compress(data)):
        (tmp_path / name).write_bytes(content)
        assert otlp_check.load(tmp_path / name) == request


@pytest.mark.parametrize("words, damage", {
    "no ExportProfilesServiceRequest": lambda data: data[:-1],
    "broken gzip": lambda data: gzip.compress(data)[:-8] + bytes(8),  # its checksum
    "gzip that is cut off": lambda data: gzip.compress(data)[:-4],
    "or has something behind its end": lambda data: 2 * gzip.compress(data),
}.items())
def test_what_is_no_request_is_refused(tmp_path, words, damage):
    (tmp_path / "bad").write_bytes(damage(made_otlp.small().request.SerializeToString()))
    with pytest.raises(otlp_check.Malformed, match=words):
        otlp_check.load(tmp_path / "bad")
