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


def fields(**values):
    """The payload of a HEADER or an END; the names of the values are _ and the number of the field."""
    out = b""
    for name, value in values.items():
        data = value.encode() if isinstance(value, str) else number(value)
        out += number(int(name[1:])) + number(len(data)) + data
    return out


class Definitions:
    """Numbers of strings, functions and frames, and the notes that define them."""

    def __init__(self):
        self.numbers, self.counts, self.notes = {}, {}, []

    def number_of(self, kind, *what):
        if (kind, *what) not in self.numbers:
            self.numbers[kind, *what] = self.counts[kind] = self.counts.get(kind, 0) + 1
            self.notes.append(note(kind, self.counts[kind], *what))
        return self.numbers[kind, *what]

    def frame(self, function, file, line):
        names = [self.number_of(STRING, said) for said in (function, file)]
        # no end line and no columns are known
        return self.number_of(FRAME, self.number_of(FUNCTION, *names, 1), line, 0, 0, 0)


def write(path, stacks, *, pid, start_unix_ns):
    """A recording of one thread, which has each of the stacks in one tick. A stack is a list of (function, file, line),
    root first."""
    made, ticks = Definitions(), []
    for stack in stacks:
        frames = b"".join(number(made.frame(*frame)) for frame in stack)
        ticks.append(number(TICK) + number(1 << 3 | SUFFIX) + number(0) + number(len(stack)) + frames)
    process = note(PROCESS, 1, pid, 0, 0x030D00F0, "/usr/bin/python3.13", "python3.13 app.py", "/srv")
    thread = note(THREAD, 1, 1, pid, 0, 1, 0, "python3.13")
    blocks = [(HEADER, fields(_1=1, _2="0.1.0", _3="host", _6=start_unix_ns, _8=INTERVAL_NS, _9=UNIT_NS, _10="wall",
                              _11="all"))]
    definitions = process + thread + b"".join(made.notes)
    for at in range(0, len(ticks), TICKS):
        blocks.append((EVENTS, number(at) + definitions + b"".join(ticks[at:at + TICKS])))
        definitions = b""
    blocks.append((END, fields(_1=TARGET_ENDED, _2=len(stacks) + 1, _3=len(stacks), _4=len(stacks))))
    with open(path, "wb") as file:
        file.write(MAGIC)
        for sequence, (kind, payload) in enumerate(blocks):
            head = SYNC + bytes([kind, 0, 0, 0]) + b"".join(
                size.to_bytes(4, "little") for size in (sequence, len(payload), len(payload)))
            file.write(head + zlib.crc32(head + payload).to_bytes(4, "little") + payload)
