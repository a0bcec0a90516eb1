# SPDX-License-Identifier: MIT
"""A generator and its consumer in turn, some microseconds each: its name says how many."""
import os
import re
import sys
from time import perf_counter

MICROSECONDS = int(re.search(r"(\d+)us", sys.argv[0])[1])


def body(n):
    total = 0
    while True:
        for i in range(n):
            total += i
        yield total


def consume(n, total):
    for i in range(n):
        total += i
    return total


def rounds():
    """How many in a step."""
    for _ in range(20):
        begin = perf_counter()
        consume(100000, 0)  # -> consume
        each = (perf_counter() - begin) / 100000
    return round(MICROSECONDS / each / 1e6)


def main():
    n = rounds()  # -> rounds
    print("ready", os.getpid(), flush=True)
    for total in body(n):  # -> body
        consume(n, total)  # -> consume


main()  # -> main
