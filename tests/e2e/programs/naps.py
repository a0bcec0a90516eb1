# SPDX-License-Identifier: MIT
"""Sleeps and works in turn, until it is ended."""
import os
import time


def nap():
    time.sleep(0.1)


def burn():
    end = time.thread_time() + 0.03
    while time.thread_time() < end:
        pass


print("ready", os.getpid(), flush=True)
while True:
    nap()
    burn()
