# SPDX-License-Identifier: MIT
"""Makes as many interpreters as its argument says, and then works in the main one."""
import os
import signal
import sys
import time

try:
    from concurrent import interpreters

    make = interpreters.create
except ImportError:
    try:
        import _interpreters
    except ImportError:
        import _xxsubinterpreters as _interpreters
    make = _interpreters.create


def work():
    while True:
        time.perf_counter()


signal.alarm(600)
kept = [make() for _ in range(int(sys.argv[1]))]
print("ready", os.getpid(), flush=True)
work()
