# SPDX-License-Identifier: MIT
"""Computes without a rest, and notes a thousand times a second how far it got. When it is asked to end, by SIGTERM, it
prints these notes: on each line the monotonic time, the processor time used (both in nanoseconds), the rounds done.
cpu.py [DEPTH [THREADS]]: below so many frames, beside so many threads that sleep 0.1 s between short bursts."""
import array
import os
import signal
import sys
import threading
import time

NOTE_NS = 1_000_000
notes = array.array("q")


class Point:
    def __init__(self, x, y):
        self.x, self.y = x, y

    def turned(self):
        return Point(-self.y, self.x)

    def near(self, other):
        return abs(self.x - other.x) + abs(self.y - other.y) < 10


def collatz(n):
    steps = 0
    while n != 1:
        n = n // 2 if n % 2 == 0 else next_odd(n)
        steps += 1
    return steps


def next_odd(n):
    return 3 * n + 1


def one_round(number):
    point = Point(number % 100, number % 7)
    for _ in range(4):
        point = point.turned()
    names = {str(n): n for n in range(8)}
    return collatz(number % 1000 + 1) + len(names) + point.near(Point(0, 0))


def main():
    rounds, noted = 0, 0
    while True:
        for _ in range(10):
            rounds += 1
            one_round(rounds)
        now = time.monotonic_ns()
        if now - noted >= NOTE_NS:
            noted = now
            notes.extend((now, time.process_time_ns(), rounds))


def tell(_number, _frame):
    for row in range(0, len(notes) - 2, 3):
        print(*notes[row:row + 3])
    sys.exit()


def burst():
    while True:
        for number in range(20):
            one_round(number)
        time.sleep(0.1)


def descend(left):
    if left > 0:
        descend(left - 1)
    else:
        main()


signal.alarm(600)
signal.signal(signal.SIGTERM, tell)
depth, threads = (int(text) for text in (*sys.argv[1:3], 0, 0)[:2])
for _ in range(threads):
    threading.Thread(target=burst, daemon=True).start()
sys.setrecursionlimit(1000 + depth)
print("ready", os.getpid(), flush=True)
descend(depth)
