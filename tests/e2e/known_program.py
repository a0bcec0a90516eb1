# SPDX-License-Identifier: MIT
"""What programs/known.py can be seen to do: read from its source, so that the tests need not repeat its lines."""

import ast
import collections
import itertools
import os
import re

from environment import HERE

SOURCE = os.path.join(HERE, "programs", "known.py")
SHARES = {"plain": 0.30, "Mill.grind": 0.25, "outer": 0.20, "drain": 0.15, "descend": 0.10}
DEPTH = 20
ROUND = 0.1  # seconds of the main thread's CPU time
LOOPS = ("plain", "Mill.grind", "inner", "numbers", "descend")
THREADS = {"napper": "nap_again", "waiter": "wait_for_end"}
WAITS = (("nap_again", "# the nap"), ("wait_for_end", "done.wait()"))
THREAD_START = {"Thread._bootstrap", "Thread._bootstrap_inner", "Thread.run"}

with open(SOURCE) as _file:
    LINES = [""] + _file.read().splitlines()  # by number


def all_seen(threads, path):
    """Whether these stacks have each part of the work on the line of its loop, and each waiting thread where it waits."""
    frames = {frame for seen in threads.values() for stack in seen for frame in stack}
    loops = {(function, path, loop_of(function)) for function in LOOPS}
    return loops | {(function, path, line_of(text)) for function, text in WAITS} <= frames


def _calls():
    """Line -> the functions that it may call."""
    marked = {number: re.search(r"# -> (\S+)$", line) for number, line in enumerate(LINES)}
    return {number: mark[1] for number, mark in marked.items() if mark}


def _ranges(node, prefix=""):
    """Function -> its first and last line."""
    found = {}
    for child in ast.iter_child_nodes(node):
        if isinstance(child, (ast.FunctionDef, ast.ClassDef)):
            name = prefix + child.name
            found[name] = (child.lineno, child.end_lineno)
            inside = name + ("." if isinstance(child, ast.ClassDef) else ".<locals>.")
            found.update(_ranges(child, inside))
    return found


CALLS = _calls()
# CPython gives the first instruction of a module no line.
RANGES = {"<module>": (0, len(LINES) - 1), **_ranges(ast.parse("\n".join(LINES[1:])))}


def line_of(text):
    """The number of the only line with this text in it."""
    (number,) = [number for number, line in enumerate(LINES) if text in line]
    return number


def loop_of(function):
    """The line of a function's `while` loop."""
    first, last = RANGES[function]
    (number,) = [number for number in range(first, last + 1) if "while" in LINES[number]]
    return number


def impossible(stack, thread, path):
    """Why the program can't have had this stack in this thread, in words; None when it can."""
    stack = tuple(frame for frame in stack if frame != ("<GC>",))  # which may be at work anywhere
    # CPython removes threads that are freed, at any line, from the module's WeakSet.
    stack = tuple(itertools.takewhile(lambda frame: not frame[0].startswith("WeakSet.__init__.<locals>._remove"), stack))
    own = [i for i, frame in enumerate(stack) if len(frame) == 3 and frame[1] == path]
    if not own:
        return None  # starting up, ending, or a thread before and after its function
    first, last = own[0], own[-1]
    if own != list(range(first, last + 1)):
        return "frames of other files between ours"
    root = THREADS.get(thread, "<module>")
    if stack[first][0] != root:
        return f"begins in {stack[first][0]}, not in {root}"
    before = {frame[0] for frame in stack[:first]}
    if before - (THREAD_START if thread in THREADS else set()):
        return f"{before} before the beginning"
    for frame, callee in zip(stack[first : last + 1], stack[first + 1 : last + 1]):
        if CALLS.get(frame[2]) != callee[0]:
            return f"line {frame[2]} of {frame[0]} does not call {callee[0]}"
    if last + 1 < len(stack) and CALLS.get(stack[last][2]) != "*":
        return f"line {stack[last][2]} of {stack[last][0]} does not call other files, yet {stack[last + 1]}"
    for name, _, line in stack[first : last + 1]:
        if not RANGES[name][0] <= line <= RANGES[name][1]:
            return f"line {line} is not in {name}"
    depth = sum(frame[0] == "descend" for frame in stack)
    at_bottom = stack[last][0] == "descend" and LINES[stack[last][2]].strip() in ("while clock() < until:  # the bottom", "pass")
    if depth > DEPTH or (at_bottom and depth != DEPTH):
        return f"{depth} levels of descend"
    return None


def all_impossible(threads, path):
    """{why: samples} of the stacks of all threads."""
    reasons = collections.Counter()
    for (thread, _), seen in threads.items():
        for stack, count in seen.items():
            why = impossible(stack, thread, path)
            if why:
                reasons[f"{thread}: {why}: {stack}"] += count
    return reasons
