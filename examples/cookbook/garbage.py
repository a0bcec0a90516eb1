# SPDX-License-Identifier: MIT
"""A reader of documents that keeps a large index, and makes cycles of objects for each document.

Each node of a document knows its parent and its children, so only the garbage collector can free it. With the argument
"freeze" the index is taken out of the collector's sight; with "weak" a node has a weak reference to its parent. The program
counts the CPU time of collections itself.
"""
import gc
import sys
import time
import weakref

TEXT = "(a (b c d) (e (f g) h) (i j k l) (m (n (o p) q) r) s) " * 12


class Node:
    def __init__(self, name, parent):
        self.name, self.parent, self.children = name, parent, []


class Collections:
    """What the collector says about itself: collections and seconds of each generation."""

    def __init__(self):
        self.number, self.seconds = [0, 0, 0], [0.0, 0.0, 0.0]
        gc.callbacks.append(self.note)

    def note(self, phase, about):
        if phase == "start":
            self.begin = time.thread_time()
            return
        self.number[about["generation"]] += 1
        self.seconds[about["generation"]] += time.thread_time() - self.begin

    def __str__(self):
        each = (f"{number} of generation {n}: {seconds:.2f} s" for n, (number, seconds) in enumerate(zip(self.number, self.seconds)))
        return f"{sum(self.seconds):.2f} s in collections ({', '.join(each)})"


def make_index(size=200_000):
    return {n: [n, str(n)] for n in range(size)}


def parse(text, link):
    root = node = Node("root", None)
    for word in text.replace("(", " ( ").replace(")", " ) ").split():
        if word == ")":
            node = node.parent if link is not weakref.ref else node.parent()
            continue
        child = Node(word, link(node))
        node.children.append(child)
        node = child if word == "(" else node
    return root


def count_words(text):
    counts = {}
    for word in text.split():
        counts[word] = counts.get(word, 0) + 1
    return counts


def main(choice="", seconds=3):
    index, collections = make_index(), Collections()
    if choice == "freeze":
        gc.collect()
        gc.freeze()
    kept, number, begin, end = [], 0, time.process_time(), time.monotonic() + seconds
    while time.monotonic() < end:
        kept = [*kept[-20:], parse(TEXT, weakref.ref if choice == "weak" else lambda node: node)]
        index[number % len(index)].append(count_words(TEXT))
        number += 1
    spent = time.process_time() - begin
    print(f"{number} documents, {spent / number * 1000:.2f} ms of CPU each; {spent:.2f} s of CPU, of these {collections}")


if __name__ == "__main__":
    main(*sys.argv[1:])
