# SPDX-License-Identifier: MIT
"""Tasks with known lives: who awaits whom, and how much CPU time each uses. At its end the program prints the time of
each, of its main thread, and of the whole process."""
import asyncio
import json
import threading
import time

spent = {}


def burn(seconds):
    until = time.thread_time() + seconds
    while time.thread_time() < until:
        pass


async def works(name, times, seconds, pause):
    for _ in range(times):
        begun = time.thread_time()
        burn(seconds)
        spent[name] = spent.get(name, 0) + time.thread_time() - begun
        await asyncio.sleep(pause)


async def waits(task):
    await task


async def sleeps():
    await asyncio.sleep(1000)


def helps(seconds):
    burn(seconds)
    spent["thread"] = time.thread_time()


async def main():
    sleeper = asyncio.create_task(sleeps(), name="sleeper")
    busy = asyncio.create_task(works("busy", 40, 0.02, 0), name="busy")
    waiter = asyncio.create_task(waits(busy), name="waiter")
    often = asyncio.create_task(works("often", 400, 0.001, 0.002), name="often")
    await asyncio.gather(waiter, often)
    await asyncio.to_thread(helps, 0.3)
    sleeper.cancel()


asyncio.run(main())
print(json.dumps({**spent, "process": time.process_time(), "threads": threading.active_count()}))
