# SPDX-License-Identifier: MIT
"""Says "ready PID" and has threads until standard input ends: "worker-1" works, "worker-2" sleeps, "other" works; "late" works
under this name until standard input has a line, and then as "worker-late"."""
import os
import sys
import threading
import time

ended = threading.Event()
renamed = threading.Event()


def work():
    while not ended.is_set():
        for _ in range(1000):
            pass
        time.sleep(0)


def rest():
    ended.wait()


def late():
    while not ended.is_set():
        if renamed.is_set():
            threading.current_thread().name = "worker-late"
        time.sleep(0.001)


threads = [threading.Thread(target=target, name=name)
           for target, name in ((work, "worker-1"), (rest, "worker-2"), (work, "other"), (late, "late"))]
for thread in threads:
    thread.start()
os.write(1, f"ready {os.getpid()}\n".encode())
while sys.stdin.readline():
    renamed.set()
ended.set()
