# SPDX-License-Identifier: MIT
"""Python that C code calls back: keys, folds, maps, replacements, properties, comparisons. Its account: each of the
functions that main() calls, some 0.1 ms each time."""
import functools
import os
import re
from time import perf_counter

import ledger

#: * -> *
WORDS = [f"{i * 7919 % 256:02x}-word" for i in range(120)]
DIGIT = re.compile("[0-9]")


class Point:
    def __init__(self, x):
        self.x = x

    @property
    def double(self):
        return self.x + self.x

    def __eq__(self, other):
        return self.x == other.x


POINTS = [Point(x) for x in range(200)]  # -> Point.__init__ <listcomp>


def key(word):
    return word[-1], word[0]


def fold(total, word):
    return total + len(word)


def upper(word):
    return word.upper() + "."


def digit(match):
    return chr(ord(match[0]) + 17)


def sorting():
    return sorted(WORDS, key=key)  # -> key


def reducing():
    return functools.reduce(fold, WORDS, 0)  # -> fold


def mapping():
    return list(map(upper, WORDS))  # -> upper


def replacing():
    return DIGIT.sub(digit, " ".join(WORDS))  # -> digit *


def reading():
    return sum([  # -> <listcomp>
        point.double for point in POINTS])  # -> Point.double


def finding():
    return POINTS.index(Point(199))  # -> Point.__init__ Point.__eq__


def main():
    functions = [sorting, reducing, mapping, replacing, reading, finding]
    times = ledger.open_for(*(function.__name__ for function in functions))  # -> <genexpr>
    print("ready", os.getpid(), flush=True)
    while True:
        for place, function in enumerate(functions):
            begin = perf_counter()
            function()  # -> sorting reducing mapping replacing reading finding
            times[place] += perf_counter() - begin


main()  # -> main
