# SPDX-License-Identifier: MIT
"""Tasks with known lives, until standard input ends: who awaits whom, and how much CPU time each uses. At its end the
program prints the time of each, of its main thread, and of the whole process."""
import asyncio
import json
import select
import threading
import time

spent = {}


def goes_on():
    return not select.select([0], [], [], 0)[0]


def burn(seconds):
    until = time.thread_time() + seconds
    while time.thread_time() < until:
        pass


async def works(name, seconds, pause):
    while goes_on():
        begun = time.thread_time()
        burn(seconds)
        spent[name] = spent.get(name, 0) + time.thread_time() - begun
        await asyncio.sleep(pause)


async def waits(task):
    await task


async def sleeps():
    await asyncio.sleep(1000)


def helps():
    while goes_on():
        burn(0.002)
        time.sleep(0.005)
    spent["thread"] = time.thread_time()


async def main():
    sleeper = asyncio.create_task(sleeps(), name="sleeper")
    busy = asyncio.create_task(works("busy", 0.02, 0), name="busy")
    waiter = asyncio.create_task(waits(busy), name="waiter")
    often = asyncio.create_task(works("often", 0.001, 0.002), name="often")
    await asyncio.gather(waiter, often, asyncio.to_thread(helps))
    sleeper.cancel()


asyncio.run(main())
print(json.dumps({**spent, "process": time.process_time(), "threads": threading.active_count()}))
