# SPDX-License-Identifier: MIT
"""titles.py STEPS FILLER: writes titles over its arguments, as workers of servers do, each SECONDS after the one before.

STEPS is a list [[SECONDS, TITLE], ...] as JSON: what it is called for so long; SECONDS null: until standard input has something;
TITLE null: as before. Room for the titles is that of the arguments, so FILLER may be long. With "workers" in the place of FILLER,
two children do all steps but the first.
"""
import ctypes
import json
import os
import select
import sys
import time


def room():
    """Where the arguments are in memory: right before the first text of the environment."""
    first = ctypes.POINTER(ctypes.c_void_p).in_dll(ctypes.CDLL(None), "environ")[0]
    end = ctypes.cast(first, ctypes.c_void_p).value
    return end - sum(len(os.fsencode(argument)) + 1 for argument in sys.orig_argv), end


def write_title(title, where):
    """The title, and zeros over the rest. An empty one erases what was there."""
    start, end = where
    text = title.encode()
    assert len(text) < end - start
    ctypes.memset(start, 0, end - start)
    ctypes.memmove(start, text, len(text))


def spin(seconds):
    end = None if seconds is None else time.monotonic() + seconds
    while time.monotonic() < end if end else not select.select([0], [], [], 0)[0]:
        sum(range(1000))


def go(steps, where):
    for seconds, title in steps:
        if title is not None:
            write_title(title, where)
        os.write(1, f"ready {os.getpid()}\n".encode())  # whole, whoever else says something
        spin(seconds)


if __name__ == "__main__":
    steps, where = json.loads(sys.argv[1]), room()
    if sys.argv[2] == "workers":
        go(steps[:1], where)
        children = []
        for _ in range(2):
            child = os.fork()
            if child == 0:
                go(steps[1:], where)
                os._exit(0)
            children.append(child)
        for child in children:
            os.waitpid(child, 0)
    else:
        go(steps, where)
