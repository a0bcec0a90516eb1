# SPDX-License-Identifier: MIT
"""Chains of await driven by send(None), made anew all the time, two in turn."""
import os
import types


@types.coroutine
def pause(n):
    yield n
    return n + 1


def work(n):
    return n * 2


async def inner_a(n):
    work(n)  # -> work
    await pause(n)  # -> pause
    return work(n)  # -> work


async def middle_a(n):
    return await inner_a(n)  # -> inner_a


async def outer_a(n):
    await middle_a(n)  # -> middle_a
    await middle_a(n)  # -> middle_a


async def inner_b(n):
    await pause(n)  # -> pause
    await pause(n)  # -> pause


async def outer_b(n):
    await inner_b(n)  # -> inner_b
    return work(n)  # -> work


async def at_once(n):
    return n


async def many(n):
    for _ in range(10):
        n = await at_once(n)  # -> at_once
    return n


def drive(coroutine):
    try:
        while True:
            coroutine.send(None)  # -> outer_a outer_b many
    except StopIteration:
        pass


def drive_two(a, b):
    """Both at once, step by step."""
    alive = [a, b]
    while alive:
        for coroutine in list(alive):
            try:
                coroutine.send(None)  # -> outer_a outer_b
            except StopIteration:
                alive.remove(coroutine)


def main():
    print("ready", os.getpid(), flush=True)
    while True:
        drive(outer_a(1))  # -> drive outer_a
        drive(outer_b(1))  # -> drive outer_b
        drive(many(1))  # -> drive many
        drive_two(outer_a(1), outer_b(2))  # -> drive_two outer_a outer_b


main()  # -> main
