# SPDX-License-Identifier: MIT
"""Calls at every depth of a recursion: somewhere among them is the end of a chunk of the data stack, so that a call
gets a new chunk and its return gives it back, again and again."""
import os


def leaf(n):
    return n + 1


def small(n):
    return leaf(n)  # -> leaf


def large(a, b=1, c=2, d=3, e=4, f=5, g=6, h=7):
    a = b = c = d = e = f = g = h
    return leaf(a)  # -> leaf


def down(n):  # most 250
    for _ in range(10):
        small(n)  # -> small
        large(n)  # -> large
    if n > 0:
        down(n - 1)  # -> down
    small(n)  # -> small


def main():
    print("ready", os.getpid(), flush=True)
    while True:
        down(249)  # -> down


main()  # -> main
