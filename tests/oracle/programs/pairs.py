# SPDX-License-Identifier: MIT
"""Two pairs of calls in turn whose frames have the same size, and a third that calls both leaves from other lines."""
import os


def leaf_a(n):  # of a and c only
    n += 1
    return n  # <- a c


def leaf_b(n):
    n += 2
    return n  # <- b c


def a(n):
    return leaf_a(n)  # -> leaf_a


def b(n):
    return leaf_b(n)  # -> leaf_b


def c(n):
    leaf_a(n)  # -> leaf_a = from_c
    return leaf_b(n)  # -> leaf_b = from_c


def main():
    print("ready", os.getpid(), flush=True)
    n = 0
    while True:
        a(n)  # -> a
        b(n)  # -> b
        a(n)  # -> a
        c(n)  # -> c


main()  # -> main
