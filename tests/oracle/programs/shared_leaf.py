# SPDX-License-Identifier: MIT
"""One leaf with a long and a short way to it; its lines, and those of its callers, tell which way it was."""
import os


def leaf(short):
    if short:
        short = [0, 1]  # <- short_way
        short = [1, 0]  # <- short_way
    else:
        short = [0, 2]  # <- long_end
        short = [2, 0]  # <- long_end
    return short


def short_way():
    return leaf(True)  # -> leaf <- main


def long_end(n):
    if n:
        leaf(False)  # -> leaf <- from_first
    else:
        leaf(False)  # -> leaf <- from_second


def long_middle():
    long_end(True)  # = from_first -> long_end
    long_end(False)  # = from_second -> long_end


def long_way():
    long_middle()  # -> long_middle


def main():
    print("ready", os.getpid(), flush=True)
    while True:
        short_way()  # -> short_way
        long_way()  # -> long_way
        short_way()  # -> short_way


main()  # -> main
