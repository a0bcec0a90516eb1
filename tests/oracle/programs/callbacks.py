# SPDX-License-Identifier: MIT
"""Python called by C that is called by Python."""
import functools
import os
import re

WORDS = ["delta", "alpha", "charlie", "bravo"]
VOWEL = re.compile("[aeiou]")


def first_letter(word):
    return lower(word[0])  # -> lower <- sorting


def last_letter(word):
    return lower(word[-1])  # -> lower <- least


def lower(letter):
    return letter.lower()


def add(a, b):
    return twice(a) + b  # -> twice


def twice(n):
    return n * 2


def upper(match):
    return match[0].upper()


def square(n):
    return twice(n)  # -> twice


def is_odd(n):
    return n % 2 == 1


def sorting():
    return sorted(WORDS, key=first_letter)  # -> first_letter


def least():
    return min(WORDS, key=last_letter)  # -> last_letter


def reducing():
    return functools.reduce(add, (1, 2, 3, 4))  # -> add


def replacing():
    return VOWEL.sub(upper, "a sentence of letters")  # -> upper


def mapping():
    return list(map(square, filter(is_odd, range(8))))  # -> square is_odd


def by_map(n):  # most 6
    if n == 0:
        return 0
    return sum(map(by_map, [n - 1]))  # -> by_map


@functools.lru_cache(maxsize=None)
def cached(n):  # most 13
    if n < 2:
        return n
    return (cached(n - 1)  # -> cached
            + cached(n - 2))  # -> cached


def caching():
    cached.cache_clear()
    return cached(12)  # -> cached


def sorting_by_lambda():
    return sorted(  # -> <lambda>
        WORDS,
        key=lambda word: (
            lower(word)))  # -> lower


def main():
    print("ready", os.getpid(), flush=True)
    while True:
        sorting()  # -> sorting
        least()  # -> least
        reducing()  # -> reducing
        replacing()  # -> replacing
        mapping()  # -> mapping
        by_map(5)  # -> by_map
        caching()  # -> caching
        sorting_by_lambda()  # -> sorting_by_lambda


main()  # -> main
