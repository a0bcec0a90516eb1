# SPDX-License-Identifier: MIT
"""Keeps time: works for three tenths of each frame, then spins or sleeps until the next one begins. Its name says how
long a frame is and how it waits. Its account: work() and rest()."""
import os
import sys
import time
from time import perf_counter

import ledger

#: distance 5000
NAME = os.path.basename(sys.argv[0])
FRAME = 0.01 if "10ms" in NAME else 0.001


def work(end):
    while perf_counter() < end:
        pass


def spin(end):
    while perf_counter() < end:
        pass


def rest(end):
    if "spin" in NAME:
        spin(end)  # -> spin
    else:
        time.sleep(max(end - perf_counter(), 0))


def main():
    times = ledger.open_for("work", "rest")
    print("ready", os.getpid(), flush=True)
    end = perf_counter()
    while True:
        end += FRAME
        begin = perf_counter()
        work(begin + 0.3 * FRAME)  # -> work
        middle = perf_counter()
        rest(end)  # -> rest
        times[0] += middle - begin
        times[1] += perf_counter() - middle


main()  # -> main
