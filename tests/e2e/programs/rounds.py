# SPDX-License-Identifier: MIT
"""A fixed amount of work in rounds. The first argument is how much longer one of the functions works."""
import sys

FACTOR = float(sys.argv[1])


def burn(loops):
    total = 0
    for number in range(round(loops * 4000)):
        total += number * number % 7
    return total


def parse():
    burn(2)


def sort():
    burn(2 * FACTOR)


def store():
    burn(2)


def report():
    burn(3)


def main():
    for _ in range(180):
        parse()
        sort()
        store()
        report()


main()
