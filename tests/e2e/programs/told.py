# SPDX-License-Identifier: MIT
"""Works in functions of its own, and says in JSON how much CPU time each took by its own account: told.py SECONDS.

A thread waits beside it."""
import json
import sys
import threading
from time import thread_time


def small(until):
    while thread_time() < until:
        pass


def large(until):
    while thread_time() < until:
        pass


def both():
    begin = thread_time()
    small(begin + 0.002)
    middle = thread_time()
    large(middle + 0.006)
    return middle - begin, thread_time() - middle


def direct():
    begin = thread_time()
    large(begin + 0.004)
    return thread_time() - begin


def wait(stopped):
    stopped.wait()


def main(seconds):
    spent = {"small": 0, "large": 0, "both": 0, "direct": 0}
    stopped = threading.Event()
    waiter = threading.Thread(target=wait, args=(stopped,), name="waiter")
    waiter.start()
    end = thread_time() + seconds
    while thread_time() < end:
        first, second = both()
        third = direct()
        spent["small"] += first
        spent["large"] += second + third
        spent["both"] += first + second
        spent["direct"] += third
    stopped.set()
    waiter.join()
    print(json.dumps(spent))


main(float(sys.argv[1]))
