# SPDX-License-Identifier: MIT
"""Sends functions of __main__ to the processes of a pool, which have to find them there. When standard input ends,
it ends with 7 if that works."""
import concurrent.futures
import multiprocessing
import sys
import time


def square(number):
    time.sleep(0.05)
    return number * number


if __name__ == "__main__":
    context = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(2, mp_context=context) as pool:
        works = list(pool.map(square, range(8))) == [n * n for n in range(8)]
    sys.stdin.read()
    sys.exit(7 if works else 1)
