# SPDX-License-Identifier: MIT
"""Says "ready PID" and waits for a line of standard input. Then first() works for SECONDS of the clock, and second() until
standard input ends. Prints a line of JSON: its pid, and when first() ended (the seconds of time.time())."""
import json
import os
import select
import sys
import time


def first(end):
    while time.monotonic() < end:
        pass


def second():
    while not select.select([0], [], [], 0)[0]:
        pass


if __name__ == "__main__":
    os.write(1, f"ready {os.getpid()}\n".encode())
    os.read(0, 80)
    first(time.monotonic() + float(sys.argv[1]))
    os.write(1, (json.dumps({"pid": os.getpid(), "ended": time.time()}) + "\n").encode())
    second()
