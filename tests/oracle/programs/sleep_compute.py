# SPDX-License-Identifier: MIT
"""A thread that sleeps and one that computes, beside two processes that want all processors. Its account: nap() and
wake() of the one, major() and minor(), 60 and 40 of 100, of the other; all take milliseconds."""
import _thread
import os
import time
from time import perf_counter

import ledger

#: one root
#: spinners 2
#: slow 5


def nap():
    time.sleep(0.006)


def wake(n):
    for _ in range(n):
        pass


def major(n):
    for _ in range(n):
        pass


def minor(n):
    for _ in range(n):
        pass


def sleeper(times):  # root
    while True:
        begin = perf_counter()
        nap()  # -> nap
        middle = perf_counter()
        wake(50000)  # -> wake
        times[0] += middle - begin
        times[1] += perf_counter() - middle


def main():
    times = ledger.open_for("nap", "wake", "major", "minor")
    _thread.start_new_thread(sleeper, (times,))
    time.sleep(0.1)  # until it has begun
    print("ready", os.getpid(), flush=True)
    while True:
        begin = perf_counter()
        major(60000)  # -> major
        middle = perf_counter()
        minor(40000)  # -> minor
        times[2] += middle - begin
        times[3] += perf_counter() - middle


main()  # -> main
