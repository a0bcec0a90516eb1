# SPDX-License-Identifier: MIT
"""Recursion with two lines that call: how often each is in a stack bounds how deep it is."""
import os

N = 18


def fib(n):  # most 18
    if n < 2:
        return n
    a = fib(n - 1)  # = minus_one -> fib
    b = fib(n - 2)  # = minus_two -> fib
    return a + b


def main():
    print("ready", os.getpid(), flush=True)
    while True:
        fib(N)  # -> fib


main()  # -> main
