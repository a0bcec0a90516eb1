# SPDX-License-Identifier: MIT
"""Stands still at known places in some threads, and lets faulthandler print them on SIGUSR1."""
import faulthandler
import os
import signal
import sys
import threading

STOP = threading.Event()


class Connection:
    pass


def below(depth):
    if depth:
        return below(depth - 1)
    STOP.wait()


def handles():
    try:
        raise ValueError
    except ValueError:
        STOP.wait()


def has_locals(number, text="it's é\n", *rest, **more):
    inside = 12345

    def inner(data=b"a\0b", part=0.1, whole=2.0, nothing=None, yes=True, large=2 ** 200, negative=-77, far=-2 ** 40):
        items, table, few, connection, long = [1, 2, 3], {1: 2}, {1, 2}, Connection(), "x" * 200
        STOP.wait(inside)
        never = 1
    inner()


def generates():
    yield STOP.wait()


def drains():
    for _ in generates():
        pass


THREADS = [threading.Thread(target=below, args=(9,), name="wartet \u00e9"), threading.Thread(target=handles, name="\033[31mred\a\n"),
           threading.Thread(target=has_locals, args=(42,), kwargs={"key": 1}, name="locals"),
           threading.Thread(target=drains, name="a name of more than fifteen bytes")]
faulthandler.register(signal.SIGUSR1, file=sys.stderr, all_threads=True)
for thread in THREADS:
    thread.daemon = True
    thread.start()
print("ready", os.getpid(), flush=True)
STOP.wait()
