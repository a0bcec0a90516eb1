# SPDX-License-Identifier: MIT
"""Two recursions of 300 frames in turn, without a rest."""
import os
import signal

DEPTH = 300


def left(n):
    return 0 if n == 0 else left(n - 1) + 1


def right(n):
    if n == 0:
        return 0
    return right(n - 1) + 2


def main():
    while True:
        left(DEPTH)
        right(DEPTH)


signal.alarm(600)
print("ready", os.getpid(), flush=True)
main()
