# SPDX-License-Identifier: MIT
"""Uses memory and CPU time, in two threads, and notes what it uses itself: of each moment the clock before, the CPU time
of all threads, the resident memory, and the clock after, in nanoseconds of CLOCK_MONOTONIC and in bytes. It uses much memory
from a line of standard input to the next one, and ends with standard input."""
import json
import os
import select
import threading
import time

PAGE, BIG = os.sysconf("SC_PAGESIZE"), 200 << 20
moments = []


def resident_bytes():
    try:
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * PAGE
    except FileNotFoundError:
        return None  # a root folder without /proc


def note():
    before = time.monotonic_ns()
    cpu = time.process_time_ns()
    moments.append((before, cpu, resident_bytes(), time.monotonic_ns()))


def note_until_told():
    while not select.select([0], [], [], 0)[0]:
        until = time.thread_time() + 0.001
        while time.thread_time() < until:
            pass
        note()
        time.sleep(0.001)


while time.process_time() < 0.15:
    note()
print("ready", os.getpid(), flush=True)
note_until_told()
os.read(0, 1)
block = bytearray(BIG)
block[::PAGE] = b"x" * len(block[::PAGE])  # each page is touched
note_until_told()
os.read(0, 1)
del block
other = threading.Thread(target=note_until_told)
other.start()
other.join()
print(json.dumps(moments), flush=True)
