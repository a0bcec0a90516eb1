# SPDX-License-Identifier: MIT
"""fighters.py SECONDS THREADS: so many threads spin and want the lock, and one sleeps all the time."""
import sys
import threading
import time

SECONDS, THREADS = float(sys.argv[1]), int(sys.argv[2])


def spin():
    while time.perf_counter() < end:
        pass


def sleep():
    time.sleep(SECONDS)


end = time.perf_counter() + SECONDS
threads = [threading.Thread(target=spin, name=f"fighter-{i}") for i in range(THREADS)]
threads.append(threading.Thread(target=sleep, name="sleeper"))
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
