# SPDX-License-Identifier: MIT
"""Functions with thousands of variables, whose frames need chunks of the data stack of their own, in turn with small
ones. Where they say VARIABLES there are thousands of them."""
import os


def leaf(n):
    return n + 1


def after_huge(n):
    n = n + 1  # <- huge
    return leaf(n)  # -> leaf <- huge


def huge(n):  # most 3
    if n < 0:
        VARIABLES = n
    after_huge(n)  # -> after_huge
    if n > 0:
        huge(n - 1)  # -> huge
    return n


def after_large(n):
    n = n + 2  # <- large
    return leaf(n)  # -> leaf <- large


def large(n):  # most 5
    if n < 0:
        VARIABLES = n
    after_large(n)  # -> after_large
    if n > 0:
        large(n - 1)  # -> large
    return n


def small(n):
    return leaf(n)  # -> leaf <- main


def fill(function, size):
    """The function again, in the same lines, with so many variables."""
    first = function.__code__.co_firstlineno
    with open(__file__, encoding="utf-8") as file:
        lines = [""] * (first - 1) + file.read().splitlines()[first - 1:first + 6]
    variables = " = ".join(f"v{i}" for i in range(size))
    exec(compile("\n".join(lines).replace("VARIABLES", variables), __file__, "exec"), globals())


def main():
    fill(huge, 5000)
    fill(large, 2500)
    print("ready", os.getpid(), flush=True)
    while True:
        small(1)  # -> small
        huge(2)  # -> huge
        small(1)  # -> small
        large(4)  # -> large
        for _ in range(20):
            small(2)  # -> small


main()  # -> main
