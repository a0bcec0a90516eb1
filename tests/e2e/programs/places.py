# SPDX-License-Identifier: MIT
"""Spins in one function, called from many places: places.py [ROUNDS]. Says in JSON, for each place, the chains of
callers that sys._getframe() showed there ([[name, first line], ...], root first), and the seconds that were spun. Without
ROUNDS it says so after the first one, and goes on until standard input ends."""
import asyncio
import contextlib
import functools
import gc
import json
import re
import select
import sys
import time

gc.disable()  # a collection may run in any of them
STEP = 0.0003
chains, spent, told = {}, {}, set()


def chain_of(frame):
    chain = []
    while frame:
        chain.append([frame.f_code.co_qualname, frame.f_code.co_firstlineno])
        frame = frame.f_back
    return chain[::-1]


def spin(place):
    begin = time.perf_counter()
    while time.perf_counter() < begin + STEP:
        pass
    if place not in told:  # it is the same each time, and takes long
        told.add(place)
        chains.setdefault(place, []).append(chain_of(sys._getframe()))
    spent[place] = spent.get(place, 0) + time.perf_counter() - begin
    return 0


def plain():
    inner_call()


def inner_call():
    spin("plain")


def recursion(n):
    spin("recursion") if n == 0 else recursion(n - 1)


def steps():
    for _ in range(2):
        spin("generator")
        yield


def delegating():
    yield from delegated()


def delegated():
    spin("yield from")
    yield


class Ready:
    def __await__(self):
        spin("__await__")
        yield


async def inner_coroutine():
    await Ready()
    spin("coroutine")


async def outer_coroutine():
    await inner_coroutine()


def drive():
    coroutine = outer_coroutine()
    with contextlib.suppress(StopIteration):
        while True:
            coroutine.send(None)


async def numbers():
    spin("asynchronous generator")
    yield 1


async def in_a_loop():
    async for _ in numbers():
        await asyncio.sleep(0)
        spin("task")


def key(number):
    return spin("key of sorted")


def replace(match):
    return str(spin("callback of re"))


class Has:
    @property
    def value(self):
        return spin("property")

    def __getattr__(self, name):
        return spin("__getattr__")

    def __add__(self, other):
        return spin("__add__")

    def __len__(self):
        return spin("__len__")

    @functools.lru_cache(maxsize=0)
    def cached(self):
        return spin("cached method")


class Made:
    def __init__(self):
        super().__init__()
        spin("__init__")


class Base(type):
    def __new__(cls, name, bases, body):
        spin("__new__ of a class")
        return super().__new__(cls, name, bases, body)


def wrapped(function):
    @functools.wraps(function)
    def call(*arguments):
        return function(*arguments)
    return call


@wrapped
def decorated():
    spin("decorated")


@contextlib.contextmanager
def around():
    spin("__enter__")
    yield
    spin("__exit__")


def raising():
    try:
        raise ValueError
    except ValueError:
        spin("except")
    finally:
        spin("finally")


def new_code():
    exec(compile("def made():\n    spin('new code')\nmade()", "made", "exec"), {"spin": spin})


def once():
    plain()
    recursion(20)
    for _ in steps():
        pass
    list(delegating())
    drive()
    loop.run_until_complete(in_a_loop())
    sorted([1], key=key)
    max([1], key=lambda _: spin("lambda"))
    "".join(str(spin("generator expression")) for _ in range(1))
    {spin("set") for _ in range(1)}
    re.sub("a", replace, "a")
    has = Has()
    has.value
    has.something
    has + has
    len(has)
    has.cached()
    functools.partial(spin, "partial")()
    Made()
    Base("Name", (), {})
    decorated()
    with around():
        spin("with")
    raising()
    new_code()


loop = asyncio.new_event_loop()
for _ in range(int((*sys.argv[1:], 1)[0])):
    once()
print(json.dumps({"chains": chains, "spent": spent}), flush=True)
while not sys.argv[1:] and not select.select([0], [], [], 0)[0]:
    once()
loop.close()
