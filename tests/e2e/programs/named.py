# SPDX-License-Identifier: MIT
"""Works until its standard input ends, below functions that are called as frames which are no functions."""
import select

NAMES = ["<GC>", "<native>", "<task Task-1>", "<truncated>", "[idle]", "[waiting for GIL]", "<no Python frames>"]


def spin():
    while not select.select([0], [], [], 0)[0]:
        pass


def named(name, function):
    def calls():
        function()

    calls.__code__ = calls.__code__.replace(co_name=name, co_qualname=name)
    return calls


if __name__ == "__main__":
    work = spin
    for name in reversed(NAMES):
        work = named(name, work)
    work()
