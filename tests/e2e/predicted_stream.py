# SPDX-License-Identifier: MIT
"""Reads predicted payloads by the words of schemas/stream.md alone ("Predicted payloads"), and makes a recording plain."""
import bisect
import math
import zlib

from plain_stream import ABSENT, BLOCK_HEAD, EVENTS, FAILED, MAGIC, NOTE, POP_PUSH, REPEAT, SUFFIX, SYNC, TICK, number

PREDICTED = 3
WORD, LONG = (1 << 32) - 1, (1 << 64) - 1
T = [max(1, min(4095, round(4096 / (1 + math.exp(8 - k / 2))))) for k in range(33)]
F = [(T[o >> 7] * (128 - (o & 127)) + T[(o >> 7) + 1] * (o & 127) + 64) >> 7 for o in range(4096)]
ODDS = [bisect.bisect_left(F, q) - 2048 for q in range(4096)]
PARTS = [0, 81920, 40960, 27306, 20480]

# Fields of notes, which are differences to the same field of the last such note (D), or of the last one whose thread had
# the same lowest bits (T), or as they are (-).
FIELDS = {1: "D", 2: "DDD-", 3: "DDD---", 6: "D-D--D", 8: "DD", 9: "-", 11: "--T", 12: "--DT", 13: "D-D", 14: "--"}


def context(*numbers, after=0):
    for x in numbers:
        d = (after ^ (x & WORD)) * 0x9E3779B1 & WORD
        after = d ^ d >> 15
    return after


def signed(value):
    return value >> 1 ^ -(value & 1)


