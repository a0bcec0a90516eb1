# SPDX-License-Identifier: MIT
"""Threads that compute at once, each with a root of its own. A thread stays where it lost the lock until its turn comes
again: halves of a reference are apart as those of 12 ms a look."""
import _thread
import os
import sys
import time

#: slow 12
#: one root


def tick():
    return 1


def tock():
    return 2


def shared(n, function):
    return function() + n  # -> tick tock


def first():  # root
    while True:
        shared(1, tick)  # -> shared


def second():  # root
    while True:
        shared(2, tock)  # -> shared


def deep(n):  # most 40
    if n > 0:
        deep(n - 1)  # -> deep
    return n


def third():  # root
    while True:
        deep(39)  # -> deep


def numbers(n):
    for i in range(n):
        yield i


def fourth():  # root
    while True:
        for _ in numbers(10):  # -> numbers
            tick()  # -> tick


def main():
    sys.setswitchinterval(0.0005)
    for function in (first, second, third, fourth):
        _thread.start_new_thread(function, ())
    time.sleep(0.1)  # until all have begun
    print("ready", os.getpid(), flush=True)
    while True:
        tock()  # -> tock


main()  # -> main
