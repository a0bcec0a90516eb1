#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Makes the golden recordings of this folder, and writes down what the converters make of them.

    PYREEL_BUILD=build tests/streams/make.py record CASE...      new recordings, of real programs (needs root)
    PYREEL_BUILD=build tests/streams/make.py expect [CASE...]    what the converters make of those that are there

A recording that is here stays as it is (README.md). So `record` makes new cases only, and `expect` is for those and for
outputs that show more than before; look at what it changes. A case is a folder: the recording, and what tests/e2e/golden.py
makes of it, which tests/e2e/outputs/test_streams.py compares.

To name no machine, programs run where all folders have names of their own, and the header's words on the host are
replaced. All else is as the recorder wrote it: cases named plain with --compression none.
"""
import hashlib
import itertools
import os
import pathlib
import subprocess
import sys
import tempfile
import zlib

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "e2e"))

import environment  # noqa: E402
import golden  # noqa: E402
from plain_stream import number  # noqa: E402

MAGIC, SYNC = b"\x89pyreel\n", b"\xf5prB"
HEADER, EVENTS, END = 1, 2, 3
TICK, REPEAT, SUFFIX, POP_PUSH, ABSENT, FAILED, NOTE = range(1, 8)

# Python, options of the recorder, program and its arguments, seconds
RECORDED = {
    "threads-3.11": ("3.11", ["-r", "50"], ["doing.py", "two"], 1.3),
    "plain-3.11": ("3.11", ["-r", "20"], ["small.py"], 1.2),
    "native-3.12": ("3.12", ["-r", "100", "--native"], ["doing.py", "calls_c"], 1.2),
    "exceptions-3.13": ("3.13", ["-r", "100"], ["doing.py", "exceptions"], 1.2),
    "cpu-mode-3.13": ("3.13", ["-r", "100", "-m", "cpu"], ["doing.py", "sleeps"], 1.2),
    "interpreters-3.14": ("3.14", ["-r", "50"], ["interpreters.py"], 5),
    "gc-3.15": ("3.15", ["-r", "100"], ["doing.py", "collects"], 1.2),
    "opcodes-3.15": ("3.15", ["-r", "50", "--opcodes"], ["doing.py", "sleeps"], 1.2),
    "grouped-3.14": ("3.14", ["-r", "200"], ["doing.py", "two"], 2.4),
    "calculator-3.14": ("3.14", ["-r", "550"], ["calculator.py"], 2.1),
    "measures-3.15": ("3.15", ["-r", "50"], ["generations.py"], 1.6),
    "async-running-3.14": ("3.14", ["-r", "50", "--async", "running"], ["async_named.py"], 1.3),
    "tree-3.13": ("3.13", ["-f", "-r", "50"], ["relatives.py"], 20),
    "gil-thread-3.15": ("3.15", ["-r", "100", "-t", "gil"], ["doing.py", "two"], 1.2),
    "names-3.11": ("3.11", ["-r", "50"], ["thread_names.py"], 1.2),
    "main-thread-3.12": ("3.12", ["-r", "50", "-t", "main"], ["doing.py", "two"], 1.2),
    "gil-mode-3.12": ("3.12", ["-r", "100", "-m", "gil"], ["doing.py", "two"], 1.2),
    "exception-mode-3.14": ("3.14", ["-r", "100", "-m", "exception"], ["doing.py", "exceptions"], 1.2),
    "blocking-3.12": ("3.12", ["-r", "50", "--blocking"], ["doing.py", "calls_c"], 1.2),
    "async-all-3.15": ("3.15", ["-r", "7", "--async", "all"], ["async_shapes.py", "shapes"], 3),
    "rotated-3.13": ("3.13", ["-r", "50", "--rotate", "1s"], ["doing.py", "two"], 2.6),
    "flight-3.14": ("3.14", ["-r", "50", "--flight-recorder", "1s"], ["doing.py", "two"], 2.4),
    "grouped-runs-3.12": ("3.12", ["-r", "200"], ["doing.py", "sleeps"], 2.4),
    "grouped-tree-3.14": ("3.14", ["-f", "-r", "50"], ["relatives.py"], 20),
    "titles-3.12": ("3.12", ["-r", "50"], ["titles.py", '[[1.5, "worker: idle [app]"], [9, "worker: GET /a"]]', "x" * 60], 4),
    "blocked-3.14": ("3.14", ["-r", "50"], ["marked.py", "blocks"], 1.4),
    "free-threaded-3.14": (None, ["-r", "50"], ["free-threaded", "3.14"], 1.2),
}

PLACE = """set -e
mount -t tmpfs none /opt
mount -t tmpfs none /srv
mkdir /opt/pyreel /opt/python /opt/tests /srv/app /srv/out
mount --bind "$RECORDER" /opt/pyreel
mount --bind "$TESTS" /opt/tests
[ -z "$PYTHON" ] || mount --bind "$PYTHON" /opt/python
mount --bind "$PROGRAMS" /srv/app
mount --bind "$OUT" /srv/out
if [ -n "$ROOTED" ]; then
    mount -t tmpfs none /opt/python/srv
    mkdir /opt/python/srv/app
    mount --bind "$PROGRAMS" /opt/python/srv/app
