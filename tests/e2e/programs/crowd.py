# SPDX-License-Identifier: MIT
"""Many threads: crowd.py THREADS. All but the main one sleep most of the time."""
import os
import sys
import threading
import time


def nap():
    while True:
        time.sleep(0.2)


def work():
    print("ready", os.getpid(), flush=True)
    until = time.perf_counter() + 60
    while time.perf_counter() < until:
        pass


for _ in range(int(sys.argv[1]) - 1):
    threading.Thread(target=nap, daemon=True).start()
time.sleep(0.5)
work()
