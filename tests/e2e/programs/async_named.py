# SPDX-License-Identifier: MIT
"""Tasks that each run only functions that are named for them: task_7 and child_7 run functions that end in _7."""
import asyncio
import os
import signal

TASKS = 12

FUNCTIONS = '''
def plain_K(n):
    return sum(range(n))

def deeper_K(n):
    return plain_K(n) + plain_K(n + 1)

async def sleep_K(n):
    deeper_K(n)
    await asyncio.sleep(0 if n % 3 else 0.0001)

async def middle_K(n):
    await sleep_K(n)
    deeper_K(n)

async def numbers_K(n):
    for number in range(3):
        await middle_K(number)
        yield number

async def child_K(n):
    async for number in numbers_K(n):
        plain_K(number)

async def outer_K():
    n = 0
    while True:
        n += 1
        await middle_K(n)
        if n % 2:
            await asyncio.create_task(child_K(n), name="child_K")
        else:
            async with asyncio.TaskGroup() as group:
                group.create_task(child_K(n), name="child_K")
'''


async def main():
    names = {"asyncio": asyncio}
    exec(compile("".join(FUNCTIONS.replace("K", str(k)) for k in range(TASKS)), __file__, "exec"), names)
    print("ready", os.getpid(), flush=True)
    await asyncio.gather(*(asyncio.create_task(names[f"outer_{k}"](), name=f"task_{k}") for k in range(TASKS)))


signal.alarm(120)
asyncio.run(main())