fi
cd /srv/app
PATH=/opt/pyreel:$PATH
exec "$@"
"""

# Starts the program that stands behind the seconds, and attaches to it.
ATTACH = """seconds=$1
shift
"$@" &
sleep 0.5
pyreel-record $OPTIONS -d "$seconds" -o /srv/out/recording.pyreel -p $!
kill $!
"""


# ---- blocks ----

def take_number(data, at):
    value = shift = 0
    while True:
        value |= (data[at] & 127) << shift
        shift += 7
        at += 1
        if data[at - 1] < 128:
            return value, at


def block(kind, sequence, payload, codec=0):
    head = SYNC + bytes([kind, codec, 0, 0]) + b"".join(
        size.to_bytes(4, "little") for size in (sequence, len(payload), len(payload)))
    return head + zlib.crc32(head + payload).to_bytes(4, "little") + payload


def take_apart(data):
    """(kind, payload) of each block; all of them are plain."""
    found, at = [], len(MAGIC)
    while at < len(data):
        size = int.from_bytes(data[at + 12:at + 16], "little")
        found.append((data[at + 4], data[at + 24:at + 24 + size]))
        at += 24 + size
    return found


def with_header(data, fields):
    """A recording as it is, but for fields of its header."""
    rest = len(MAGIC) + 24 + int.from_bytes(data[len(MAGIC) + 12:len(MAGIC) + 16], "little")
    (_, header), = take_apart(data[:rest])
    return put_together([(HEADER, with_fields(header, fields))]) + data[rest:]


def put_together(blocks):
    return MAGIC + b"".join(block(kind, sequence, payload) for sequence, (kind, payload) in enumerate(blocks))


def with_fields(payload, fields):
    """A header or an end with these fields in the place of its own."""
    out, at, left = b"", 0, dict(fields)
    while at < len(payload):
        field, at = take_number(payload, at)
        size, at = take_number(payload, at)
        value = left.pop(field, payload[at:at + size])
        out += number(field) + number(len(value)) + value
        at += size
    return out + b"".join(number(field) + number(len(value)) + value for field, value in left.items())


# ---- real recordings ----

def prefix_of(python):
    """The folder that Python is installed in, and what starts it when that is called /opt/python."""
    if python.root:
        return python.root, ["chroot", "/opt/python", python.command[-1]]
    if python.command[0].startswith("/usr/"):
        return "/opt", list(python.command)  # it has a name that is everybody's
    return str(pathlib.Path(python.command[0]).parent.parent), [f"/opt/python/bin/python{python.version}"]


def record(case):
    """{file name: bytes}"""
    version, options, program, seconds = RECORDED[case]
    python = environment.python_of(version) if version else None
    folder, command = prefix_of(python) if python else ("", [])
    places = {"RECORDER": os.path.dirname(environment.RECORD), "PYTHON": folder, "PROGRAMS": str(HERE.parent / "e2e" / "programs"),
              "TESTS": os.path.join(environment.BUILD, "tests"), "ROOTED": "yes" if python and python.root else "",
              "PYTHONDONTWRITEBYTECODE": "1"}
    options = ["-q", "--compression", "none" if "plain" in case else "zstd", *options]
    started = ["pyreel-record", *options, "-d", str(seconds), "--kill", "-o", "/srv/out/recording.pyreel", "--", *command,
               f"/srv/app/{program[0]}", *program[1:]]
    if not python:
        places["OPTIONS"] = " ".join(options)
        started = ["sh", "-c", ATTACH, "sh", str(seconds), f"/opt/tests/{program[0]}", *program[1:]]
    with tempfile.TemporaryDirectory() as out:
        subprocess.run(["unshare", "-m", "sh", "-c", PLACE, "sh", *started], env={**os.environ, **places, "OUT": out},
                       stdout=subprocess.DEVNULL, check=False)
        return {path.name: neutral(path.read_bytes()) for path in sorted(pathlib.Path(out).iterdir())}


def neutral(data):
    """The recording as if of a machine that is nobody's."""
    return with_header(data, {3: b"box", 4: b"6.1", 15: b"a processor", 16: number(4 << 30)})


