# SPDX-License-Identifier: MIT
"""Two recursions in turn, each 300 deep. Where a frame stands tells how deep it is, modulo three."""
import os

DEPTH = 300


def left(n):  # most 300
    if n == 1:
        return 1
    if n % 3 == 0:
        return left(n - 1)  # = left_0 -> left <- left_1 main
    elif n % 3 == 1:
        return left(n - 1)  # = left_1 -> left <- left_2
    else:
        return left(n - 1)  # = left_2 -> left <- left_0


def right(n):  # most 300
    if n == 1:
        return 1
    if n % 3 == 0:
        n = right(n - 1)  # = right_0 -> right <- right_1 main
    elif n % 3 == 1:
        n = right(n - 1)  # = right_1 -> right <- right_2
    else:
        n = right(n - 1)  # = right_2 -> right <- right_0
    return n + 1


def main():
    print("ready", os.getpid(), flush=True)
    while True:
        left(DEPTH)  # -> left
        right(DEPTH)  # -> right


main()  # -> main
