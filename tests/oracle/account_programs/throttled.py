# SPDX-License-Identifier: MIT
"""A program that uses up its quota in each period, and stands still at the same place until the next one begins: throttled.py
CPU_SECONDS FIRST_MS. Three quarters of a period's CPU time, FIRST_MS, are not at that place."""
import sys
import time

import books

FIRST_S = float(sys.argv[2]) / 1000
GAP_S = 0.01  # of the clock: the processor was taken away, mostly by the quota


@books.counted
def first_part():
    books.use(FIRST_S)


@books.counted
def until_throttled():
    now = last = time.monotonic()
    while now - last < GAP_S and books.is_working():
        sum(range(300))
        last, now = now, time.monotonic()


while books.is_working():
    first_part()
    until_throttled()
books.close()
