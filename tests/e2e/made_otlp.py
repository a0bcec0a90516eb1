# SPDX-License-Identifier: MIT
"""OTLP profiles made by hand, for the tests of what reads, sends and receives them."""

import otlp_check

BEGIN = 1_800_000_000_000_000_000  # Unix time in nanoseconds
SECOND = 1_000_000_000


class Made:
    """A request with the strict dictionary: what is asked for twice is in it once.

    Frames are (function, file, line, kind), root first; attributes are dicts."""

    def __init__(self):
        self.messages = otlp_check.messages()
        self.request = self.messages.ExportProfilesServiceRequest()
        self.seen = {}
        for kind in otlp_check.TABLES:
            rows = otlp_check.table(self.request, kind)
            rows.append("") if kind == "string" else rows.add()

    def element(self, kind, **fields):
        """The index of an element, which is added when it is new."""
        key = kind, repr(sorted(fields.items()))
        rows = otlp_check.table(self.request, kind)
        if key not in self.seen:
            self.seen[key] = len(rows)
            rows.append(rows[0].__class__(**fields))
        return self.seen[key]

    def text(self, text):
        if not text:
            return 0
        if ("string", text) not in self.seen:
            self.seen["string", text] = len(self.request.dictionary.string_table)
            self.request.dictionary.string_table.append(text)
        return self.seen["string", text]

    def value(self, value):
        kind = {str: "string_value", int: "int_value", bool: "bool_value"}[type(value)]
        return self.messages.AnyValue(**{kind: value})

    def attributes(self, facts):
        return [self.element("attribute", key_strindex=self.text(key), value=self.value(value)) for key, value in facts.items()]

    def stack(self, *frames):
        return self.element("stack", location_indices=[self.location(*frame) for frame in reversed(frames)])

    def location(self, function, file, line, kind):
        function = self.element("function", name_strindex=self.text(function), filename_strindex=self.text(file))
        return self.element("location", lines=[self.messages.Line(function_index=function, line=line)],
                            attribute_indices=self.attributes({"profile.frame.type": kind}))

    def link(self, trace, span):
        return self.element("link", trace_id=bytes.fromhex(trace), span_id=bytes.fromhex(span))

    def resource(self, **facts):
        resource = self.request.resource_profiles.add()
        for key, value in facts.items():
            resource.resource.attributes.add(key=key.replace("_", "."), value=self.value(value))
        resource.scope_profiles.add().scope.name = "pyreel"
        return resource

    def profile(self, resource, name, unit):
        profile = resource.scope_profiles[0].profiles.add(time_unix_nano=BEGIN, duration_nano=10 * SECOND)
        profile.sample_type.type_strindex, profile.sample_type.unit_strindex = self.text(name), self.text(unit)
        return profile

    def sample(self, profile, stack, values=(), times=(), link=0, **facts):
        return profile.samples.add(stack_index=stack, values=values, timestamps_unix_nano=[BEGIN + time for time in times], link_index=link,
                                   attribute_indices=self.attributes({key.replace("_", "."): value for key, value in facts.items()}))


MAIN, WORK, READ = ("<module>", "/srv/app.py", 3, "cpython"), ("work", "/srv/app.py", 7, "cpython"), ("vfs_read", "", 0, "kernel")


def small(name="web"):
    """One process with two threads, of samples and of their wall time."""
    made = Made()
    resource = made.resource(service_name=name, process_pid=41, process_runtime_version="3.13.0")
    link = made.link("0102030405060708090a0b0c0d0e0f10", "0102030405060708")
    for kind, unit, factor in ("samples", "count", 1), ("wall", "nanoseconds", 10_000_000):
        profile = made.profile(resource, kind, unit)
        made.sample(profile, made.stack(MAIN, WORK), [3 * factor], thread_id=41, thread_name="MainThread")
        made.sample(profile, made.stack(MAIN, WORK), [2 * factor], thread_id=42, thread_name="wörker", link=link)
        made.sample(profile, made.stack(MAIN, WORK, READ), [factor], thread_id=42, thread_name="wörker")
    return made


def timed():
    """The same stack at three times, and another at one, without values."""
    made = Made()
    profile = made.profile(made.resource(service_name="web"), "samples", "count")
    made.sample(profile, made.stack(MAIN, WORK), times=[0, SECOND, 2 * SECOND])
    made.sample(profile, made.stack(MAIN), times=[3 * SECOND])
    return made
