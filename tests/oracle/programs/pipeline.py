# SPDX-License-Identifier: MIT
"""Generators that read from generators, seven deep, made anew for each text."""
import os

TEXT = "\n".join(f"{i} {'warn' if i % 3 else 'info'} took={i * 37 % 101} host=h{i % 7}" for i in range(200))  # -> <genexpr>


def lines(text):
    for line in text.split("\n"):
        yield line


def fields(source):
    for line in source:  # -> lines
        yield line.split(" ")


def only(level, source):
    for row in source:  # -> fields
        if row[1] == level:
            yield row


def pairs(source):
    for row in source:  # -> only
        yield row[0], [part.partition("=")[2] for part in row[2:]]  # -> <listcomp>


def times(source):
    for number, values in source:  # -> pairs
        yield int(number), int(values[0])


def batches(source, size):
    batch = []
    for row in source:  # -> times
        batch.append(row)
        if len(batch) == size:
            yield from batch  # = passing
            batch = []


def total(source):
    return sum(took for _, took in source)  # -> <genexpr> total.<locals>.<genexpr>/batches


def main():
    print("ready", os.getpid(), flush=True)
    while True:
        total(batches(times(pairs(only("warn", fields(lines(TEXT))))), 8))  # -> total batches times pairs only fields lines


main()  # -> main
