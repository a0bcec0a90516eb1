# SPDX-License-Identifier: MIT
"""Has frames outside the data stack, far down: KIND DEPTH. Works until standard input ends, and says in JSON how much CPU time
deep() and flat() had, how deep it was, and for how long by the clock on the wall. KIND:

    sorted       each level is entered from C, by the key of sorted()
    getattr      the same by __getattr__
    generator    generators that drive each other, made anew for each deep moment
    coroutine    coroutines that await each other
    once         "getattr" for one deep moment at the start, then flat work only
    threads      "sorted" in six threads at once

A depth that this CPython does not permit is halved."""
import functools
import json
import select
import sys
import threading
import time

SHARE = 3  # of four: what deep() has
TURN_S = 0.01
spent = {"deep": 0.0, "flat": 0.0}
dives = []  # seconds of each
lock = threading.Lock()


def burn(name, seconds):
    begin = time.thread_time()
    while time.thread_time() - begin < seconds:
        pass
    with lock:
        spent[name] += time.thread_time() - begin


def deep():
    burn("deep", SHARE * TURN_S)
    return 0


def flat():
    burn("flat", TURN_S)


def down_sorted(levels):
    return sorted([levels], key=lambda n: down_sorted(n - 1) if n > 0 else deep())


class Down:
    def __getattr__(self, name):
        levels = int(name[5:])
        return getattr(self, f"level{levels - 1}") if levels > 0 else deep()


def down_getattr(levels):
    return getattr(Down(), f"level{levels}")


def down_generator(levels):
    if levels > 0:
        yield from down_generator(levels - 1)
    else:
        yield deep()


async def down_coroutine(levels):
    return await down_coroutine(levels - 1) if levels > 0 else await resting()


class Rest:
    def __await__(self):
        yield
        deep()
        yield


async def resting():
    await Rest()


def run_coroutine(levels):
    task = down_coroutine(levels)
    task.send(None)
    task.send(None)
    task.close()


def run_generator(levels):
    for _ in down_generator(levels):
        pass


WAYS = {"sorted": down_sorted, "threads": down_sorted, "getattr": down_getattr, "once": down_getattr,
        "generator": run_generator, "coroutine": run_coroutine}


def dive(way, depth):
    begin = time.perf_counter()
    try:
        way(depth)
    finally:
        dives.append(time.perf_counter() - begin)


def turns(way, depth, deep_turns):
    while not select.select([0], [], [], 0)[0]:
        if deep_turns != 0:
            dive(way, depth)
            deep_turns -= 1
        flat()


def permitted(way, depth):
    """The depth, or as much of it as CPython permits."""
    while True:
        try:
            dive(way, depth)
            return depth
        except (RecursionError, MemoryError):
            depth //= 2


def main(kind, depth):
    sys.setrecursionlimit(200000)
    threading.stack_size(256 << 20)
    found = []
    probe = threading.Thread(target=lambda: found.append(permitted(WAYS[kind], depth)), name="probe")
    probe.start()
    probe.join()
    spent.update(deep=0, flat=0)
    work = functools.partial(turns, WAYS[kind], found[0], 1 if kind == "once" else -1)
    divers = [threading.Thread(target=work, name=f"diver {i}") for i in range(6 if kind == "threads" else 1)]
    for diver in divers:
        diver.start()
    for diver in divers:
        diver.join()
    print(json.dumps({**spent, "depth": found[0], "dived": sum(dives)}))


main(sys.argv[1], int(sys.argv[2]))
