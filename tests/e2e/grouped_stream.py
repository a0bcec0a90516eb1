# SPDX-License-Identifier: MIT
"""Reads grouped payloads by the words of schemas/stream.md alone ("Grouped payloads"), and makes a recording plain."""
import ctypes
import zlib

from plain_stream import ABSENT, BLOCK_HEAD, EVENTS, FAILED, MAGIC, NOTE, POP_PUSH, REPEAT, SUFFIX, SYNC, TICK, Bytes, number

GROUPED = 2
LONG = (1 << 64) - 1
DEPTH = 4096
COLUMNS = ("SHAPE JITTER REPEAT THREAD KEEP POP COUNT FRAME DISTANCE LEFT CAUSE STATUS_THREAD STATUS_BITS STATUS_CPU MISSED "
           "BEHIND NOTE FRAME_FUNCTION FRAME_LINE FRAME_END_LINE FRAME_COLUMN FRAME_END_COLUMN BYTES").split()
ARGUMENTS = {TICK: "JITTER", REPEAT: "REPEAT", SUFFIX: "THREAD", POP_PUSH: "THREAD", ABSENT: "THREAD", FAILED: "THREAD"}

# The fields of notes, each as the document writes it: how its column holds it (=, D, T), and the column.
FIELDS = {kind: [field.split() for field in fields.split("; ")] for kind, fields in {
    1: "D NOTE",
    2: "D NOTE; D NOTE; D NOTE; = NOTE",
    3: "D NOTE; D FRAME_FUNCTION; D FRAME_LINE; = FRAME_END_LINE; = FRAME_COLUMN; = FRAME_END_COLUMN",
    6: "D NOTE; = NOTE; D NOTE; = NOTE; = NOTE; D NOTE",
    8: "D NOTE; D NOTE",
    9: "= MISSED",
    11: "= STATUS_THREAD; = STATUS_BITS; T STATUS_CPU",
    12: "= NOTE; = NOTE; D NOTE; T NOTE",
    13: "D NOTE; = NOTE; D NOTE",
    14: "= NOTE; = NOTE"}.items()}


def signed(value):
    return value >> 1 ^ -(value & 1)


def without_zstd(stored):
    """The contents of the one frame, which gives its size."""
    zstd = ctypes.CDLL("libzstd.so.1")
    zstd.ZSTD_getFrameContentSize.restype = ctypes.c_ulonglong
    zstd.ZSTD_decompress.restype = ctypes.c_size_t
    size = zstd.ZSTD_getFrameContentSize(stored, ctypes.c_size_t(len(stored)))
    room = ctypes.create_string_buffer(size)
    assert zstd.ZSTD_decompress(room, ctypes.c_size_t(size), stored, ctypes.c_size_t(len(stored))) == size
    return room.raw


class Stack:
    def __init__(self):
        self.frames, self.depth = [0] * DEPTH, 0

    def at(self, depth):
        return self.frames[depth - 1] if 1 <= depth <= DEPTH else 0

    def push(self, frame):
        if self.depth < DEPTH:
            self.frames[self.depth] = frame
        self.depth += 1


class Payload:
    def __init__(self, grouped):
        self.out, self.stacks, self.recent, self.fields = bytearray(), {}, {}, {}
        data = Bytes(grouped)
        self.put(data.number())
        sizes = data.numbers(len(COLUMNS))
        self.columns = {}
        for name, size in zip(COLUMNS, sizes):
            self.columns[name] = Bytes(grouped[data.at:data.at + size])
            data.at += size
        assert data.at == len(grouped)
        while self.columns["SHAPE"]:
            self.record()
        assert not any(self.columns.values())

    def take(self, column):
        return self.columns[column].number()

    def put(self, *values):
        for value in values:
            self.out += number(value)

    def record(self):
        shape = self.take("SHAPE")
        kind = shape & 7
        if kind == NOTE:
            self.put(shape)
            self.note(shape >> 3)
            return
        argument = self.take(ARGUMENTS[shape])
        self.put(argument << 3 | kind)
        if kind == FAILED:
            self.put(self.take("CAUSE"))
        elif kind in (SUFFIX, POP_PUSH):
            stack = self.stacks.setdefault(argument & 63, Stack())
            cut = self.take("KEEP" if kind == SUFFIX else "POP")
            self.put(cut)
            stack.depth = min(stack.depth, cut) if kind == SUFFIX else max(0, stack.depth - cut)
            self.frames(stack)

    def frames(self, stack):
        left = self.take("COUNT")
        self.put(left)
        while left > 0:
            code = self.take("FRAME")
            if code != 0:
                self.put(self.called(stack, code))
                left -= 1
                continue
            distance, behind = self.take("DISTANCE"), self.take("LEFT")
            self.put(0, distance, left - behind)
            for _ in range(left - behind):
                stack.push(stack.at(stack.depth + 1 - distance) if 1 <= distance <= stack.depth else 0)
            left = behind

    def called(self, stack, code):
        caller = stack.at(stack.depth)
        recent = self.recent.setdefault(caller & 1023, [])
        frame = recent.pop(code - 1) if code <= 4 else caller + 1 + signed(code - 5)
        recent.insert(0, frame)
        del recent[4:]
        stack.push(frame)
        return frame

    def note(self, kind):
        body, thread = bytearray(), 0
        for field, (how, column) in enumerate(FIELDS.get(kind, [])):
            value, last = self.take(column), (kind, field, thread if how == "T" else None)
            if how != "=":
                value = self.fields[last] = self.fields.get(last, 0) + signed(value) & LONG
            if field == 0:
                thread = value & 63
            body += number(value)
        size, behind = self.take("BEHIND"), self.columns["BYTES"]
        body += behind.data[behind.at:behind.at + size]
        behind.at += size
        self.put(len(body))
        self.out += body


def without_grouped(data):
    """The same recording, its grouped blocks plain."""
    out, at = bytearray(MAGIC), len(MAGIC)
    while at < len(data):
        head, size = data[at:at + BLOCK_HEAD], int.from_bytes(data[at + 12:at + 16], "little")
        stored = data[at + BLOCK_HEAD:at + BLOCK_HEAD + size]
        at += BLOCK_HEAD + size
        if head[5] == GROUPED:
            assert head[4] == EVENTS
            stored = bytes(Payload(without_zstd(stored)).out)
            assert len(stored) == int.from_bytes(head[16:20], "little")
            head = SYNC + bytes([EVENTS, 0]) + head[6:12] + len(stored).to_bytes(4, "little") + head[16:20]
            head += zlib.crc32(head + stored).to_bytes(4, "little")
        out += head + stored
    return bytes(out)
