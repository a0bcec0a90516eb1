# SPDX-License-Identifier: MIT
"""Threads that each do one thing: roles.py SECONDS. Two fight for the lock, one sleeps; then the main thread works alone
for as long, and prints for how many seconds each of its two phases lasted."""
import sys
import threading
import time


def fight(until):
    while time.perf_counter() < until:
        pass


def sleep_on(until):
    time.sleep(until - time.perf_counter())


def work_alone(until):
    while time.perf_counter() < until:
        pass


seconds = float(sys.argv[1])
began = time.perf_counter()
until = began + seconds
threads = [threading.Thread(target=fight, args=(until,), name="fighter-1"),
           threading.Thread(target=fight, args=(until,), name="fighter-2"),
           threading.Thread(target=sleep_on, args=(until,), name="sleeper")]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
together = time.perf_counter()
work_alone(together + seconds)
print(together - began, time.perf_counter() - together)
