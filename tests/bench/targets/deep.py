# SPDX-License-Identifier: MIT
"""A recursion of 900 frames that sleeps at its end."""
import os
import signal
import sys
import time

DEPTH = 900


def rest():
    print("ready", os.getpid(), flush=True)
    while True:
        time.sleep(0.01)


def descend(left):
    if left == 0:
        rest()
    else:
        descend(left - 1)


signal.alarm(600)
sys.setrecursionlimit(DEPTH + 100)
descend(DEPTH - 2)
