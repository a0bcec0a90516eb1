# SPDX-License-Identifier: MIT
"""Generators that live for less than a microsecond, made anew all the time by two consumers in turn. Each new one gets
the memory of the last."""
import os


def apples(n):
    yield n
    n += 1  # <- eat_apples
    yield n  # <- eat_apples


def pears(n):
    yield n
    n += 2  # <- eat_pears
    yield n  # <- eat_pears


def eat_apples():
    for n in apples(1):  # -> apples
        n += 1


def eat_pears():
    for n in pears(1):  # -> pears
        n += 1


def eat_one():
    """Leaves the rest: what is freed was never finished."""
    for n in apples(1):  # -> apples = eat_apples
        return n  # -> apples


def main():
    print("ready", os.getpid(), flush=True)
    while True:
        eat_apples()  # -> eat_apples
        eat_pears()  # -> eat_pears
        eat_one()  # -> eat_one


main()  # -> main
