# SPDX-License-Identifier: MIT
"""An asyncio loop with tasks of different coroutines."""
import asyncio
import os

# What C code of asyncio calls:
#: Handle._run -> ticker worker short main BaseEventLoop.call_soon _set_result_unless_cancelled BaseEventLoop.get_debug
#: _set_result_unless_cancelled -> BaseEventLoop.call_soon
#: BaseEventLoop.create_task -> BaseEventLoop.call_soon BaseEventLoop.get_debug WeakSet.add
#: BaseEventLoop.create_future -> BaseEventLoop.get_debug
#: sleep -> BaseEventLoop.call_soon
# Wherever a task is freed:
#: * -> WeakSet.__init__.<locals>._remove


def compute(n):
    return sum(range(n))


async def ticker():
    while True:
        compute(10)  # -> compute
        await asyncio.sleep(0)  # -> *


async def level_2(n):
    compute(n)  # -> compute
    await asyncio.sleep(0)  # -> *
    compute(n)  # -> compute


async def level_1(n):
    await level_2(n)  # -> level_2
    await level_2(n + 1)  # -> level_2


async def worker():
    while True:
        await level_1(20)  # -> level_1


async def short():
    return compute(5)  # -> compute


async def main():
    print("ready", os.getpid(), flush=True)
    tasks = [
        asyncio.create_task(ticker()),  # -> * ticker
        asyncio.create_task(worker()),  # -> * worker
        asyncio.create_task(worker())]  # -> * worker
    while tasks:
        await asyncio.create_task(short())  # -> * short
        await asyncio.sleep(0.0001)  # -> *


asyncio.run(main())  # -> *
