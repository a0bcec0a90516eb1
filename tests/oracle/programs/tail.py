# SPDX-License-Identifier: MIT
"""Two callers of one long tail of calls: what the leaf does tells which of them began it."""
import os


def leaf(who):
    if who == 1:
        who = 3  # <<- a
    else:
        who = 4  # <<- b
    return who


def h20(who):
    return leaf(who)  # -> leaf


def h19(who):
    return h20(who)  # -> h20


def h18(who):
    return h19(who)  # -> h19


def h17(who):
    return h18(who)  # -> h18


def h16(who):
    return h17(who)  # -> h17


def h15(who):
    return h16(who)  # -> h16


def h14(who):
    return h15(who)  # -> h15


def h13(who):
    return h14(who)  # -> h14


def h12(who):
    return h13(who)  # -> h13


def h11(who):
    return h12(who)  # -> h12


def h10(who):
    return h11(who)  # -> h11


def h9(who):
    return h10(who)  # -> h10


def h8(who):
    return h9(who)  # -> h9


def h7(who):
    return h8(who)  # -> h8


def h6(who):
    return h7(who)  # -> h7


def h5(who):
    return h6(who)  # -> h6


def h4(who):
    return h5(who)  # -> h5


def h3(who):
    return h4(who)  # -> h4


def h2(who):
    return h3(who)  # -> h3


def h1(who):
    return h2(who)  # -> h2


def a():
    return h1(1)  # -> h1


def b():
    return h1(2)  # -> h1


def main():
    print("ready", os.getpid(), flush=True)
    while True:
        a()  # -> a
        b()  # -> b


main()  # -> main
