# SPDX-License-Identifier: MIT
"""A generator and a plain function that each call one function from two lines, which tell it which way to go."""
import os


def one():
    return 1


def two():
    return 2


def branch(which):
    if which:
        one()  # -> one <- first_line plain_first
    else:
        two()  # -> two <- second_line plain_second


def generator():
    while True:
        branch(True)  # = first_line -> branch
        branch(False)  # = second_line -> branch
        yield


def plain():
    branch(True)  # = plain_first -> branch
    branch(False)  # = plain_second -> branch


def main():
    print("ready", os.getpid(), flush=True)
    driven = generator()
    while True:
        next(driven)  # -> generator
        plain()  # -> plain


main()  # -> main
