# SPDX-License-Identifier: MIT
"""One generator and one coroutine that two functions drive in turn; what they do tells who drives them."""
import os
import types


def leaf(n):
    return n + 1


def relay():
    who = yield
    while True:
        if who == 1:
            leaf(1)  # -> leaf <- first
            leaf(2)  # -> leaf <- first
        else:
            leaf(3)  # -> leaf <- second
            leaf(4)  # -> leaf <- second
        who = yield who


def inner():
    """As relay(), one frame further up."""
    who = yield
    while True:
        if who == 1:
            leaf(1)  # -> leaf <<- third
        else:
            leaf(3)  # -> leaf <<- fourth
        who = yield who


def delegating():
    yield from inner()  # -> inner


@types.coroutine
def pause():
    return (yield)


async def awaiting():
    while True:
        who = await pause()  # -> pause
        if who == 1:
            leaf(1)  # -> leaf <- fifth
        else:
            leaf(3)  # -> leaf <- sixth


def first(driven):
    driven.send(1)  # -> relay


def second(driven):
    driven.send(2)  # -> relay


def third(driven):
    driven.send(1)  # -> delegating


def fourth(driven):
    driven.send(2)  # -> delegating


def fifth(driven):
    driven.send(1)  # -> awaiting


def sixth(driven):
    driven.send(2)  # -> awaiting


def main():
    relayed, delegated, awaited = relay(), delegating(), awaiting()
    for driven in (relayed, delegated, awaited):
        driven.send(None)
    print("ready", os.getpid(), flush=True)
    while True:
        first(relayed)  # -> first
        second(relayed)  # -> second
        third(delegated)  # -> third
        fourth(delegated)  # -> fourth
        fifth(awaited)  # -> fifth
        sixth(awaited)  # -> sixth


main()  # -> main
