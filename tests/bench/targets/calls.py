# SPDX-License-Identifier: MIT
"""Short calls in turn, without a rest."""
import os
import signal


def one(value):
    return inner_one(value) + 1


def inner_one(value):
    return value ^ 1


def two(value):
    return inner_two(value) - 1


def inner_two(value):
    return value ^ 2


def main():
    value = 0
    while True:
        value = one(value)
        value = two(value)


signal.alarm(600)
print("ready", os.getpid(), flush=True)
main()
