# SPDX-License-Identifier: MIT
"""Sends functions of __main__ to the processes of a pool, which have to find them there. Ends with 7 when that works."""
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
        sys.exit(7 if list(pool.map(square, range(8))) == [n * n for n in range(8)] else 1)
