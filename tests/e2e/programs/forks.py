# SPDX-License-Identifier: MIT
"""Forks; parent and child work in functions of their own. Prints the two pids."""
import os
import time


def of_parent(until):
    while time.perf_counter() < until:
        pass


def of_child(until):
    while time.perf_counter() < until:
        pass


end = time.perf_counter() + 0.6
child = os.fork()
if child == 0:
    of_child(end)
    os._exit(0)
of_parent(end)
os.waitpid(child, 0)
print(os.getpid(), child)
