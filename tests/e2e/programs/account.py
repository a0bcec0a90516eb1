# SPDX-License-Identifier: MIT
"""Keeps account of what it does: account.py KIND [SECONDS]. Says in JSON how long it was in each of its functions.

frame_spin MS, frame_sleep MS: works for 30 % of frames of so many milliseconds, and then waits for the next.
new_code: a function that is made, called once and forgotten, in turn with one that stays.
generators: steps of generators in turn with a plain loop; without SECONDS until standard input ends.
short: calls, steps and coroutines of some microseconds, each in turn.
fork: a process with 256 MiB forks, and does something else for a while."""
import json
import os
import select
import sys
import time
from time import perf_counter


def work(until):
    while perf_counter() < until:
        pass


def spin_on(until):
    while perf_counter() < until:
        pass


def sleep_on(until):
    while perf_counter() < until:
        time.sleep(max(0, until - perf_counter()))


def frames(rest, seconds, frame):
    spent = {"work": 0, rest.__name__: 0}
    due = perf_counter()
    end = due + seconds
    while due < end:
        due += frame
        begin = perf_counter()
        work(begin + 0.3 * frame)
        middle = perf_counter()
        rest(due)
        spent["work"] += middle - begin
        spent[rest.__name__] += perf_counter() - middle
    return spent


def new(number):
    source = f"def made_{number}(n):\n    total = 0\n    for i in range(n):\n        total += i\n    return total\n"
    exec(compile(source + f"made_{number}(3000)", f"made-{number}", "exec"), {})


def old(n):
    total = 0
    for i in range(n):
        total += i
    return total


def new_code(seconds):
    spent = {"new": 0, "old": 0}
    end = perf_counter() + seconds
    number = 0
    while perf_counter() < end:
        begin = perf_counter()
        new(number)
        middle = perf_counter()
        old(3000)
        spent["new"] += middle - begin
        spent["old"] += perf_counter() - middle
        number += 1
    return spent


def count(n):
    for i in range(n):
        yield i


def short_steps(n):
    total = 0
    for _ in range(n):
        for i in count(3):
            total += i
    return total


def generators(seconds):
    spent = {"short_steps": 0, "old": 0}
    end = perf_counter() + seconds
    while perf_counter() < end and (sys.argv[2:] or not select.select([0], [], [], 0)[0]):
        begin = perf_counter()
        short_steps(1000)
        middle = perf_counter()
        old(10000)
        spent["short_steps"] += middle - begin
        spent["old"] += perf_counter() - middle
    return spent


def step(spent):
    while True:
        begin = perf_counter()
        for _ in range(100):
            pass
        spent["step"] += perf_counter() - begin
        yield


class Call:
    def __init__(self, spent):
        begin = perf_counter()
        for _ in range(100):
            pass
        spent["__init__"] += perf_counter() - begin


async def wait(spent):
    begin = perf_counter()
    for _ in range(100):
        pass
    spent["wait"] += perf_counter() - begin


def once(spent, number):
    begin = perf_counter()
    for _ in range(100):
        pass
    spent["once"] += perf_counter() - begin


async def waits(spent):
    await wait(spent)


def short(seconds):
    spent = {"step": 0, "__init__": 0, "wait": 0, "once": 0}
    end = perf_counter() + seconds
    steps = step(spent)
    while perf_counter() < end:
        for number in range(20):
            next(steps)
            Call(spent)
            try:
                waits(spent).send(None)
            except StopIteration:
                pass
            once(spent, number)
    return spent


def do_fork():
    child = os.fork()
    if child == 0:
        os._exit(0)
    return child


def do_wait(child):
    os.waitpid(child, 0)


def do_else(until):
    while perf_counter() < until:
        pass


def fork(seconds):
    memory = bytearray(b"x") * (256 << 20)
    spent = {"do_fork": 0, "do_wait": 0, "do_else": 0}
    end = perf_counter() + seconds
    while perf_counter() < end:
        begin = perf_counter()
        child = do_fork()
        forked = perf_counter()
        do_wait(child)
        waited = perf_counter()
        do_else(waited + 0.02)
        spent["do_fork"] += forked - begin
        spent["do_wait"] += waited - forked
        spent["do_else"] += perf_counter() - waited
    assert memory[-1]
    return spent


kind, seconds = sys.argv[1], float((*sys.argv[2:], 600)[0])
KINDS = {"new_code": new_code, "generators": generators, "short": short, "fork": fork}
if kind.startswith("frame_"):
    name, ms = kind.rsplit("_", 1)
    spent = frames({"frame_spin": spin_on, "frame_sleep": sleep_on}[name], seconds, int(ms) / 1000)
else:
    spent = KINDS[kind](seconds)
print(json.dumps(spent), flush=True)
