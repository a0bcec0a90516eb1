# SPDX-License-Identifier: MIT
"""Reads a recording made with --compression none, by the words of schemas/stream.md alone: for what no converter shows."""

import collections
import zlib

Frame = collections.namedtuple("Frame", "function file line end_line column end_column instruction base")
MAGIC, SYNC, BLOCK_HEAD = b"\x89pyreel\n", b"\xf5prB", 24
HEADER, EVENTS = 1, 2
TICK, REPEAT, SUFFIX, POP_PUSH, ABSENT, FAILED, NOTE = range(1, 8)
STRING, FUNCTION, FRAME, THREAD, STATUS, STANDS, MEASURE, THREAD_COLLECTION, THREAD_CALLBACK = 1, 2, 3, 6, 11, 16, 20, 22, 30
TRACE_HIGH, TRACE_LOW, SPAN = SPAN_PARTS = (32, 33, 34)
Measure = collections.namedtuple("Measure", "process time_ns resident_bytes cpu_ns recorder_cpu_ns")


def number(value):
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes(out) + bytes([value])


def signed(value):
    return value >> 1 ^ -(value & 1)


class Bytes:
    def __init__(self, data):
        self.data, self.at = data, 0

    def number(self):
        value = shift = 0
        while True:
            byte = self.data[self.at]
            self.at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    def signed(self):
        return signed(self.number())

    def bytes(self):
        size = self.number()
        self.at += size
        return self.data[self.at - size:self.at]

    def numbers(self, count):
        return [self.number() for _ in range(count)]

    def __bool__(self):
        return self.at < len(self.data)


def blocks(data):
    assert data[:8] == MAGIC
    at = 8
    while at < len(data):
        head, size = data[at:at + BLOCK_HEAD], int.from_bytes(data[at + 12:at + 16], "little")
        stored = data[at + BLOCK_HEAD:at + BLOCK_HEAD + size]
        assert head[5] == 0, "record with --compression none"
        assert zlib.crc32(head[:20] + stored) == int.from_bytes(head[20:24], "little")
        yield head[4], Bytes(stored)
        at += BLOCK_HEAD + size


def with_header_field(data, number_of_field, change):
    """The bytes of a recording with another number in a field of its header: what `change` makes of the one there."""
    head, size = bytearray(data[8:8 + BLOCK_HEAD]), int.from_bytes(data[20:24], "little")
    assert (head[4], head[5]) == (HEADER, 0), "a plain HEADER block"
    fields, changed = Bytes(data[8 + BLOCK_HEAD:8 + BLOCK_HEAD + size]), b""
    while fields:
        field, content = fields.number(), fields.bytes()
        if field == number_of_field:
            content = number(change(Bytes(content).number()))
        changed += number(field) + number(len(content)) + content
    head[12:16] = head[16:20] = len(changed).to_bytes(4, "little")
    head[20:24] = zlib.crc32(head[:20] + changed).to_bytes(4, "little")
    return data[:8] + head + changed + data[8 + BLOCK_HEAD + size:]


def started_later(data, later_ns=1):
    """As if a recorder had started so much later by CLOCK_MONOTONIC: another recording."""
    return with_header_field(data, 7, lambda start_ns: start_ns + later_ns)


def dated(data, start_unix_ns):
    return with_header_field(data, 6, lambda _: start_unix_ns)


def whole_size(data):
    """Of a recording that is torn: where its last whole block ends."""
    at = len(MAGIC)
    while data[at:at + 4] == SYNC:
        size = BLOCK_HEAD + int.from_bytes(data[at + 12:at + 16], "little")
        checksum = int.from_bytes(data[at + 20:at + 24], "little")
        if zlib.crc32(data[at:at + 20] + data[at + BLOCK_HEAD:at + size]) != checksum:
            break
        at += size
    return at