# ---- recordings made from others ----

def plain():
    return take_apart((HERE / "plain-3.11" / golden.RECORDING).read_bytes())


def events_of(blocks):
    return [i for i, (kind, _) in enumerate(blocks) if kind == EVENTS]


def grouped_damaged():
    """The second of the blocks is."""
    data = bytearray((HERE / "grouped-3.14" / golden.RECORDING).read_bytes())
    first = data.index(SYNC, len(MAGIC) + 4)
    data[data.index(SYNC, first + 4) + 60] ^= 16
    return bytes(data)


def killed():
    return put_together(plain()[:-1])


def cut():
    blocks = plain()
    return put_together(blocks)[:len(put_together(blocks[:events_of(blocks)[1]])) + 50]


def damaged():
    blocks = plain()
    data = bytearray(put_together(blocks))
    data[len(put_together(blocks[:events_of(blocks)[1]])) + 40] ^= 16
    return bytes(data)


def lost_block():
    blocks = plain()
    lost = events_of(blocks)[0]
    return put_together(blocks[:lost]) + put_together(blocks)[len(put_together(blocks[:lost + 1])):]


def no_room():
    """The disk was full."""
    blocks = plain()
    blocks[-1] = (END, with_fields(blocks[-1][1], {1: number(7), 4: number(1000)}))
    return put_together(blocks)


def longer(payload, at, more):
    """The note that begins there has more fields than this version knows."""
    tag, body = take_number(payload, at)
    size, fields = take_number(payload, body)
    assert tag & 7 == NOTE
    return payload[:body] + number(size + len(more)) + payload[fields:fields + size] + more + payload[fields + size:]


def later_additions():
    """What a later version may add without a new number: fields, blocks, notes, fields of notes, reasons."""
    blocks = plain()
    blocks[0] = (HEADER, with_fields(blocks[0][1], {99: b"of a later version", 100: number(1 << 40)}))
    for i in events_of(blocks):
        payload = blocks[i][1]
        _, at = take_number(payload, 0)
        if payload[at] & 7 == NOTE:
            payload = longer(payload, at, b"\x01\x02\xff")
        new_note = number(300 << 3 | NOTE) + number(4) + b"\xff\xff\xff\xff"
        blocks[i] = (EVENTS, payload[:at] + new_note + payload[at:])
    blocks[-1] = (END, with_fields(blocks[-1][1], {1: number(77), 50: b"more"}))
    for place in (1, 3):
        blocks.insert(place, (9, b"a block of a kind that this version does not know"))
    return put_together(blocks)


