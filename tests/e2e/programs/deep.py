# SPDX-License-Identifier: MIT
"""A stack as deep as asked for, of one kind, that stays: deep.py KIND DEPTH. Says "ready" at its
deepest."""
import os
import sys
import time

kind, depth = sys.argv[1], int(sys.argv[2])
sys.setrecursionlimit(50000)


def rest():
    print("ready", os.getpid(), flush=True)
    time.sleep(600)


def calls(n):
    return rest() if n == 0 else calls(n - 1)


def wide_calls(n):
    """With frames of a kilobyte."""
    return rest() if n == 0 else WIDE(rest, wide_calls, n)


exec(f"def WIDE(rest, wide_calls, n):\n {' = '.join(f'v{i}' for i in range(120))} = n\n return wide_calls(n - 1)")


def through_c(n):
    return rest() if n == 0 else list(map(through_c, [n - 1]))


def generators(n):
    if n == 0:
        rest()
        yield
    else:
        yield from generators(n - 1)


def both(n):
    """Generators, and on top of them, from time to time, plain calls that fill many chunks of the data stack."""
    if n == 0:
        print("ready", os.getpid(), flush=True)
        while True:
            for plain in (0, 6000):
                calls_and_back(plain)
                yield
    else:
        yield from both(n - 1)


def calls_and_back(n):
    return time.sleep(0.1) if n == 0 else calls_and_back(n - 1)


if kind in ("generators", "both"):
    for _ in globals()[kind](depth):
        pass
else:
    globals()[kind](depth)
