# SPDX-License-Identifier: MIT
"""An asyncio program whose child processes have tasks, too. The argument is the way in which children start. Each process
prints a line of JSON: its pid, and which of its tasks awaits which."""
import asyncio
import json
import multiprocessing
import os
import sys


def tell(tasks):
    os.write(1, (json.dumps({"pid": os.getpid(), "tasks": tasks}) + "\n").encode())


async def works():
    for _ in range(100):
        sum(range(10_000))
        await asyncio.sleep(0.005)


async def of_child(number):
    one, other = f"child-{number}-a", f"child-{number}-b"
    asyncio.current_task().set_name(f"child-{number}")
    async with asyncio.TaskGroup() as group:
        group.create_task(works(), name=one)
        group.create_task(works(), name=other)
    tell({f"child-{number}": None, one: f"child-{number}", other: f"child-{number}"})


def child(number):
    asyncio.run(of_child(number))


async def of_parent(way):
    asyncio.current_task().set_name("parent")
    children = [multiprocessing.get_context(way).Process(target=child, args=(number,)) for number in range(2)]
    for process in children:
        process.start()
    own = asyncio.create_task(works(), name="parent-own")
    await asyncio.gather(own, *[asyncio.to_thread(process.join) for process in children])
    tell({"parent": None, "parent-own": "parent"})


if __name__ == "__main__":
    asyncio.run(of_parent(sys.argv[1]))
