# SPDX-License-Identifier: MIT
"""Three functions with frames of three sizes that call one another in a ring, begun at each of them: the same frames
lie at other places each time, and some of them lie where others had their middle."""
import os


def a(n):  # most 4
    if n > 0:
        b(n - 1)  # -> b
    else:
        n = 1
    return n


def b(n, x=1, y=2):  # most 4
    if n > 0:
        c(n - 1)  # -> c
    else:
        n = x
    return n


def c(n, x=1, y=2, z=3, v=4):  # most 4
    if n > 0:
        a(n - 1)  # -> a
    else:
        n = x + y
    return n


def main():
    print("ready", os.getpid(), flush=True)
    while True:
        a(2)  # -> a
        b(2)  # -> b
        c(2)  # -> c
        a(5)  # -> a
        c(1)  # -> c


main()  # -> main
