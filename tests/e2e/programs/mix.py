# SPDX-License-Identifier: MIT
"""A bit of everything for so many seconds: calls, a recursion, exceptions, garbage, calls through C, two more threads."""
import gc
import os
import sys
import threading
import time


def leaf(n):
    total = 0
    for i in range(n):
        total += i * i
    return total


class Mill:
    def grind(self, depth):
        return self.grind(depth - 1) if depth else leaf(3000)


def raises():
    try:
        raise ValueError("now")
    except ValueError:
        leaf(3000)


def litters():
    rings = []
    for _ in range(2000):
        ring = []
        ring.append(ring)
        rings.append(ring)
    rings = None
    gc.collect()


def sorts():
    sorted(range(300), key=lambda value: leaf(20))


def works(end):
    mill = Mill()
    while time.monotonic() < end:
        mill.grind(5)
        raises()
        litters()
        sorts()


def naps(end):
    while time.monotonic() < end:
        time.sleep(0.02)


print("ready", os.getpid(), flush=True)
end = time.monotonic() + float(sys.argv[1])
threads = [threading.Thread(target=work, args=(end,)) for work in (works, naps)]
for thread in threads:
    thread.start()
works(end)
for thread in threads:
    thread.join()
