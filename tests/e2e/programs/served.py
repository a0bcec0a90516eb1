# SPDX-License-Identifier: MIT
"""Coroutines that do their work in steps of some tens of microseconds, each of them made of short functions. Says at
SIGTERM how long each part took, by its own clock."""
import asyncio
import json
import os
import signal
import time

spent = {"parse": 0.0, "count": 0.0, "answer": 0.0}


def vowel(letter):
    return letter in "aeiou"


def parse(text):
    return [sum(map(vowel, word)) for word in text.split()]


def weight(number):
    return number * number + 1


def count(numbers):
    total = 0
    for _ in range(6):
        for number in numbers:
            total += weight(number)
    return total


def answer(total):
    return json.loads(json.dumps({"total": total, "parts": list(range(20)), "text": "a text of some words " * 4}))


def handle(number):
    started = time.perf_counter()
    numbers = parse("the quick brown fox jumps over the lazy dog and on")
    parsed = time.perf_counter()
    total = count(numbers)
    counted = time.perf_counter()
    answered = answer(total + number)
    spent["parse"] += parsed - started
    spent["count"] += counted - parsed
    spent["answer"] += time.perf_counter() - counted
    return answered


async def step(number):
    await asyncio.sleep(0)
    return handle(number)


async def request(number):
    for _ in range(3):
        await step(number)


async def client(number):
    while True:
        await request(number)


async def main():
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, finish)
    print("ready", os.getpid(), flush=True)
    await asyncio.gather(*(client(number) for number in range(5)))


def finish():
    print(json.dumps(spent), flush=True)
    os._exit(0)


asyncio.run(main())
