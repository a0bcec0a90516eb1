# SPDX-License-Identifier: MIT
"""Works at the end of a deep stack: busy_below.py DEPTH [SECONDS]: so long, or until standard input ends."""
import select
import sys
import time

sys.setrecursionlimit(200000)


def leaf():
    pass


def rest():
    until = time.perf_counter() + float((*sys.argv[2:], 600)[0])
    while time.perf_counter() < until and (sys.argv[2:] or not select.select([0], [], [], 0)[0]):
        leaf()


def calls(n):
    return rest() if n == 0 else calls(n - 1)


calls(int(sys.argv[1]))
