# SPDX-License-Identifier: MIT
"""Starts 50 threads a second; each works a little, sleeps a little, and ends. Prints how many there were. Its argument is
for how many seconds it does so; with `told` it ends when its standard input does."""
import os
import select
import sys
import threading
import time


def work():
    until = time.perf_counter() + 0.002
    while time.perf_counter() < until:
        pass
    time.sleep(0.03)  # the nap


def is_over():
    if sys.argv[1] == "told":
        return select.select([0], [], [], 0)[0]
    return time.perf_counter() >= start + float(sys.argv[1])


threads = []
start = time.perf_counter()
if sys.argv[1] == "told":
    print("ready", os.getpid(), flush=True)
while not is_over():
    thread = threading.Thread(target=work)
    thread.start()
    threads.append(thread)
    time.sleep(max(0, start + len(threads) / 50 - time.perf_counter()))
for thread in threads:
    thread.join()
print(len(threads))
