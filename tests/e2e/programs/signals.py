# SPDX-License-Identifier: MIT
"""Counts the real-time signals that it gets until it gets SIGTERM. Threads that no signal comes to wait in C meanwhile, five
times or more: in read(), poll() and usleep(). Prints the count, and what was wrong with the waits, as JSON."""
import ctypes
import json
import os
import signal
import threading
import time

libc = ctypes.CDLL(None, use_errno=True)
byte = ctypes.create_string_buffer(1)
gets, puts = os.pipe()
waits, wrong = [], []
told, ended = threading.Event(), threading.Event()


def wait_again(name, seconds, wait):
    while not ended.is_set():
        start = time.monotonic()
        result = wait()
        spent = time.monotonic() - start
        waits.append(name)
        if result != 0 or spent < seconds:
            wrong.append(f"{name}: {result}, errno {ctypes.get_errno()}, after {spent:.6f} s")


def read_pipe():
    if libc.read(gets, byte, 1) != 1:
        wrong.append(f"read: errno {ctypes.get_errno()}")
    waits.append("read")


REAL_TIME = signal.SIGRTMIN + 1
signal.pthread_sigmask(signal.SIG_BLOCK, {REAL_TIME, signal.SIGTERM})
threads = [threading.Thread(target=read_pipe),
           threading.Thread(target=wait_again, args=("poll", 0.2, lambda: libc.poll(None, 0, 200))),
           threading.Thread(target=wait_again, args=("usleep", 0.2, lambda: libc.usleep(200_000)))]
for thread in threads:
    thread.start()
# What C does for each signal: a byte with its number. A handler in Python may run once for several.
wakes, woken = os.pipe()
os.set_blocking(woken, False)
signal.set_wakeup_fd(woken, warn_on_full_buffer=False)
signal.signal(REAL_TIME, lambda *_: None)
signal.signal(signal.SIGTERM, lambda *_: told.set())
signal.pthread_sigmask(signal.SIG_UNBLOCK, {REAL_TIME, signal.SIGTERM})
print("ready", os.getpid(), flush=True)
while not told.is_set() or len(waits) < 5:
    pass
ended.set()
os.write(puts, b"x")
for thread in threads:
    thread.join()
count = os.read(wakes, 65536).count(REAL_TIME)
print(json.dumps({"count": count, "wrong": wrong}), flush=True)
