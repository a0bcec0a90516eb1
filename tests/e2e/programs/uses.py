# SPDX-License-Identifier: MIT
"""Uses memory and CPU time, in two threads, and notes what it uses itself: of each moment the clock before, the CPU time
of all threads, the resident memory, and the clock after, in nanoseconds of CLOCK_MONOTONIC and in bytes. If told to wait,
begins at SIGUSR1, and does not end by itself."""
import json
import os
import signal
import sys
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


def note_for(seconds, rests):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        note()
        if rests:
            time.sleep(0.01)


def uses():
    note_for(0.4, rests=False)
    block = bytearray(BIG)
    block[::PAGE] = b"x" * len(block[::PAGE])  # each page is touched
    note_for(0.5, rests=True)
    del block
    other = threading.Thread(target=note_for, args=(0.3, False))
    other.start()
    other.join()
    note_for(0.3, rests=True)


if "waits" in sys.argv:
    while time.process_time() < 0.15:
        note()
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1})
    print("ready", os.getpid(), flush=True)
    signal.sigwait({signal.SIGUSR1})
uses()
print(json.dumps(moments), flush=True)
if "waits" in sys.argv:
    signal.pause()
