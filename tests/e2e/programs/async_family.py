# SPDX-License-Identifier: MIT
"""An asyncio program whose child processes have tasks, too. The argument is the way in which children start. Each process
prints a line of JSON: its pid, and which of its tasks awaits which. They work until standard input ends, which the parent tells its children."""
import asyncio
import json
import multiprocessing
import os
import select
import sys


def tell(tasks):
    os.write(1, (json.dumps({"pid": os.getpid(), "tasks": tasks}) + "\n").encode())


async def works(goes_on):
    while goes_on():
        sum(range(10_000))
        await asyncio.sleep(0.005)


async def of_child(number, over):
    one, other = f"child-{number}-a", f"child-{number}-b"
    asyncio.current_task().set_name(f"child-{number}")
    async with asyncio.TaskGroup() as group:
        for name in one, other:
            group.create_task(works(lambda: not over.is_set()), name=name)
    tell({f"child-{number}": None, one: f"child-{number}", other: f"child-{number}"})


def child(number, over):
    asyncio.run(of_child(number, over))


async def of_parent(way):
    asyncio.current_task().set_name("parent")
    context = multiprocessing.get_context(way)
    over = context.Event()
    children = [context.Process(target=child, args=(number, over)) for number in range(2)]
    for process in children:
        process.start()
    own = asyncio.create_task(works(lambda: not select.select([0], [], [], 0)[0]), name="parent-own")
    own.add_done_callback(lambda _: over.set())
    await asyncio.gather(own, *[asyncio.to_thread(process.join) for process in children])
    tell({"parent": None, "parent-own": "parent"})


if __name__ == "__main__":
    asyncio.run(of_parent(sys.argv[1]))
