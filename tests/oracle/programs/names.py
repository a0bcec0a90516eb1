# SPDX-License-Identifier: MIT
"""Lines that name functions which they do not call, before lines that do: in functions whose frame is large, so that it
takes a while to be copied, and in a small one. Where they say VARIABLES there are hundreds of them."""
import os


class Getter:
    def get(self, key):
        return key + 1  # <- got


def callee(n):
    return n + 1  # <- second small_second


def other(n):
    return n - 1  # <- first small_first


def aside(n):
    if n < 0:
        VARIABLES = n
    called = callee; other(1)  # = first -> other
    called(2)  # = second -> callee
    return n


def gets(n):
    if n < 0:
        VARIABLES = n
    table.get(n)
    method(n)  # = got -> get
    return n


def small_aside(n):
    called = callee; other(1)  # = small_first -> other
    called(2)  # = small_second -> callee


def fill(function, size):
    """The function again, in the same lines, with so many variables."""
    first = function.__code__.co_firstlineno
    with open(__file__, encoding="utf-8") as file:
        lines = [""] * (first - 1) + file.read().splitlines()[first - 1:first + 5]
    variables = " = ".join(f"v{i}" for i in range(size))
    exec(compile("\n".join(lines).replace("VARIABLES", variables), __file__, "exec"), globals())


table = {1: 2}
method = Getter().get


def main():
    fill(aside, 300)
    fill(gets, 300)
    print("ready", os.getpid(), flush=True)
    while True:
        aside(1)  # -> aside
        gets(1)  # -> gets
        small_aside(1)  # -> small_aside


main()  # -> main