def later_version():
    """The next version of the stream, by a pyreel that does not exist yet."""
    blocks = plain()
    blocks[0] = (HEADER, with_fields(blocks[0][1], {1: number(2), 2: b"2.0.0"}))
    return put_together(blocks)


def later_record():
    """Record kinds need a new version: one that is not known ends its block."""
    blocks = plain()
    last = events_of(blocks)[-1]
    blocks[last] = (EVENTS, blocks[last][1] + b"\x08\x01")
    return put_together(blocks)


def later_codec():
    blocks = plain()
    last = events_of(blocks)[-1]
    data = put_together(blocks[:last]) + block(EVENTS, last, blocks[last][1], codec=255)
    return data + block(END, last + 1, blocks[-1][1])


def end_of_record(payload, at):
    """Where the record that begins there ends."""
    tag, at = take_number(payload, at)
    if tag & 7 in (SUFFIX, POP_PUSH):
        _, at = take_number(payload, at)
        left, at = take_number(payload, at)
        while left > 0:
            frame, at = take_number(payload, at)
            if frame == 0:
                _, at = take_number(payload, at)
                length, at = take_number(payload, at)
            left -= length if frame == 0 else 1
    elif tag & 7 == FAILED:
        _, at = take_number(payload, at)
    elif tag & 7 == NOTE:
        size, at = take_number(payload, at)
        at += size
    return at


def note(kind, fields):
    return number(kind << 3 | NOTE) + number(len(fields)) + fields


def with_stands(payload, times):
    """Each TICK says how long its samples stand for: the next one of `times`; None says nothing."""
    _, at = take_number(payload, 0)
    out = payload[:at]
    while at < len(payload):
        end = end_of_record(payload, at)
        out += payload[at:end]
        stands = next(times) if payload[at] & 7 == TICK else None
        if stands is not None:
            out += note(16, number(stands))
        at = end
    return out


def weighted():
    """Of a recorder that left ticks out. An interval is 50 ms."""
    blocks = plain()
    times = itertools.cycle([None, 80000000, None, 50000000, 120500000])
    for i in events_of(blocks):
        blocks[i] = (EVENTS, with_stands(blocks[i][1], times))
    last = events_of(blocks)[-1]
    figures = {b"samples_exact": 46, b"samples_live": 1, b"samples_blocked": 2, b"ticks_left_out": 12,
               b"taken_ns": 11300000, b"disturb_limit_ppm": 10000, b"codes_gone": 3}
    told = b"".join(note(10, number(len(name)) + name + number(value)) for name, value in figures.items())
    blocks[last] = (EVENTS, blocks[last][1] + told)
    return put_together(blocks)


FAILED_ALL = number(0 << 3 | FAILED) + number(5)
FAILED_FIRST = number(1 << 3 | FAILED) + number(1)


def failed_samples():
    """Of a recorder that could not read some threads, and could read none in some ticks."""
    blocks = plain()
    failures = itertools.cycle([b"", b"", FAILED_ALL, b"", b"", b"", FAILED_FIRST])
    for i in events_of(blocks):
        payload = blocks[i][1]
        _, at = take_number(payload, 0)
        out = payload[:at]
        while at < len(payload):
            end = end_of_record(payload, at)
            out += payload[at:end]
            is_bare = payload[at] & 7 == TICK and end < len(payload) and payload[end] & 7 == TICK
            out += next(failures) if is_bare else b""
            at = end
        blocks[i] = (EVENTS, out)
    blocks[-1] = (END, with_fields(blocks[-1][1], {4: number(41), 6: number(4)}))
    return put_together(blocks)


# On which span the thread works: high and low half of the trace id, span id; two spans of one trace, and one of another.
WORKED_ON = [None] * 3 + [(0x4bf92f3577b34da6, 0xa3ce929d0e0e4736, 0x00f067aa0ba902b7)] * 5 + \
            [(0x4bf92f3577b34da6, 0xa3ce929d0e0e4736, 0xb7ad6b7169203331)] * 3 + [None] * 2 + [(1 << 63, 1, 0xffffffffffffffff)] * 4


