# SPDX-License-Identifier: MIT
"""Eight asyncio tasks that each wait for a task of their own, which computes and sleeps by turns."""
import asyncio
import os
import signal


def compute(n):
    return sum(number * number for number in range(n))


async def leaf():
    while True:
        compute(10000)
        await asyncio.sleep(0.001)


async def parent(number):
    async with asyncio.TaskGroup() as group:
        group.create_task(leaf(), name=f"leaf-{number}")


async def main():
    async with asyncio.TaskGroup() as group:
        for number in range(8):
            group.create_task(parent(number), name=f"parent-{number}")
        print("ready", os.getpid(), flush=True)


signal.alarm(600)
asyncio.run(main())
