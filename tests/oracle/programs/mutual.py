# SPDX-License-Identifier: MIT
"""Recursions that call one another in turn: ping and pong, and a ring of three."""
import os


def ping(n):  # most 150
    if n > 0:
        pong(n - 1)  # -> pong


def pong(n):  # most 150
    if n > 0:
        ping(n - 1)  # -> ping


def one(n):  # most 100
    if n > 0:
        two(n - 1)  # -> two
    return n


def two(n):  # most 100
    if n > 0:
        three(n - 1)  # -> three
    return n


def three(n):  # most 100
    if n > 0:
        one(n - 1)  # -> one
    return n


def main():
    print("ready", os.getpid(), flush=True)
    while True:
        ping(299)  # -> ping
        one(299)  # -> one
        pong(299)  # -> pong
        three(299)  # -> three


main()  # -> main
