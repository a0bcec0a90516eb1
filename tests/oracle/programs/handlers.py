# SPDX-License-Identifier: MIT
"""Exceptions that unwind deep stacks: raised 50 deep, caught 5 deep, by two callers with handlers of their own."""
import os


def tidy(n):
    return n + 1


def deep_key(n):  # most 46
    if n == 0:
        raise KeyError(n)
    deep_key(n - 1)  # -> deep_key


def deep_value(n):  # most 46
    try:
        if n == 0:
            raise ValueError(n)
        deep_value(n - 1)  # -> deep_value
    finally:
        tidy(n)  # -> tidy


def catcher(n):  # most 5
    if n > 0:
        catcher(n - 1)  # -> catcher
        return
    try:
        deep_key(45)  # -> deep_key
    except KeyError:
        tidy(1)  # -> tidy
    try:
        deep_value(45)  # -> deep_value
    except ValueError:
        tidy(2)  # -> tidy


def main():
    print("ready", os.getpid(), flush=True)
    while True:
        catcher(4)  # -> catcher


main()  # -> main