class Place:
    def __init__(self, check=0):
        self.p, self.seen, self.check = 1 << 15, 0, check

    def learn(self, bit):
        self.p += ((65535 if bit else 0) - self.p) * (131072 // (2 * self.seen + 3)) >> 16
        self.seen = min(60, self.seen + 1)


class Bits:
    def __init__(self, stored):
        self.stored, self.at = stored, 4
        self.range, self.code = WORD, int.from_bytes((stored + bytes(4))[:4], "big")
        self.places = {}

    def widen(self):
        while self.range < 1 << 24:
            self.range = self.range << 8 & WORD
            byte = self.stored[self.at] if self.at < len(self.stored) else 0
            self.code = (self.code << 8 | byte) & WORD
            self.at += 1

    def bit(self, p):
        ones = (self.range >> 16) * p
        one = self.code < ones
        if one:
            self.range = ones
        else:
            self.range -= ones
            self.code -= ones
        self.widen()
        return int(one)

    def plain(self, n):
        self.range >>= n
        value = min(self.code // self.range, (1 << n) - 1)
        self.code -= value * self.range
        self.widen()
        return value

    def look(self, index, check):
        place = self.places.setdefault(index, Place())
        if place.check != check:
            place = self.places[index] = Place(check)
        return place

    def mixed(self, *contexts):
        indices = []
        odds = known = 0
        for c in contexts:
            place = self.look(c >> 17, c & 255)
            indices.append(c >> 17)
            odds += ODDS[place.p >> 4]
            known += place.seen > 0
        m = max(-2048, min(2047, odds * PARTS[known] >> 16))
        bit = self.bit(max(32, min(65503, 16 * F[m + 2048])))
        for index in indices:
            self.places[index].learn(bit)
        return bit

    def node(self, c, node):
        if node >= 16:
            c = context(node >> 4, after=c)
        place = self.look((c >> 21) * 16 + (node & 15), c & 255)
        bit = self.bit(max(32, min(65503, place.p)))
        place.learn(bit)
        return bit

    def number(self, *numbers):
        c, n = context(*numbers), 0
        while n < 64 and self.node(c, n if n < 8 else n + 8):
            n += 1
        if n == 64:
            return LONG
        value, left = 1, n
        while left > 0 and n - left < 6:
            value = value << 1 | self.node(c, (4 + 4 * n if n <= 2 else 80 + 64 * n) + value)
            left -= 1
        while left > 0:
            count = min(8, left)
            value = value << count | self.plain(count)
            left -= count
        return value - 1


class Callees:
    def __init__(self):
        self.frames, self.counts, self.last = [], [], 0

    def count(self, rank, frame):
        if rank == len(self.frames):
            if rank == 16:
                rank = 15
                self.frames.pop()
                self.counts.pop()
            self.frames.append(frame)
            self.counts.append(0)
        if self.counts[rank] == 255:
            self.counts = [count // 2 for count in self.counts]
        count = self.counts.pop(rank) + 1
        self.frames.pop(rank)
        while rank > 0 and self.counts[rank - 1] <= count:
            rank -= 1
        self.frames.insert(rank, frame)
        self.counts.insert(rank, count)
        self.last = frame + 1


class Payload:
    ROUND = WORD

    def __init__(self, stored, size):
        self.bits, self.out = Bits(stored), bytearray()
        self.stacks, self.callees = {}, {}
        self.shapes, self.arguments, self.thread = [0, 0, 0], {TICK: 0, REPEAT: 0}, 0
        self.fields, self.states = {}, {}
        self.put(self.bits.number(1, 0))
        while len(self.out) < size:
            self.record()
        assert len(self.out) == size and self.bits.at >= len(stored)

    def put(self, *values):
        for value in values:
            self.out += number(value)

    def record(self):
        first, second, third = self.shapes
        shape = self.bits.number(2, first << 10 | second << 5 | third)
        self.shapes = [second, third, min(shape, 31)]
        if shape == 0:
            self.stack()
        elif shape in (1, 2):
            kind = TICK if shape == 1 else REPEAT
            argument = self.bits.number(2 + shape, self.arguments[kind])
            self.arguments[kind] = min(15, argument)
            self.put(argument << 3 | kind)
        elif shape in (3, 4):
            self.put(self.of_thread() << 3 | (ABSENT if shape == 3 else FAILED))
            if shape == 4:
                self.put(self.bits.number(6, 0))
        else:
            self.note(shape - 5)

    def of_thread(self):
        self.thread = self.thread + signed(self.bits.number(5, self.thread & 63)) & LONG
        return self.thread

    def stack(self):
        thread = self.of_thread()
        stack = self.stacks.setdefault(thread & 63, [])
        before = list(stack)
        while stack and len(before) - len(stack) < 24:
            gone, leaf, caller = len(before) - len(stack), stack[-1], stack[-2] if len(stack) > 1 else 0
            near = min(gone, 3)
            if not self.bits.mixed(context(7, near, leaf), context(8, near, leaf, caller), context(9, gone)):
                break
            stack.pop()
        if stack and len(before) - len(stack) == 24:
            del stack[len(stack) - self.bits.number(10, 0):]
        keep, pop = len(stack), len(before) - len(stack)
        told, count = bytearray(), 0
        place, popped = (before[keep] + 1, min(7, pop)) if pop else (0, 0)
        while (frame := self.called(stack, place, popped)) != 0:
            place, popped = WORD, 0
            if frame != self.ROUND:
                stack.append(frame)
                told += number(frame)
                count += 1
                continue
            distance, length = self.bits.number(15, 0), self.bits.number(16, 0)
            for _ in range(length):
                stack.append(stack[-distance])
            told += number(0) + number(distance) + number(length)
            count += length
        self.put(thread << 3 | (POP_PUSH if pop < keep else SUFFIX), min(pop, keep), count)
        self.out += told

    def called(self, stack, place, popped):
        caller = stack[-1] if stack else 0
        callees = self.callees.setdefault(caller & 2047, Callees())
        path = context(*stack)
        for rank, frame in enumerate(callees.frames):
            if self.bits.mixed(context(11, caller, callees.last, frame), context(12, caller, place, popped, frame),
                               context(13, path, frame)):
                break
        else:
            rank, told = len(callees.frames), self.bits.number(14, int(caller == 0))
            frame = [0, self.ROUND][told] if told < 2 else caller + 1 + signed(told - 2) & WORD
        callees.count(rank, frame)
        return frame

    def note(self, kind):
        start, state, thread = len(self.out), 0, 0
        for field, told in enumerate(FIELDS.get(kind, "")):
            value = self.bits.number(17, 6 * kind + field, state)
            last = (kind, field, thread if told == "T" else None)
            if told != "-":
                value = self.fields.get(last, 0) + signed(value) & LONG
            self.fields[last] = value
            self.put(value)
            if field == 0:
                thread = value & 63
            if kind == 11:
                if field == 1:
                    self.states[thread] = min(15, value)
                state = self.states.get(thread, 0)
        behind = bytearray()
        for _ in range(self.bits.number(18, kind)):
            byte = 1
            for _ in range(8):
                byte = byte << 1 | self.bits.mixed(
                    *(context(19, kind, k, int.from_bytes(behind[-k:], "big"), byte) for k in (1, 2, 3, 4)))
            behind.append(byte & 255)
        body = bytes(self.out[start:] + behind)
        del self.out[start:]
        self.put(kind << 3 | NOTE, len(body))
        self.out += body


def predicted_blocks(data):
    """How many blocks of a whole recording are."""
    return sum(head[5] == PREDICTED for head, _ in blocks(data))


def blocks(data):
    at = len(MAGIC)
    while at < len(data):
        head = data[at:at + BLOCK_HEAD]
        at += BLOCK_HEAD + int.from_bytes(head[12:16], "little")
        yield head, data[at - int.from_bytes(head[12:16], "little"):at]


def without_predicted(data):
    """The same recording, its predicted blocks plain."""
    out = bytearray(MAGIC)
    for head, stored in blocks(data):
        if head[5] == PREDICTED:
            assert head[4] == EVENTS
            stored = bytes(Payload(stored, int.from_bytes(head[16:20], "little")).out)
            head = SYNC + bytes([EVENTS, 0]) + head[6:12] + len(stored).to_bytes(4, "little") + head[16:20]
            head += zlib.crc32(head + stored).to_bytes(4, "little")
        out += head + stored
    return bytes(out)
