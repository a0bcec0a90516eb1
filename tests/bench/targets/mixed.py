# SPDX-License-Identifier: MIT
"""A loop that mostly does a little and sleeps a millisecond; now and then it does more, and goes deeper."""
import math
import os
import signal
import time


def count_up(limit):
    total = 0
    for number in range(limit):
        total += number * number
    return total


def words(round_number):
    text = " ".join(f"word{number}" for number in range(40))
    found = [word.upper() for word in text.split() if word.endswith("7")]
    return "-".join(found).replace("WORD", str(round_number))


def waves(angle):
    scale = angle + 1.0

    def first(x):
        offset = math.sin(x)

        def second(y):
            bend = math.sqrt(abs(y) + offset * offset)

            def third(z):
                return math.atan2(z * scale, bend) + math.hypot(z, offset)

            return third(y + 0.5) + third(y - 0.5)

        return second(x * 2.0) + second(x / 2.0)

    return sum(first(angle + step / 10) for step in range(20))


def fibonacci(n):
    return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)


def one_round(number):
    count_up(200)
    if number % 5 == 0:
        words(number)
    if number % 10 == 0:
        waves(number / 100)
    if number % 50 == 0:
        fibonacci(20)
    time.sleep(0.001)


def main():
    number = 0
    while True:
        number += 1
        one_round(number)


signal.alarm(600)
print("ready", os.getpid(), flush=True)
main()
