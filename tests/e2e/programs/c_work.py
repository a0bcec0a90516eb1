# SPDX-License-Identifier: MIT
"""Work in C: c_work.py WHAT SECONDS LIBRARY. Prints what the C code counted, as JSON, in its last line."""
import ctypes
import hashlib
import json
import os
import sys
import threading
import time
import zlib

WHAT, SECONDS, LIBRARY = sys.argv[1], float(sys.argv[2]), sys.argv[3]
END = time.monotonic() + SECONDS
DATA = bytes(range(256)) * 400
BACK = ctypes.PYFUNCTYPE(ctypes.c_uint64, ctypes.c_uint64)


def library(kind):
    work = kind(LIBRARY)
    for function in (work.alpha, work.beta, work.gamma_calls):
        function.restype = ctypes.c_uint64
    work.alpha.argtypes = work.beta.argtypes = [ctypes.c_uint64]
    work.gamma_calls.argtypes = [ctypes.c_uint64, BACK]
    return work


def called_back(n):
    return n


def account():
    """Three C functions, by their own account. They keep the lock."""
    work, back = library(ctypes.PyDLL), BACK(called_back)
    while time.monotonic() < END:
        for _ in range(20):
            work.alpha(2000)  # some microseconds
            work.beta(1000)
            work.gamma_calls(200, back)
    return {name: ctypes.c_uint64.in_dll(work, f"{name}_ticks").value for name in ("alpha", "beta", "gamma")}


def key(item):
    return -item


def sorts(items):
    return sorted(items, key=key)


def packs():
    return zlib.compress(DATA, 6)


def hashes():
    return hashlib.sha256(DATA).digest()


def calls():
    """C code with and without the lock, and C code that calls Python."""
    items = list(range(2000))
    while time.monotonic() < END:
        sorts(items), packs(), hashes()
    return {}


def wait_in_c(counts):
    counts.append(library(ctypes.CDLL).interrupted(int(SECONDS * 400)))


def waits():
    """Threads that wait in C code of their own, which counts what interrupts them, beside one that computes."""
    counts = []
    threads = [threading.Thread(target=wait_in_c, args=(counts,)) for _ in range(3)]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        sum(range(2000))
    return {"interrupted": counts}


def packs_on():
    while time.monotonic() < END:
        packs()


def beside():
    """A thread in C code that gives up the lock, beside one that computes in Python."""
    thread = threading.Thread(target=packs_on)
    thread.start()
    while thread.is_alive():
        sum(range(2000))
    return {}


def gets_late(waiting):
    import queue  # with a library of its own in most builds, which the recorder does not know yet
    waiting.append(queue.SimpleQueue())
    waiting[0].get()


def sleeps_late():
    """A thread that goes to sleep, once, in a library that has just been loaded."""
    for thread in [threading.Thread(target=time.sleep, args=(SECONDS,)), threading.Thread(target=gets_late, args=(waiting := [],))]:
        thread.start()
    while time.monotonic() < END:
        sum(range(2000))
    waiting[0].put(None)
    return {}


def native():
    """A thread of C code, which Python does not know, while Python waits for it."""
    library(ctypes.CDLL).in_a_thread(ctypes.c_double(END))
    return {}


print("ready", os.getpid(), flush=True)
print(json.dumps({"account": account, "beside": beside, "calls": calls, "native": native, "sleeps": sleeps_late, "waits": waits}[WHAT]()), flush=True)
