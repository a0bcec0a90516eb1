# SPDX-License-Identifier: MIT
"""Threads of which is known what they do: each kind of work is a function of its own. doing.py WORK: does this
until standard input ends."""
import gc
import os
import select
import signal
import sys
import threading
import time


def spin(seconds):
    """Uses so much CPU time."""
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass


def goes_on():
    return not select.select([0], [], [], 0)[0]


# ---- exceptions: what begins with "with_" has one, what begins with "none_" does not ----

def with_handler():
    spin(0.01)


def none_outside():
    spin(0.01)


def with_finally_on_the_way():
    spin(0.01)


def none_in_finally_after_except():
    spin(0.01)


def none_in_plain_finally():
    spin(0.01)


def with_handler_in_generator():
    spin(0.01)


def with_handler_around_generator():
    spin(0.01)


def none_in_generator():
    spin(0.01)


def with_handler_in_coroutine():
    spin(0.01)


def with_handler_in_genexpr():
    spin(0.01)


def with_handler_in_callee_of_coroutine():
    spin(0.01)


def with_handler_around_nested_generators():
    spin(0.01)


def none_in_generator_finally_after_except():
    spin(0.01)


def propagate():
    try:
        raise ValueError
    finally:
        with_finally_on_the_way()


def handle():
    try:
        raise ValueError
    except ValueError:
        pass
    finally:
        none_in_finally_after_except()


def finish():
    try:
        pass
    finally:
        none_in_plain_finally()


def handling():
    try:
        raise KeyError
    except KeyError:
        with_handler_in_generator()
        yield 1


def yielding(work):
    work()
    yield 1


def yielding_from(work):
    yield from yielding(work)


def handling_and_finishing():
    try:
        raise KeyError
    except KeyError:
        pass
    finally:
        none_in_generator_finally_after_except()
    yield 1


def handle_in_callee():
    try:
        raise KeyError
    except KeyError:
        with_handler_in_callee_of_coroutine()


async def waiting():
    try:
        raise KeyError
    except KeyError:
        with_handler_in_coroutine()
    handle_in_callee()


def exceptions():
    while goes_on():
        try:
            raise ValueError
        except ValueError:
            with_handler()
            for _ in yielding(with_handler_around_generator):
                pass
            for _ in yielding_from(with_handler_around_nested_generators):
                pass
            sum(with_handler_in_genexpr() or 1 for _ in range(1))
        none_outside()
        try:
            propagate()
        except ValueError:
            pass
        handle()
        finish()
        for _ in handling():
            pass
        for _ in yielding(none_in_generator):
            pass
        for _ in handling_and_finishing():
            pass
        try:
            waiting().send(None)
        except StopIteration:
            pass


# ---- the processor and the lock ----

def sleeps():
    while goes_on():
        time.sleep(0.2)
        spin(0.1)


def beside():
    while goes_on():
        spin(0.01)


def two():
    other = threading.Thread(target=beside, daemon=True)
    other.start()
    while goes_on():
        spin(0.01)
    other.join()


# ---- C code ----

def key(number):
    spin(0.00002)
    return -number


def calls_c():
    while goes_on():
        sorted(range(100), key=key)


class Ring:
    def __init__(self):
        self.ring = self


def collects():
    gc.disable()  # only when we say
    kept = [Ring() for _ in range(50000)]
    while kept and goes_on():
        gc.collect()
        spin(0.01)


signal.alarm(600)
print("ready", os.getpid(), flush=True)
globals()[sys.argv[1]]()
