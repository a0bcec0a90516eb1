# SPDX-License-Identifier: MIT
"""Keeps account of its time: columns.py KIND AMOUNT. Prints the account as JSON at its end: seconds of each function, thread
or task, by the program's own clocks. CPU time is time.thread_time(), wall time is time.perf_counter().

account_bursts N: N rounds of a (1 ms of CPU), a short sleep, b (1 ms), c (3 ms) and a long sleep.
short_bursts SECONDS: 0.3 ms of CPU and a sleep of 4 ms, by turns.
fight SECONDS: two threads that spin, and a third thread that spins for the first quarter of the time.
tasks SECONDS: asyncio tasks that do the same work by turns.
interpreters SECONDS: one thread that enters three interpreters by turns.
steady SECONDS: one function that spins."""
import json
import sys
import threading
import time
from time import perf_counter, thread_time

begun = perf_counter()


def a():
    until = thread_time() + 0.001
    while thread_time() < until:
        pass


def b():
    until = thread_time() + 0.001
    while thread_time() < until:
        pass


def c():
    until = thread_time() + 0.003
    while thread_time() < until:
        pass


def sleep_short():
    time.sleep(0.002)


def sleep_long():
    time.sleep(0.010)


def account_bursts(rounds):
    parts = (a, sleep_short, b, c, sleep_long)
    cpu, wall = ({part.__name__: 0 for part in parts} for _ in range(2))
    for _ in range(int(rounds)):
        for part in parts:
            cpu_before, wall_before = thread_time(), perf_counter()
            part()
            cpu[part.__name__] += thread_time() - cpu_before
            wall[part.__name__] += perf_counter() - wall_before
    return {"cpu": cpu, "wall": wall}


def work_short():
    until = thread_time() + 0.0003
    while thread_time() < until:
        pass


def short_bursts(seconds):
    until, before = perf_counter() + seconds, thread_time()
    while perf_counter() < until:
        work_short()
        time.sleep(0.004)
    return {"cpu": {"short_bursts": thread_time() - before}}


def spin(until):
    while perf_counter() < until:
        pass


def fight(seconds):
    lives, cpu = {}, {}

    def live(lasts):
        name, start = threading.current_thread().name, perf_counter()
        spin(start + lasts)
        lives[name], cpu[name] = perf_counter() - start, thread_time()

    threads = [threading.Thread(target=live, name=name, args=(lasts,))
               for name, lasts in (("burner-1", seconds), ("burner-2", seconds), ("short", seconds / 4))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return {"lives": lives, "cpu": cpu}


def tasks(seconds):
    import asyncio
    cpu = dict.fromkeys(("even", "odd"), 0)

    async def fetch(name, until):
        while perf_counter() < until:
            before = thread_time()
            c()
            cpu[name] += thread_time() - before
            await asyncio.sleep(0.001)

    async def both():
        until = perf_counter() + seconds
        await asyncio.gather(*(asyncio.create_task(fetch(name, until), name=name) for name in cpu))

    asyncio.run(both())
    return {"cpu": cpu}


def interpreters(seconds):
    import _interpreters
    lives = {}

    def enter():
        start = perf_counter()
        made = [_interpreters.create("isolated") for _ in range(3)]
        while perf_counter() < start + seconds:
            for interpreter in made:
                wrong = _interpreters.exec(interpreter, "import time\nuntil = time.perf_counter() + 0.02\n"
                                                        "while time.perf_counter() < until: pass")
                assert wrong is None, wrong
        lives["enters"] = perf_counter() - start

    thread = threading.Thread(target=enter, name="enters")
    thread.start()
    thread.join()
    return {"lives": lives}


def steady(seconds):
    start = perf_counter()
    spin(start + seconds)
    return {"wall": {"spin": perf_counter() - start}}


KINDS = {kind.__name__: kind for kind in (account_bursts, short_bursts, fight, tasks, interpreters, steady)}
account = KINDS[sys.argv[1]](float(sys.argv[2]))
print(json.dumps({**account, "main_life": perf_counter() - begun, "main_cpu": thread_time()}), flush=True)
