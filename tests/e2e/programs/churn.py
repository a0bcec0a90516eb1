# SPDX-License-Identifier: MIT
"""Starts 50 threads a second; each works a little, sleeps a little, and ends. Prints how many there were."""
import sys
import threading
import time


def work():
    until = time.perf_counter() + 0.002
    while time.perf_counter() < until:
        pass
    time.sleep(0.03)  # the nap


threads = []
start = time.perf_counter()
while time.perf_counter() < start + float(sys.argv[1]):
    thread = threading.Thread(target=work)
    thread.start()
    threads.append(thread)
    time.sleep(max(0, start + len(threads) / 50 - time.perf_counter()))
for thread in threads:
    thread.join()
print(len(threads))
