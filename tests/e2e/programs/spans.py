# SPDX-License-Identifier: MIT
"""spans.py SECONDS LIBRARY [changed | execs]: two threads that work on spans, one after the other, each in a function of its own,
and one that works on none. They publish as OpenTelemetry says. `changed`: each thread has one record, which it changes. `execs`:
before, three programs take each other's place, and each publishes a name of its own. Prints a line
"span FUNCTION TRACE SPAN SECONDS" for each function, in the end, with its CPU time."""

import ctypes
import hashlib
import mmap
import os
import sys
import threading
import time

SECONDS = float(sys.argv[1])
LIBRARY = ctypes.CDLL(sys.argv[2])
CHANGED = sys.argv[3:] == ["changed"]
LIBRARY.attach.argtypes = [ctypes.c_void_p]
kept = []
used = {}


def text(number, value):
    assert len(value) < 128
    return bytes([number << 3 | 2, len(value)]) + value


def attribute(key, value):
    return text(1, key) + text(2, value)


def publish(*attributes):
    """The process context (OTEP 4719)."""
    resource = b"".join(text(1, attribute(key, value)) for key, value in attributes)
    threads = text(2, attribute(b"threadlocal.schema_version", text(1, b"tlsdesc_v1_dev")))
    payload = text(1, resource) + threads
    fd = os.memfd_create("OTEL_CTX")
    os.ftruncate(fd, 4096)
    memory = mmap.mmap(fd, 4096, flags=mmap.MAP_PRIVATE)
    os.close(fd)
    memory[:16] = b"OTEL_CTX" + (2).to_bytes(4, "little") + len(payload).to_bytes(4, "little")
    address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    memory[64:64 + len(payload)] = payload
    memory[24:32] = (address + 64).to_bytes(8, "little")
    memory[16:24] = time.clock_gettime_ns(time.CLOCK_BOOTTIME).to_bytes(8, "little")
    kept.append(memory)


def record_of(trace, span):
    record = ctypes.create_string_buffer(trace + span + bytes([1, 1, 0, 0]), 28)
    kept.append(record)
    return record


def work(until):
    while time.thread_time() < until:
        hashlib.sha256(b"x" * 2000).digest()


def first(until):
    work(until)


def second(until):
    work(until)


def third(until):
    work(until)


def fourth(until):
    work(until)


def plain(until):
    work(until)


def alternate(functions):
    """Each function works on its span, all in turn."""
    spans = [(os.urandom(16), os.urandom(8)) for _ in functions]
    records = [record_of(*span) for span in spans]
    own = record_of(bytes(16), bytes(8))
    times = [0.0] * len(functions)
    turn = 0
    while sum(times) < SECONDS:
        for at, function in enumerate(functions):
            turn += 1
            begin = time.thread_time()
            if CHANGED:
                own[24] = 0
                own[:24] = records[at][:24]
                own[24] = 1
                LIBRARY.attach(own)
            else:
                LIBRARY.attach(records[at])
            function(begin + 0.002 + 0.001 * (turn % 3))
            LIBRARY.attach(None)
            times[at] += time.thread_time() - begin
    for function, span, used_s in zip(functions, spans, times):
        used[function.__name__] = (*(part.hex() for part in span), used_s)


if sys.argv[3:4] == ["execs"]:
    left = int((sys.argv[4:] or ["3"])[0])
    publish((b"service.name", text(1, b"before-%d" % left)))
    time.sleep(1.5)
    rest = ["execs", str(left - 1)] if left > 1 else []
    os.execv(sys.executable, [sys.executable, *sys.argv[:3], *rest])

publish((b"service.name", text(1, b"checkout")), (b"service.instance.id", text(1, b"1f")), (b"replicas", bytes([3 << 3, 3])),
        (b"canary", bytes([2 << 3, 1])), (b"ratio", bytes([4 << 3 | 1]) + bytes(8)))
threads = [threading.Thread(target=alternate, args=([first, second],)), threading.Thread(target=alternate, args=([third, fourth],)),
           threading.Thread(target=lambda: plain(SECONDS))]
time.sleep(0.4)  # for who looks for the context now and then
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
for name, (trace, span, used_s) in used.items():
    print("span", name, trace, span, used_s)
