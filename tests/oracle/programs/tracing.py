# SPDX-License-Identifier: MIT
"""A trace function and a profile function that come and go; both are called from anywhere in the code they watch."""
import os
import sys


def note(n):
    return n


def tracer(frame, event, argument):  # anywhere
    note(1)  # -> note
    return tracer


def profiler(frame, event, argument):  # anywhere
    note(2)  # -> note


def leaf(n):
    return n + 1


def left(n):
    leaf(n)  # -> leaf
    return leaf(n + 1)  # -> leaf


def right(n):
    n = leaf(n)  # -> leaf
    return n


def numbers():
    yield leaf(1)  # -> leaf
    yield 2


def work():
    for _ in range(3):
        left(1)  # -> left
        right(1)  # -> right
        for _ in numbers():  # -> numbers
            pass


def main():
    print("ready", os.getpid(), flush=True)
    while True:
        work()  # -> work
        sys.settrace(tracer)
        work()  # -> work
        sys.settrace(None)
        work()  # -> work
        sys.setprofile(profiler)
        work()  # -> work
        sys.setprofile(None)


main()  # -> main
