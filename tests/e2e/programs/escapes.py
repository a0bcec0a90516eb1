# SPDX-License-Identifier: MIT
"""Takes names that a terminal would take for commands, and that forge lines: for its threads, its functions and their
file. Works until standard input ends.

    escapes.py NAME
"""
import ctypes
import os
import select
import sys
import threading
import types

NAME = sys.argv[1]


def work():
    while not select.select([0], [], [], 0)[0]:
        sum(range(500))


def named(function):
    code = function.__code__.replace(co_name=NAME, co_qualname=NAME, co_filename=f"/tmp/{NAME}.py")
    return types.FunctionType(code, function.__globals__)


def of_the_kernel():
    ctypes.CDLL(None).prctl(15, NAME[:15].encode()[:15])  # PR_SET_NAME
    named(work)()


threads = [threading.Thread(target=named(work), name=NAME), threading.Thread(target=of_the_kernel)]
for thread in threads:
    thread.start()
print("ready", os.getpid(), flush=True)
named(work)()
for thread in threads:
    thread.join()
