# SPDX-License-Identifier: MIT
"""Many threads that mostly sleep: each wakes every 50 ms for a little work. sleepers.py [THREADS]."""
import os
import signal
import sys
import threading
import time


def little(number):
    return sum(n * n for n in range(number % 50 + 50))


def rest():
    time.sleep(0.05)


def work(number):
    while True:
        little(number)
        rest()


signal.alarm(600)
for number in range(int(sys.argv[1]) - 1 if len(sys.argv) > 1 else 255):
    threading.Thread(target=work, args=(number,), daemon=True).start()
print("ready", os.getpid(), flush=True)
work(0)
