# SPDX-License-Identifier: MIT
"""at_once.py threads|interpreters COUNT: so many threads, or interpreters with a thread and a lock of their own each, compute at
the same time for two seconds. Prints the CPU time of the two functions that compute, by the clock of each thread, as JSON."""
import json
import os
import sys
import threading
import time

SECONDS = 2


def burn(seconds):
    begin = time.thread_time()
    while time.thread_time() - begin < seconds:
        pass
    return time.thread_time() - begin


def large():
    return burn(0.0003)


def small():
    return burn(0.0001)


def work():
    """For as long from its own beginning on: an interpreter of a debug build, on a busy machine, takes seconds to start."""
    until, spent = time.monotonic() + SECONDS, [0.0, 0.0]
    while time.monotonic() < until:
        spent[0] += large()
        spent[1] += small()
    return spent


def in_threads(count):
    spent = []
    threads = [threading.Thread(target=lambda: spent.append(work())) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return spent


def in_interpreters(count):
    from concurrent.futures import InterpreterPoolExecutor
    import at_once  # the others have no __main__
    with InterpreterPoolExecutor(count, initializer=exec, initargs=(f"import sys; sys.path.insert(0, {os.path.dirname(__file__)!r})",)) as pool:
        return [begun.result() for begun in [pool.submit(at_once.work) for _ in range(count)]]


if __name__ == "__main__":
    told = {"threads": in_threads, "interpreters": in_interpreters}[sys.argv[1]](int(sys.argv[2]))
    print(json.dumps({"large": sum(large for large, _ in told), "small": sum(small for _, small in told)}))
