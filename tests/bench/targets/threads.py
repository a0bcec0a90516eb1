# SPDX-License-Identifier: MIT
"""Five threads, which become a hundred within so many seconds, all mixing bursts of work with sleeps of 0.1 s:
threads.py [SECONDS]."""
import os
import signal
import sys
import threading
import time

FIRST, LAST = 5, 100


def step(value):
    return (value * 48271) % 2147483647


def burst(value, rounds):
    for _ in range(rounds):
        value = step(value)
    return value


def work(number):
    value = number + 1
    while True:
        value = burst(value, 2000)
        time.sleep(0.1)


def start(number):
    threading.Thread(target=work, args=(number,), daemon=True).start()


def grow(seconds):
    began = time.monotonic()
    for number in range(FIRST, LAST):
        due = began + seconds * (number - FIRST + 1) / (LAST - FIRST)
        time.sleep(max(0, due - time.monotonic()))
        start(number)


signal.alarm(600)
for number in range(FIRST):
    start(number)
print("ready", os.getpid(), flush=True)
grow(float(sys.argv[1]) if len(sys.argv) > 1 else 2)
while True:
    time.sleep(1)
