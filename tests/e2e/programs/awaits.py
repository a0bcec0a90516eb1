# SPDX-License-Identifier: MIT
"""Asyncio tasks that wait for each other, and with an argument one that runs."""
import asyncio
import os
import sys


async def leaf():
    await asyncio.sleep(1000)


async def middle():
    async with asyncio.TaskGroup() as group:
        group.create_task(leaf(), name="leaf a")
        group.create_task(leaf(), name="leaf b")


async def spins():
    while True:
        for _ in range(1000000):
            pass
        await asyncio.sleep(0)


async def main():
    tasks = [asyncio.create_task(middle(), name="middle")]
    if len(sys.argv) > 1:
        tasks.append(asyncio.create_task(spins(), name="spins"))
    await asyncio.sleep(0.01)
    print("ready", os.getpid(), flush=True)
    await asyncio.gather(*tasks)

asyncio.run(main())