class Recording:
    """stacks: Counter of the samples with each stack, a tuple of Frames, root first; frames: all that were defined;
    times: Counter of the nanoseconds that the samples of each thread stand for; tids: thread -> tid;
    looks: Counter of the ticks with each set of (thread, status); measures: the Measures, None for what is not known;
    collections: (time in ns, generation) of each tick in which a thread collects garbage of a known generation;
    spans: Counter of the samples with each (stack, span), the latter (trace, span) in hexadecimal digits or None;
    callbacks: (thread, since when its loop runs one callback) -> the last tick that says so; ticks: those with samples.
    Both are times in ns."""

    def __init__(self, path):
        self.strings, self.functions, self.frames = {0: ""}, {}, {}
        self.stacks, self.times, self.looks = collections.Counter(), collections.Counter(), collections.Counter()
        self.spans = collections.Counter()
        self.tids, self.measures, self.collections, self.callbacks, self.ticks = {}, [], [], {}, []
        with open(path, "rb") as file:
            data = file.read()
        for kind, payload in blocks(data):
            if kind == HEADER:
                self.header = dict(self.fields(payload))
            if kind == EVENTS:
                self.read(payload)
        numbered, self.stacks = self.stacks, collections.Counter()
        for stack, samples in numbered.items():  # frames that differ by their address alone are one Frame
            self.stacks[tuple(self.frames[number] for number in stack)] += samples
        numbered, self.spans = self.spans, collections.Counter()
        for (stack, span), samples in numbered.items():
            self.spans[tuple(self.frames[number] for number in stack), span] += samples
        self.frames = list(self.frames.values())

    @staticmethod
    def fields(payload):
        while payload:
            yield payload.number(), payload.bytes()

    def read(self, payload):
        threads, failed = {}, set()  # those that are sampled
        statuses = {}
        stands = interval = Bytes(self.header[8]).number()
        unit = Bytes(self.header[9]).number()
        time = payload.number()  # in units, of the latest tick: first the base
        collecting, measured, in_callback = {}, {}, {}
        spans = collections.defaultdict(dict)

        def span_of(thread):
            high, low, span = (spans[thread].get(part, 0) for part in SPAN_PARTS)
            return (f"{high:016x}{low:016x}", f"{span:016x}") if high or low or span else None

        def due():
            count = time * unit // interval  # a multiple that is not too late: units are rounded down
            while count * interval // unit <= time:
                count += 1
            return count * interval // unit

        def end_tick():
            sampled = [] if 0 in failed else threads.keys() - failed
            self.stacks.update(threads[thread] for thread in sampled)
            self.spans.update((threads[thread], span_of(thread)) for thread in sampled)
            self.times.update({thread: stands for thread in sampled})
            self.looks[frozenset((thread, statuses.get(thread, 0)) for thread in sampled)] += 1
            self.collections += [(time * unit, collecting[thread] - 1) for thread in sampled if collecting.get(thread)]
            self.callbacks.update({(thread, in_callback[thread] * unit): time * unit for thread in sampled
                                   if in_callback.get(thread)})
            if sampled:
                self.ticks.append(time * unit)
            failed.clear()

        asleep, ticked = {}, False
        while payload:
            tag = payload.number()
            kind, argument = tag & 7, tag >> 3
            if kind in (TICK, REPEAT):
                if ticked:
                    end_tick()
                ticked = True
                time = due() + (signed(argument) if kind == TICK else 0)
                for _ in range(argument - 1 if kind == REPEAT else 0):
                    end_tick()
                    time = due()
            elif kind in (SUFFIX, POP_PUSH):
                before = threads.pop(argument, asleep.pop(argument, ()))
                cut, n = payload.numbers(2)
                kept = before[:cut] if kind == SUFFIX else before[:len(before) - cut]
                threads[argument] = kept + tuple(payload.numbers(n))
            elif kind == ABSENT:
                asleep[argument] = threads.pop(argument)
            elif kind == FAILED:
                payload.number()
                failed.add(argument)
            elif kind == NOTE and argument == STANDS:
                stands = Bytes(payload.bytes()).number()
            elif kind == NOTE and argument == THREAD_COLLECTION:
                thread, generation_plus_1 = Bytes(payload.bytes()).numbers(2)
                collecting[thread] = generation_plus_1
            elif kind == NOTE and argument == THREAD_CALLBACK:
                thread, units = Bytes(payload.bytes()).numbers(2)
                in_callback[thread] = units
            elif kind == NOTE and argument in SPAN_PARTS:
                thread, part = Bytes(payload.bytes()).numbers(2)
                spans[thread][argument] = part
            elif kind == NOTE and argument == MEASURE:
                fields = Bytes(payload.bytes())
                process, since = fields.numbers(2)
                codes = [before + fields.signed() for before in measured.get(process, (0, 0, 0))]
                measured[process] = codes
                amounts = [(code - 1) * size if code else None for code, size in zip(codes, (4096, unit, unit))]
                self.measures.append(Measure(process, (time + since) * unit, *amounts))
            elif kind == NOTE and argument == STATUS:
                thread, status = Bytes(payload.bytes()).numbers(2)
                statuses[thread] = status
            elif kind == NOTE:
                self.note(argument, Bytes(payload.bytes()))
            else:
                raise AssertionError(f"record of kind {kind}")
        if ticked:
            end_tick()

    def note(self, kind, fields):
        if kind == THREAD:
            number, _, tid = fields.numbers(3)
            self.tids[number] = tid
        elif kind == STRING:
            number = fields.number()
            self.strings[number] = fields.bytes().decode()
        elif kind == FUNCTION:
            number, name, file, _ = fields.numbers(4)
            self.functions[number] = self.strings[name], self.strings[file]
        elif kind == FRAME:
            number, function, line = fields.numbers(3)
            end_line = line + fields.signed()
            column, end_column = fields.numbers(2)
            instruction, base = fields.numbers(2) if fields else (0, 0)
            self.frames[number] = Frame(*self.functions[function], line, end_line, column - 1, end_column - 1,
                                        self.strings[instruction], self.strings[base])
