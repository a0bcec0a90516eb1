# SPDX-License-Identifier: MIT
"""asyncio tasks that wait for each other, and for other things, in all ways. What is to be seen of each is in
tests/e2e/record/test_async.py."""
import asyncio
import os
import signal
import sys
import threading
import types
from asyncio import staggered

LONG = 1000


def ready():
    print("ready", os.getpid(), flush=True)


def spin():
    ready()
    while True:
        pass


async def leaf():
    await asyncio.sleep(LONG)


# ---- one for the other ----

async def gathers():
    await asyncio.gather(asyncio.create_task(leaf(), name="gathered-1"), asyncio.create_task(leaf(), name="gathered-2"))


async def groups():
    async with asyncio.TaskGroup() as group:
        group.create_task(leaf(), name="grouped")


async def waits_for(task):
    await task


async def waits_kindly(task):
    await asyncio.shield(task)


async def diamond():
    bottom = asyncio.create_task(leaf(), name="bottom")
    left = asyncio.create_task(waits_for(bottom), name="left")
    right = asyncio.create_task(waits_for(bottom), name="right")
    await asyncio.gather(left, right)


async def takes_out():
    """Some that waited for it have gone: their slots in the set are empty again."""
    wanted = asyncio.create_task(leaf(), name="wanted")
    waiting = [asyncio.create_task(waits_kindly(wanted), name=f"waits-{number}") for number in range(20)]
    await asyncio.sleep(0.01)
    for task in waiting[2:]:
        task.cancel()
    await asyncio.sleep(LONG)


async def waits_in_ring(others, number):
    await others[1 - number]


def ring():
    others = []
    others += [asyncio.create_task(waits_in_ring(others, number), name=f"ring-{number}") for number in range(2)]
    return others


async def race():
    async def contender():
        await asyncio.sleep(LONG)

    await staggered.staggered_race([contender, contender], 0.01)


# ---- a task's own frames ----

async def counts():
    await asyncio.sleep(LONG)
    yield 1


async def outer_counts():
    async for number in counts():
        yield number


async def uses_generator():
    async for _ in outer_counts():
        pass


async def uses_anext():
    await anext(counts(), None)


async def uses_asend():
    await counts().asend(None)


async def recursive(depth):
    if depth:
        await recursive(depth - 1)
    else:
        await asyncio.sleep(LONG)


class async_generator_asend:  # pylint: disable=invalid-name  # the name is the point
    """Only called like CPython's own: what it waits for is not that object's second word."""

    def __init__(self):
        self.hidden = counts()
        self.wanted = asyncio.get_running_loop().create_future()

    def __await__(self):
        return self

    def __iter__(self):
        return self

    def __next__(self):
        self.wanted._asyncio_future_blocking = True  # pylint: disable=protected-access  # as a future's own __await__ does
        return self.wanted


async def uses_own_class():
    await async_generator_asend()


@types.coroutine
def old_style():
    yield from leaf().__await__()


async def uses_old_style():
    await old_style()


async def named_anew():
    task = asyncio.current_task()
    task.set_name("früher")
    await asyncio.sleep(0.05)
    task.set_name("sp\u00e4ter \u4e2d \U0001f40d")
    await asyncio.sleep(LONG)


# ---- what runs ----

async def eager_inner():
    spin()


async def eager_outer():
    asyncio.eager_task_factory(asyncio.get_running_loop(), eager_inner(), name="inner")
    await asyncio.sleep(LONG)


async def runs_in_generator():
    async for _ in generates():
        pass


async def generates():
    spin()
    yield 1


def loop_of_thread(started):
    async def on_thread():
        started.set()
        await asyncio.sleep(LONG)

    async def main_of_thread():
        await asyncio.create_task(on_thread(), name="on-thread")

    asyncio.run(main_of_thread())


def loop_that_ends(kept):
    loop = asyncio.new_event_loop()
    kept.append(loop)

    async def orphan():
        await asyncio.sleep(LONG)

    kept.append(loop.create_task(orphan(), name="orphan"))
    loop.call_later(0.01, loop.stop)
    loop.run_forever()


def start(target, *arguments):
    thread = threading.Thread(target=target, args=arguments, daemon=True)
    thread.start()
    return thread


SHAPES = [gathers, groups, diamond, takes_out, race, uses_generator, uses_anext, uses_asend, uses_own_class, uses_old_style,
          named_anew]


async def shapes():
    kept, started = [], threading.Event()
    kept += [asyncio.create_task(shape(), name=shape.__name__) for shape in SHAPES]
    kept.append(asyncio.create_task(recursive(60), name="recursive"))
    kept.append(asyncio.create_task(leaf(), name="n" * 400))
    kept.append(asyncio.create_task(leaf()))
    kept += ring()
    start(loop_of_thread, started)
    started.wait()
    start(loop_that_ends, kept).join()
    loop = asyncio.get_running_loop()
    loop.call_later(0.3, loop.call_later, 0.2, ready)  # when all wait, this task too, and after all that is due earlier
    await asyncio.sleep(LONG)


async def runs(what):
    await asyncio.create_task(what(), name="outer")


async def many(count):
    tasks = [asyncio.create_task(leaf(), name=f"many-{number}") for number in range(count)]
    asyncio.get_running_loop().call_later(0.3, ready)  # when this task waits, too
    await asyncio.wait(tasks)


async def main():
    what = sys.argv[1]
    if what == "many":
        await many(int(sys.argv[2]))
    elif what == "shapes":
        await shapes()
    else:
        await runs(globals()[what])


signal.alarm(120)
if __name__ == "__main__":
    asyncio.run(main())
