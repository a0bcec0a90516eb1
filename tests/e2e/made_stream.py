# SPDX-License-Identifier: MIT
"""Writes recordings of programs that never ran, by the words of schemas/stream.md alone: as large as a test wants, in a
moment, and with any process id and date."""

import zlib

from plain_stream import EVENTS, FRAME, FUNCTION, HEADER, MAGIC, NOTE, STRING, SUFFIX, SYNC, THREAD, TICK, number

PROCESS, END = 4, 3
INTERVAL_NS = UNIT_NS = 1_000_000
TICKS = 1000  # of a block
TARGET_ENDED = 1


def text(said):
    return number(len(said.encode())) + said.encode()


def note(kind, *fields):
    data = b"".join(text(field) if isinstance(field, str) else number(field) for field in fields)
    return number(kind << 3 | NOTE) + number(len(data)) + data


def fields(values):
    """The payload of a HEADER or an END."""
    out = b""
    for field, value in values.items():
        data = value.encode() if isinstance(value, str) else number(value)
        out += number(field) + number(len(data)) + data
    return out


class Samples:
    """One tick for each of these stacks, for any number of recordings. A stack has (function, file, line), root first, and for
    code that is not Python's (name, module, address, kind); the module may be empty."""

    def __init__(self, stacks):
        self.numbers, self.counts, self.notes = {}, {}, []
        ticks = [self.tick(stack) for stack in stacks]
        self.count = len(ticks)
        self.blocks = [(at, b"".join(ticks[at:at + TICKS])) for at in range(0, len(ticks), TICKS)]
        self.definitions = b"".join(self.notes)

    def number_of(self, kind, *what):
        if (kind, *what) not in self.numbers:
            self.numbers[kind, *what] = self.counts[kind] = self.counts.get(kind, 0) + 1
            self.notes.append(note(kind, self.counts[kind], *what))
        return self.numbers[kind, *what]

    def frame(self, name, place, position, kind=0):
        names = [said and self.number_of(STRING, said) or 0 for said in (name, place)]
        if not kind:  # no end line and no columns are known
            return self.number_of(FRAME, self.number_of(FUNCTION, *names, 1), position, 0, 0, 0)
        return self.number_of(FRAME, self.number_of(FUNCTION, names[0], 0, 0, kind, names[1]), 0, 0, 0, 0, 0, 0, position)

    def tick(self, stack):
        frames = b"".join(number(self.frame(*frame)) for frame in stack)
        return number(TICK) + number(1 << 3 | SUFFIX) + number(0) + number(len(stack)) + frames


def write(path, samples, *, pid, start_unix_ns, rest_units=1, command="python3.13 app.py"):
    """A recording of a process with one thread, which has these Samples, and ends so long after the last one."""
    process = note(PROCESS, 1, pid, 0, 0x030D00F0, "/usr/bin/python3.13", command, "/srv")
    thread = note(THREAD, 1, 1, pid, 0, 1, 0, "python3.13")
    blocks = [(HEADER, fields({1: 1, 2: "0.1.0", 3: "host", 6: start_unix_ns, 8: INTERVAL_NS, 9: UNIT_NS, 10: "wall",
                               11: "all"}))]
    definitions = process + thread + samples.definitions
    for base, ticks in samples.blocks:
        blocks.append((EVENTS, number(base) + definitions + ticks))
        definitions = b""
    blocks.append((END, fields({1: TARGET_ENDED, 2: samples.count + rest_units, 3: samples.count, 4: samples.count})))
    with open(path, "wb") as file:
        file.write(MAGIC)
        for sequence, (kind, payload) in enumerate(blocks):
            head = SYNC + bytes([kind, 0, 0, 0]) + b"".join(
                size.to_bytes(4, "little") for size in (sequence, len(payload), len(payload)))
            file.write(head + zlib.crc32(head + payload).to_bytes(4, "little") + payload)
