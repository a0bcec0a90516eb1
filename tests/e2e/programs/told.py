# SPDX-License-Identifier: MIT
"""Computes in functions of its own until it is ended, for known parts of its CPU time. A thread waits beside it."""
import os
import threading
from time import thread_time


def small(until):
    while thread_time() < until:
        pass


def large(until):
    while thread_time() < until:
        pass


def both():
    small(thread_time() + 0.002)
    large(thread_time() + 0.006)


def direct():
    large(thread_time() + 0.004)


def wait():
    threading.Event().wait()


def main():
    threading.Thread(target=wait, name="waiter", daemon=True).start()
    print("ready", os.getpid(), flush=True)
    while True:
        both()
        direct()


main()
