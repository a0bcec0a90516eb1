# SPDX-License-Identifier: MIT
"""A program with a fixed amount of work: rounds of several functions. The first argument is the number of rounds, the
others make functions slower: sort_numbers=1.2."""

import json
import re
import sys

ROUNDS = int(sys.argv[1])
SLOWER = {name: float(factor) for name, _, factor in (argument.partition("=") for argument in sys.argv[2:])}
TEXT = "the quick brown fox jumps over the lazy dog while the slow grey cat sleeps on the warm red mat " * 40
ORDERS = [{"id": n, "customer": f"customer {n % 17}", "prices": [n * 0.5, n * 1.5]} for n in range(100)]


def times(name, count):
    return range(round(count * SLOWER.get(name, 1)))


def fibonacci(n):
    return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)


def orders():
    for _ in times("orders", 30):
        json.loads(json.dumps(ORDERS))


def strip(word):
    return word.strip(".,").capitalize()


def count_words():
    counts = {}
    for _ in times("count_words", 20):
        for word in TEXT.split():
            word = strip(word)
            counts[word] = counts.get(word, 0) + 1


def primes(limit):
    for candidate in range(2, limit):
        if all(candidate % divisor for divisor in range(2, int(candidate**0.5) + 1)):
            yield candidate


def sort_numbers():
    for _ in times("sort_numbers", 20):
        sorted([(i * 7919) % 4001 for i in range(3000)])


def multiply():
    rows = [[i * j for j in range(20)] for i in range(20)]
    for _ in times("multiply", 5):
        [[sum(rows[i][k] * rows[k][j] for k in range(20)) for j in range(20)] for i in range(20)]


def substitute():
    for _ in times("substitute", 20):
        re.sub(r"[aeiou]", "x", TEXT)


def main():
    for _ in range(ROUNDS):
        for _ in times("fibonacci", 10):
            fibonacci(15)
        for _ in times("primes", 5):
            list(primes(2000))
        orders()
        count_words()
        sort_numbers()
        multiply()
        substitute()


main()
