# SPDX-License-Identifier: MIT
"""Threads that start and end all the time, each with a function of its own; never with that of another."""
import _thread
import os
import threading
import time

#: slow 5
#: one processor
#: Thread.run -> fourth
#: root nothing Thread._bootstrap
#: one root


def work(n):
    total = 0
    for i in range(n):
        total += half(i)  # -> half
    return total


def half(n):
    return n / 2


def first():  # root
    work(100)  # -> work


def second():  # root
    work(50)  # -> work
    nap()  # -> nap


def third():  # root
    nap()  # -> nap


def fourth():
    work(200)  # -> work


def nap():
    time.sleep(0.0005)


def main():
    print("ready", os.getpid(), flush=True)
    while True:
        for function in (first, second, third):
            _thread.start_new_thread(function, ())
        thread = threading.Thread(target=fourth)  # -> *
        thread.start()  # -> *
        work(100)  # -> work
        thread.join()  # -> *
        while _thread._count() > 8:
            time.sleep(0.0002)


main()  # -> main
