# SPDX-License-Identifier: MIT
"""Takes the processors away from all others, one after the other, for 150 ms each: hog.py SECONDS."""
import os
import sys
import time

allowed = sorted(os.sched_getaffinity(0))
until = time.perf_counter() + float(sys.argv[1])
try:
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(20))
except PermissionError:
    print("ready", 0, flush=True)
    sys.exit()
print("ready", os.getpid(), flush=True)
while time.perf_counter() < until:
    for processor in allowed:
        os.sched_setaffinity(0, [processor])
        end = time.perf_counter() + 0.15
        while time.perf_counter() < end:
            pass
        time.sleep(0.15)
