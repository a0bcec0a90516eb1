# SPDX-License-Identifier: MIT
"""A template engine: makes a function of a text, which lives for a few renderings. Its account: make() and fill(), some
0.3 ms each time."""
import os
import re
from time import perf_counter

import ledger

#: * -> *
#: render -> escape title
TAG = re.compile(r"(\{[{%] .*? [%}]\})")
TEXTS = {
    "list": "<ul>{% for item in items %}<li>{{ escape(item) }}</li>{% end %}</ul>",
    "table": "<h1>{{ title(name) }}</h1>{% for item in items %}{% for part in item.split('-') %}<td>{{ escape(part) }}</td>"
             "{% end %}<tr>{% end %}",
}
ITEMS = [f"item-{i}-<b>" for i in range(60)]


def escape(text):
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def title(text):
    return text.title()


class Source:
    def __init__(self):
        self.lines = ["def render(name, items, escape, title):"]
        self.depth = 1
        self.add("out = []")  # -> Source.add

    def add(self, line):
        self.lines.append("    " * self.depth + line)

    def statement(self, words):
        if words == "end":
            self.depth -= 1
        else:
            self.add(words + ":")  # -> Source.add
            self.depth += 1

    def part(self, text):
        if text.startswith("{{"):
            self.add(f"out.append({text[3:-3]})")  # -> Source.add
        elif text.startswith("{%"):
            self.statement(text[3:-3])  # -> Source.statement
        elif text:
            self.add(f"out.append({text!r})")  # -> Source.add


def make(name):
    source = Source()  # -> Source.__init__
    for text in TAG.split(TEXTS[name]):
        source.part(text)  # -> Source.part
    source.add("return ''.join(out)")  # -> Source.add
    found = {}
    exec(compile("\n".join(source.lines), f"<template {name}>", "exec"), found)  # -> *
    return found["render"]


def fill(render, name):
    for _ in range(4):
        render(name, ITEMS, escape, title)  # -> *


def main():
    times = ledger.open_for("make", "fill")
    print("ready", os.getpid(), flush=True)
    while True:
        for name in TEXTS:
            begin = perf_counter()
            render = make(name)  # -> make
            middle = perf_counter()
            fill(render, name)  # -> fill
            times[0] += middle - begin
            times[1] += perf_counter() - middle


main()  # -> main