def with_spans(payload, spans):
    """The first thread works on the next one of `spans` in each tick."""
    _, at = take_number(payload, 0)
    out, before = payload[:at], (0, 0, 0)
    while at < len(payload):
        end = end_of_record(payload, at)
        out += payload[at:end]
        span = next(spans) or (0, 0, 0) if payload[at] & 7 == TICK else before
        out += b"".join(note(kind, number(1) + number(value)) for kind, value, old in zip((32, 33, 34), span, before) if value != old)
        before, at = span, end
    return out


def spans():
    """Of a program that publishes on which span of OpenTelemetry its thread works."""
    blocks = plain()
    worked_on = itertools.cycle(WORKED_ON)
    for i in events_of(blocks):
        blocks[i] = (EVENTS, with_spans(blocks[i][1], worked_on))
    return put_together(blocks)


def golden_bytes(case, name=golden.RECORDING):
    return (HERE / case / name).read_bytes()


def two_in_one():
    """Two recordings in one file."""
    return golden_bytes("measures-3.15") + golden_bytes("async-running-3.14")


def out_of_order():
    """The second and third block with samples came in the wrong order, and the third came twice."""
    data = golden_bytes("grouped-runs-3.12")
    starts = [place for place in range(len(data)) if data.startswith(SYNC, place)]
    parts = [data[begin:end] for begin, end in zip(starts, [*starts[1:], len(data)])]
    return data[:starts[0]] + b"".join(parts[place] for place in (0, 1, 3, 2, 3, *range(4, len(parts))))


def tree_killed():
    """A tree of processes whose recorder was killed in the middle of a block."""
    data = golden_bytes("tree-3.13")
    starts = [place for place in range(len(data)) if data.startswith(SYNC, place)]
    return data[:starts[12] + 44]


def rotated_gap():
    """The second of the files is missing."""
    names = golden.recordings(HERE / "rotated-3.13")
    return {name: golden_bytes("rotated-3.13", name) for name in names if name != names[1]}


def no_recording():
    return b"This is a text.\n"


MADE = {made.__name__.replace("_", "-"): made for made in (
    killed, cut, damaged, lost_block, no_room, grouped_damaged, later_additions, later_version, later_record, later_codec,
    weighted, failed_samples, two_in_one, out_of_order, tree_killed, rotated_gap, no_recording, spans)}


def make(case):
    """Makes the files of a case, and writes down their checksums."""
    folder, sums = HERE / case, HERE / "SHA256SUMS"
    if folder.exists():
        sys.exit(f"{case} is there and stays as it is: a new recording needs a new name")
    made = record(case) if case in RECORDED else MADE[case]()
    files = made if isinstance(made, dict) else {golden.RECORDING: made}
    if not files:
        sys.exit(f"{case}: nothing was recorded")
    folder.mkdir()
    rows = set(sums.read_text().splitlines())
    for name, data in files.items():
        (folder / name).write_bytes(data)
        rows.add(f"{hashlib.sha256(data).hexdigest()}  {case}/{name}")
    sums.write_text("".join(f"{row}\n" for row in sorted(rows, key=lambda row: row.split()[1])))


def main(arguments):
    if not arguments or arguments[0] not in ("record", "expect") or arguments == ["record"]:
        sys.exit(__doc__)
    for case in arguments[1:] or [*RECORDED, *MADE]:
        folder = HERE / case
        if arguments[0] == "record":
            make(case)
        for old in folder.glob("expected*"):
            old.unlink()
        for name, text in golden.outcome(folder).items():
            (folder / name).write_text(text, encoding="utf-8")
        sizes = [(folder / name).stat().st_size for name in golden.recordings(folder)]
        whole = sum(file.stat().st_size for file in folder.iterdir())
        print(f"{case}: {sum(sizes)} bytes, {whole} with what is expected")


if __name__ == "__main__":
    if os.geteuid() != 0:
        sys.exit("needs root")
    main(sys.argv[1:])
