# SPDX-License-Identifier: MIT
"""A function that is made, called once and forgotten, in turn with one that stays. What is made is the body of gen_body,
with its number in the place of NUMBER, see made_code.py. Its account: new() and old(), some 0.3 and 0.15 ms each time."""
import os
from time import perf_counter

import ledger


def gen_body():
    def made_NUMBER(n):
        total = 0
        for i in range(n):
            total += i
        return total
    made_NUMBER(3000)  # -> made_NUMBER


def old(n):
    total = 0
    for i in range(n):
        total += i
    return total


with open(__file__, encoding="utf-8") as file:
    SOURCE = file.read().splitlines()
FIRST = gen_body.__code__.co_firstlineno
BODY = "\n".join(line[4:] for line in SOURCE[FIRST:SOURCE.index("", FIRST)])


def new(number):
    source = "\n" * (number % 100) + BODY.replace("NUMBER", str(number))
    exec(compile(source, f"gen-{number}", "exec"), {})  # -> gen_body


def main():
    times = ledger.open_for("new", "old")
    print("ready", os.getpid(), flush=True)
    number = 0
    while True:
        begin = perf_counter()
        new(number)  # -> new
        middle = perf_counter()
        old(3000)  # -> old
        times[0] += middle - begin
        times[1] += perf_counter() - middle
        number += 1


main()  # -> main
