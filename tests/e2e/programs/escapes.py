# SPDX-License-Identifier: MIT
"""Takes names that a terminal would take for commands, and that forge lines: for its threads, its functions and their
file. Works for SECONDS.

    escapes.py NAME SECONDS
"""
import ctypes
import os
import sys
import threading
import time
import types

NAME, SECONDS = sys.argv[1], float(sys.argv[2])


def work(end):
    while time.monotonic() < end:
        sum(range(500))


def named(function):
    code = function.__code__.replace(co_name=NAME, co_qualname=NAME, co_filename=f"/tmp/{NAME}.py")
    return types.FunctionType(code, function.__globals__)


def of_the_kernel():
    ctypes.CDLL(None).prctl(15, NAME[:15].encode()[:15])  # PR_SET_NAME
    named(work)(end)


end = time.monotonic() + SECONDS
threads = [threading.Thread(target=named(work), args=(end,), name=NAME), threading.Thread(target=of_the_kernel)]
for thread in threads:
    thread.start()
print("ready", os.getpid(), flush=True)
named(work)(end)
for thread in threads:
    thread.join()
