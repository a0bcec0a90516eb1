# SPDX-License-Identifier: MIT
"""What the programs of the mode cases do, and how they keep account of it. Each kind of work is a function of its own.

A thread's account is a file PROGRAM.TID: after each round a line with the clock's time and, in nanoseconds so far, how
long it was on a processor, how long it held the interpreter's lock meanwhile, how long it was in an `except`, how long
it collected garbage, how long it wanted to sleep, and how long that took until it had the lock again."""
import gc
import os
import random
import signal
import sys
import threading
import time
import zlib

BLOCK = bytes(1 << 20)
clock, used = time.monotonic_ns, time.thread_time_ns


def about(milliseconds):
    """Never the same, so that rounds do not go along with ticks."""
    return int(milliseconds * 1e6 * random.uniform(0.8, 1.2))


class Account:
    def __init__(self):
        self.without_lock = self.handling = self.collecting = self.wanted = self.slept = 0
        self.file = open(f"{sys.argv[0]}.{threading.get_native_id()}", "w", encoding="ascii")

    def close_round(self):
        spent = used()
        sums = (clock(), spent, spent - self.without_lock, self.handling, self.collecting, self.wanted,
                self.slept)
        self.file.write(" ".join(map(str, sums)) + "\n")
        self.file.flush()


def nap(account, milliseconds):
    wanted, begin = about(milliseconds), clock()
    time.sleep(wanted / 1e9)
    account.wanted += wanted
    account.slept += clock() - begin


def compute(milliseconds):
    end = used() + about(milliseconds)
    while used() < end:
        pass


def leave_lock(account, milliseconds):
    """Native code that needs no lock."""
    begin = used()
    end = begin + about(milliseconds)
    while used() < end:
        zlib.crc32(BLOCK)
    account.without_lock += used() - begin


def handle(account, milliseconds):
    try:
        raise ValueError
    except ValueError:
        begin = clock()
        handle_it(milliseconds)
        account.handling += clock() - begin


def handle_it(milliseconds):
    compute(milliseconds)


class Ring:
    def __init__(self):
        self.ring = self


RINGS = []


def collect(account, milliseconds):
    """The first call makes what is looked through each time. The lock is only given away when a collection is over."""
    if not RINGS:
        gc.disable()
        RINGS.extend(Ring() for _ in range(20000))
    end = used() + about(milliseconds)
    while used() < end:
        begin = used()
        gc.collect()
        account.collecting += used() - begin


def run(*works):
    """A thread for each; the first is the main thread's. Never returns."""

    def repeat(work):
        account = Account()
        while True:
            work(account)
            account.close_round()

    signal.alarm(600)
    for work in works[1:]:
        threading.Thread(target=repeat, args=(work,), daemon=True).start()
    print("ready", os.getpid(), flush=True)
    repeat(works[0])
