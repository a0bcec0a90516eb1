# SPDX-License-Identifier: MIT
"""A program whose profile is known. The tests read its lines, so what they say about themselves is part of it:
"# -> f" names what a line may call, "*" being code of other files. Each part of a round uses a stated CPU time, however
long it lasts. It prints the CPU time of the process, and for each round when its parts began and the last one ended, by its
own clock, which on Linux is the monotonic one. known.py [SECONDS]: for so much CPU time, or until standard input ends.
"""
import json  # -> *
import select  # -> *
import sys  # -> *
import threading  # -> *
import time  # -> *

clock = time.thread_time
now = time.perf_counter
ROUND = 0.1
DEPTH = 20
said = {"times": []}
done = threading.Event()  # -> *


def plain(until):
    while clock() < until:
        pass


class Mill:  # -> Mill
    def grind(self, until):
        while clock() < until:
            pass


def outer(until):
    middle(until)  # -> middle


def middle(until):
    inner(until)  # -> inner


def inner(until):
    while clock() < until:
        pass


def numbers(until):
    while clock() < until:
        yield 1


def drain(until):
    for _ in numbers(until):  # -> numbers
        pass


def descend(depth, until):
    if depth > 1:
        descend(depth - 1, until)  # -> descend
    else:
        while clock() < until:  # the bottom
            pass


def rounds(seconds):
    mill = Mill()
    start = clock()
    while len(said["times"]) < seconds / ROUND if seconds else not select.select([0], [], [], 0)[0]:
        due = start + len(said["times"]) * ROUND
        times = [now()]
        plain(due + 0.030)  # -> plain
        times.append(now())
        mill.grind(due + 0.055)  # -> Mill.grind
        times.append(now())
        outer(due + 0.075)  # -> outer
        times.append(now())
        drain(due + 0.090)  # -> drain
        times.append(now())
        descend(DEPTH, due + 0.100)  # -> descend
        times.append(now())
        said["times"].append(times)


def name_thread(name):
    """As the kernel knows it. CPython does it by itself from 3.14 on."""
    if sys.version_info >= (3, 14):
        return
    try:
        with open("/proc/thread-self/comm", "w") as file:  # -> *
            file.write(name)  # -> *
    except OSError:
        import ctypes  # -> *
        ctypes.CDLL(None).prctl(15, name.encode(), 0, 0, 0)  # -> *


def nap_again():
    name_thread("napper")  # -> name_thread
    while not done.is_set():  # -> *
        time.sleep(0.05)  # the nap


def wait_for_end():
    name_thread("waiter")  # -> name_thread
    done.wait()  # -> *


def main():
    napper = threading.Thread(target=nap_again, name="napper")  # -> *
    waiter = threading.Thread(target=wait_for_end, name="waiter")  # -> *
    napper.start()  # -> *
    waiter.start()  # -> *
    rounds(float((*sys.argv[1:], 0)[0]))  # -> rounds
    done.set()  # -> *
    napper.join()  # -> *
    waiter.join()  # -> *
    said["cpu_s"] = time.process_time()
    print(json.dumps(said))  # -> *


main()  # -> main
