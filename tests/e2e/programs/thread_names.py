# SPDX-License-Identifier: MIT
"""Threads with names of all kinds. What is to be seen of each is in tests/e2e/record/test_thread_names.py. A signal renames."""
import _thread
import ctypes
import os
import signal
import threading
from concurrent.futures import ThreadPoolExecutor

THREADS = 9
started = threading.Semaphore(0)
over = threading.Event()


def wait():
    started.release()
    over.wait()


class Worker(threading.Thread):
    def __init__(self, number):
        super().__init__(daemon=True, name=f"worker number {number} of a class of its own")
        self.number = number
        self.more = {}

    def run(self):
        wait()


class Slotted(threading.Thread):
    """Has attributes in slots, and so its others further behind."""
    __slots__ = "first", "second"

    def run(self):
        self.first = self.second = 1
        wait()


def named_by_kernel():
    ctypes.CDLL(None).prctl(15, b"named by kernel", 0, 0, 0)  # PR_SET_NAME
    wait()


def has_a_dict():
    vars(threading.current_thread())["more"] = 1
    wait()


def is_foreign():
    threading.current_thread()
    wait()


renamed = threading.Thread(target=wait, daemon=True)
for thread in (renamed, Worker(7), Slotted(daemon=True, name="slotted, and with a long name"),
               threading.Thread(target=wait, daemon=True, name="sp\u00e4ter \u4e2d \U0001f40d ist der Name"),
               threading.Thread(target=named_by_kernel, daemon=True),
               threading.Thread(target=has_a_dict, daemon=True, name="one that has a dict of its own")):
    thread.start()
pool = ThreadPoolExecutor(2, thread_name_prefix="downloads from the mirror")
pool.submit(wait)
pool.submit(wait)
_thread.start_new_thread(is_foreign, ())
for _ in range(THREADS):
    started.acquire()
signal.signal(signal.SIGUSR1, lambda *_: setattr(renamed, "name", "renamed while it is recorded"))
print("ready", os.getpid(), flush=True)
while True:
    signal.pause()
