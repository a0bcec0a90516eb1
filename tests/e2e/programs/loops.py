# SPDX-License-Identifier: MIT
"""An asyncio loop that is busy, or blocked: loops.py KIND. Says in JSON when each callback ran that took 2 ms and more, by
the monotonic clock in ns: when it had not begun yet (the first one of a turn: when the turn began), when it ran, when it did
so for the last time, when the loop had gone on. The program may have lost the processor at any of these.

chain, steps, many, gather, streams, executor, timers: short callbacks and steps of tasks, for two seconds.
callback, second, crowded, step, handler, signals: blocks of 60, 100 and 300 ms that work, and that sleep: in a callback that is
the first of its turn, the second, and the 400th; in a task; in a callback for a signal; in a handler that interrupts a callback.
thread: as callback, in a second thread, while the first one works."""
import asyncio
import json
import os
import selectors
import signal
import sys
import threading
import time
from time import monotonic_ns

LONG, SECONDS = 2_000_000, 2
spans = []  # the last one is that of the latest callback, long or not, and not complete
run, select = asyncio.events.Handle._run, selectors.DefaultSelector.select


def go_on(now):
    """The latest callback is over."""
    if spans and len(spans[-1]) == 3:
        spans[-1].append(now)
        if now - spans[-1][0] < LONG:
            spans.pop()


def measured(handle):
    begin = monotonic_ns()
    before = last[0]
    go_on(begin)
    run(handle)
    caller = sys._getframe(1)
    turn = (caller if caller.f_code.co_name == "_run_once" else caller.f_back).f_locals  # 3.15: _ThreadSafeHandle._run
    spans.append([int(turn["end_time"] * 1e9) if turn["i"] == 0 else before, begin, monotonic_ns()])
    last[0] = spans[-1][2]


def measured_select(*arguments):
    go_on(monotonic_ns())
    return select(*arguments)


last = [0]
asyncio.events.Handle._run, selectors.DefaultSelector.select = measured, measured_select


def work(seconds):
    until = monotonic_ns() + seconds * 1e9
    while monotonic_ns() < until:
        pass


def nothing():
    pass


# ---- busy ----

def again(loop, until):
    work(0.001)
    if monotonic_ns() < until:
        loop.call_soon(again, loop, until)


async def chain(until):
    asyncio.get_running_loop().call_soon(again, asyncio.get_running_loop(), until)
    await asyncio.sleep(SECONDS + 0.1)


async def steps(until, seconds=0.001):
    while monotonic_ns() < until:
        work(seconds)
        await asyncio.sleep(0)


async def many(until):
    await asyncio.gather(*(steps(until) for _ in range(50)))


async def gather(until):
    async def one():
        work(0.0001)
    while monotonic_ns() < until:
        await asyncio.gather(*(one() for _ in range(30)))


async def streams(until):
    async def echo(reader, writer):
        while line := await reader.readline():
            writer.write(line)
            await writer.drain()
        writer.close()

    async def client(port):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        while monotonic_ns() < until:
            writer.write(b"x" * 100 + b"\n")
            await reader.readline()
        writer.close()

    server = await asyncio.start_server(echo, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    await asyncio.gather(*(client(port) for _ in range(8)))
    server.close()


async def executor(until):
    while monotonic_ns() < until:
        await asyncio.gather(*(asyncio.get_running_loop().run_in_executor(None, work, 0.0005) for _ in range(4)))


async def timers(until):
    while monotonic_ns() < until:
        asyncio.get_running_loop().call_later(0.0005, work, 0.0005)
        await asyncio.sleep(0.001)


# ---- blocked ----

async def blocked(block):
    loop = asyncio.get_running_loop()
    for how in work, time.sleep:
        for seconds in 0.06, 0.1, 0.3:
            block(loop, how, seconds)
            await asyncio.sleep(seconds + 0.05)


async def callback(until):
    await blocked(lambda loop, how, seconds: loop.call_soon(how, seconds))


async def second(until):
    await blocked(lambda loop, how, seconds: (loop.call_soon(nothing), loop.call_soon(how, seconds)))


async def crowded(until):
    await blocked(lambda loop, how, seconds: ([loop.call_soon(nothing) for _ in range(400)], loop.call_soon(how, seconds)))


async def step(until):
    async def one(how, seconds):
        how(seconds)
    await blocked(lambda loop, how, seconds: loop.create_task(one(how, seconds)))


async def handler(until):
    def send(loop, how, seconds):
        loop.add_signal_handler(signal.SIGUSR1, how, seconds)
        os.kill(os.getpid(), signal.SIGUSR1)
    await blocked(send)


async def signals(until):
    def send(loop, how, seconds):
        signal.signal(signal.SIGUSR1, lambda *_: how(seconds))
        loop.call_soon(os.kill, os.getpid(), signal.SIGUSR1)
    await blocked(send)


def thread():
    one = threading.Thread(target=asyncio.run, args=(callback(0),), name="loop")
    one.start()
    while one.is_alive():
        work(0.01)


if sys.argv[1] == "thread":
    thread()
else:
    asyncio.run(globals()[sys.argv[1]](monotonic_ns() + SECONDS * 10**9))
go_on(monotonic_ns())
print(json.dumps(spans))
