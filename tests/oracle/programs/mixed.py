# SPDX-License-Identifier: MIT
"""A bit of everything, as in real programs: records are parsed, sorted, checked, counted and printed, over and over."""
import collections
import json
import os
import re

LINE = re.compile(r"(\w+)=(\w+)")
TEXT = "name=alpha size=12 kind=x\nname=beta size=7 kind=y\nname=gamma size=99 kind=x\nname= size=oops\n" * 3


class ParseError(Exception):
    pass


class Record:
    def __init__(self, fields):
        self.name = fields["name"]
        self.size = number(fields["size"])  # -> number
        self.kind = fields.get("kind")

    def __lt__(self, other):
        return self.key < other.key  # -> Record.key

    @property
    def key(self):
        return (self.kind, self.size)

    def __repr__(self):
        return f"{self.name}/{self.size}"


class Counter:
    def __init__(self):
        self.counts = collections.defaultdict(int)

    def __enter__(self):
        return self

    def __exit__(self, *reason):
        self.total = total(self.counts)  # -> total

    def add(self, key):
        self.counts[key] += 1


def number(text):
    try:
        return int(text)
    except ValueError:
        raise ParseError(text) from None


def lines(text):
    for line in text.splitlines():
        yield line


def fields(text):
    for line in lines(text):  # -> lines
        yield dict(  # -> fields/<genexpr>
            match.groups() for match in LINE.finditer(line))  # -> fields/<genexpr>


def records(text):
    for row in fields(text):  # -> fields
        try:
            yield Record(row)  # -> Record.__init__
        except (ParseError, KeyError):
            skipped()  # -> skipped


def skipped():
    return None


def total(counts):
    return sum(counts.values())


def tree(rows):
    if len(rows) <= 1:
        return rows
    middle = len(rows) // 2
    left, right = tree(rows[:middle]), None  # -> tree
    right = tree(rows[middle:])  # -> tree
    return {"l": left, "r": right}


def plain(value):
    return repr(value)  # -> Record.__repr__


def render(rows):
    return json.dumps(tree(rows), default=plain)  # -> tree *


def process():
    with Counter() as counter:  # -> Counter.__init__ Counter.__enter__ Counter.__exit__
        rows = sorted(records(TEXT))  # -> records Record.__lt__
        for row in rows:
            counter.add(row.kind)  # -> Counter.add
    return render(rows)  # -> render


#: JSONEncoder.encode -> plain
#: JSONEncoder.iterencode -> plain


def main():
    print("ready", os.getpid(), flush=True)
    while True:
        process()  # -> process


main()  # -> main
