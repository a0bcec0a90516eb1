# SPDX-License-Identifier: MIT
"""Does what a Firefox Profiler file has markers for: marked.py KIND. Says in JSON when it did so, in seconds since it began
to be ready.

fight: two threads that want the lock all the time, and one that sleeps and then wants the lock.
collects: full collections of many objects; pair: of two processes at a time. handles: an exception that is handled for a while.
blocks: a coroutine that sleeps for 0.2 s and works for 0.2 s, and leaves the loop alone between.
lives: tasks that live for known times."""
import asyncio
import gc
import json
import os
import sys
import threading
import time
from time import perf_counter

BEGAN = perf_counter()


def work(seconds):
    until = perf_counter() + seconds
    while perf_counter() < until:
        pass


def timed(spans, function, *arguments):
    begin = perf_counter()
    function(*arguments)
    spans.append([begin - BEGAN, perf_counter() - BEGAN])


# ---- threads ----

def hog():
    work(2)


def ask(waits):
    for _ in range(20):
        due = perf_counter() + 0.05
        time.sleep(0.05)
        waits.append([due - BEGAN, perf_counter() - BEGAN])


def fight():
    waits = []
    threads = [threading.Thread(target=hog, name="hog-1"), threading.Thread(target=hog, name="hog-2"),
               threading.Thread(target=ask, args=(waits,), name="asks")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return waits


def collects():
    gc.disable()
    spans, begin, keep = [], [], [[i] for i in range(1_000_000)]

    def note(phase, about):
        if phase == "start":
            begin.append(perf_counter())
        elif about["generation"] == 2:
            spans.append([begin[-1] - BEGAN, perf_counter() - BEGAN])

    gc.callbacks.append(note)
    for _ in range(3):
        gc.collect()
        work(0.1)
    gc.callbacks.remove(note)
    return spans if keep else []


def pair():
    """Two forks of this process that collect at the same time; what each of them notes, by its pid."""
    pipes = {}
    for delay in (0, 0.05):
        source, to = os.pipe()
        pid = os.fork()
        if pid == 0:
            work(delay)
            os.write(to, json.dumps(collects()).encode())
            os._exit(0)
        os.close(to)
        pipes[pid] = source
    return {pid: json.loads(open(source).read()) for pid, source in pipes.items()}


def fails():
    try:
        raise ValueError
    except ValueError:
        work(0.15)


def handles():
    spans = []
    for _ in range(3):
        timed(spans, fails)
        work(0.1)
    return spans


# ---- the event loop ----

async def blocks():
    spans = []
    for _ in range(3):
        timed(spans, time.sleep, 0.2)
        await asyncio.sleep(0.1)
        timed(spans, work, 0.2)
        await asyncio.sleep(0.1)
    return spans


async def live(spans, seconds):
    begin = perf_counter()
    await asyncio.sleep(seconds / 2)
    work(0.02)
    await asyncio.sleep(seconds / 2)
    spans.append([begin - BEGAN, perf_counter() - BEGAN])


async def lives():
    spans = []
    for _ in range(2):
        await asyncio.gather(*(asyncio.create_task(live(spans, 0.2 + n / 10), name=f"client-{n}") for n in range(5)))
    return spans


KIND = globals()[sys.argv[1]]
print(json.dumps(asyncio.run(KIND()) if asyncio.iscoroutinefunction(KIND) else KIND()))
