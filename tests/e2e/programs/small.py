# SPDX-License-Identifier: MIT
"""Two threads of which one works: for a recording of less than a thousand bytes."""
import os
import threading
import time


def idle():
    time.sleep(60)


def work():
    print("ready", os.getpid(), flush=True)
    until = time.perf_counter() + 60
    while time.perf_counter() < until:
        pass


threading.Thread(target=idle, daemon=True).start()
work()
