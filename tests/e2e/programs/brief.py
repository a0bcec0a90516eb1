# SPDX-License-Identifier: MIT
"""Short-lived threads: brief.py THREADS AT_ONCE. Each works a little and sleeps a little; so many live at a time."""
import sys
import threading
import time


def work():
    until = time.perf_counter() + 0.002
    while time.perf_counter() < until:
        pass
    time.sleep(0.03)


def begin_and_end(count):
    for _ in range(count):
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()


threads, at_once = map(int, sys.argv[1:])
starters = [threading.Thread(target=begin_and_end, args=(threads // at_once,), name="starter") for _ in range(at_once)]
for starter in starters:
    starter.start()
for starter in starters:
    starter.join()
