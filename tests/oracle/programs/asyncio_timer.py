# SPDX-License-Identifier: MIT
"""A timer of an asyncio loop, every 3 ms, that works for three tenths of this time. Its account: work()."""
import asyncio
import os
from time import perf_counter

import ledger

#: distance 5000
#: Handle._run -> tick
#: BaseEventLoop.call_at -> BaseEventLoop.get_debug
PERIOD = 0.003


def work(end):
    while perf_counter() < end:
        pass


def tick(loop, times, at):
    begin = perf_counter()
    work(begin + 0.3 * PERIOD)  # -> work
    times[0] += perf_counter() - begin
    loop.call_at(at + PERIOD, tick, loop, times, at + PERIOD)  # -> *


def main():
    times = ledger.open_for("work")
    loop = asyncio.new_event_loop()  # -> *
    loop.call_soon(tick, loop, times, loop.time())  # -> *
    print("ready", os.getpid(), flush=True)
    loop.run_forever()  # -> *


main()  # -> main
