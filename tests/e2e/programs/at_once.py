# SPDX-License-Identifier: MIT
"""at_once.py threads|interpreters COUNT: so many threads, or interpreters with a thread and a lock of their own each, compute at
the same time for two seconds. Prints the CPU time of the two functions that compute, by the clock of each thread, as JSON.

at_once.py newcomers COUNT: so many threads at a time, each of which lives for a millisecond. Prints as the first two.

at_once.py collections COUNT: so many threads compute while the main thread collects garbage and computes in turn. Prints the part
of the main thread's CPU time in which it collected, and the CPU time of the threads."""
import gc
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


def work(seconds):
    spent, until = [0.0, 0.0], time.monotonic() + seconds
    while time.monotonic() < until:
        spent[0] += large()
        spent[1] += small()
    return spent


def in_threads(count):
    spent = []
    threads = [threading.Thread(target=lambda: spent.append(work(SECONDS))) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return spent


def in_newcomers(count):
    spent, until = [], time.monotonic() + SECONDS
    while time.monotonic() < until:
        threads = [threading.Thread(target=lambda: spent.append((large(), small(), large(), large(), small()))) for _ in range(count)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    return [(one[0] + one[2] + one[3], one[1] + one[4]) for one in spent]


def in_interpreters(count):
    from concurrent.futures import InterpreterPoolExecutor
    import at_once  # the others have no __main__
    with InterpreterPoolExecutor(count, initializer=exec, initargs=(f"import sys; sys.path.insert(0, {os.path.dirname(__file__)!r})",)) as pool:
        return list(pool.map(at_once.work, [SECONDS] * count))


def in_collections(count):
    heap = [[i] for i in range(200_000)]
    spent, begun, until = [], [0.0], time.monotonic() + SECONDS

    def note(phase, _):  # by the clock of the thread: it may have to wait for the lock here
        if phase == "start":
            begun[0] = time.thread_time()
        else:
            spent.append(time.thread_time() - begun[0])

    def compute():
        while time.monotonic() < until:
            large()
        cpu.append(time.thread_time())

    cpu, threads = [], [threading.Thread(target=compute) for _ in range(count)]
    gc.disable()
    gc.callbacks.append(note)
    for thread in threads:
        thread.start()
    begin = time.thread_time()
    while time.monotonic() < until:
        gc.collect()
        burn(0.01)
    told = {"part": sum(spent) / (time.thread_time() - begin), "times": len(spent)}
    for thread in threads:
        thread.join()
    return {**told, "objects": len(heap), "cpu": cpu}


if __name__ == "__main__":
    if sys.argv[1] == "collections":
        print(json.dumps(in_collections(int(sys.argv[2]))))
        sys.exit()
    told = {"threads": in_threads, "newcomers": in_newcomers, "interpreters": in_interpreters}[sys.argv[1]](int(sys.argv[2]))
    print(json.dumps({"large": sum(large for large, _ in told), "small": sum(small for _, small in told)}))
