# SPDX-License-Identifier: MIT
"""Forks; parent and child work in functions of their own for a while, or with `told` until standard input ends. Prints the
two pids."""
import os
import select
import sys
import time


def is_over():
    return select.select([0], [], [], 0)[0] if "told" in sys.argv else time.perf_counter() >= end


def of_parent():
    while not is_over():
        pass


def of_child():
    while not is_over():
        pass


end = time.perf_counter() + 0.6
child = os.fork()
if child == 0:
    of_child()
    os._exit(0)
of_parent()
os.waitpid(child, 0)
print(os.getpid(), child)
