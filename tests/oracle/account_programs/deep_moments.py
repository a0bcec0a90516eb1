# SPDX-License-Identifier: MIT
"""Now and then a recursion through C, which lasts for a millisecond at its end; shallow work otherwise, two thirds and one third of
it."""
import sys

import books

DEPTH = 450
sys.setrecursionlimit(10000)


@books.counted
def bottom():
    books.use(0.001)


def dive(depth):
    if depth == 0:
        bottom()
        return 0
    return max([depth - 1], key=dive)


@books.counted
def large_part():
    books.use(0.002)


@books.counted
def small_part():
    books.use(0.001)


while books.is_working():
    dive(DEPTH)
    for _ in range(30):
        large_part()
        small_part()
books.close()
