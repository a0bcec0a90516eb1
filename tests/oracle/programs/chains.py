# SPDX-License-Identifier: MIT
"""Two chains of calls in turn, three deep and less than a microsecond long."""
import os


def left_leaf():
    return 1


def left_middle():
    return left_leaf()  # -> left_leaf


def left():
    return left_middle()  # -> left_middle


def right_leaf():
    return 2


def right_middle():
    return right_leaf()  # -> right_leaf


def right():
    return right_middle()  # -> right_middle


def main():
    print("ready", os.getpid(), flush=True)
    while True:
        left()  # -> left
        right()  # -> right


main()  # -> main
