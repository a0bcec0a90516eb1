# SPDX-License-Identifier: MIT
"""Lines that the interpreter soon executes in special forms.

hot.py [monitor]: gets hot, says "ready PID" and then, in JSON, what its Python says that stands in the functions' code:
{function: [[line, end line, column, end column, instruction, base]]}. With `monitor`, sys.monitoring comes and goes.
"""

import dis
import json
import os
import sys
import time


class Slots:
    __slots__ = ("x",)


class Attributes:
    pass


def adds(n):
    total = 0
    for i in range(n):
        total = total + i
    return total


def floats(n):
    value = 1.5
    for _ in range(n):
        value = value * 1.25
        value = value + 0.5 if value < 1e9 else 1.5
    return value


def attributes(slots, plain, n):
    for _ in range(n):
        slots.x
        plain.x
        slots.x
        plain.x


def lookups(table, n):
    for i in range(n):
        table[i & 7]
        table[i & 3]


def leaf(n):
    for _ in range(n):
        pass


def calls(n):
    for _ in range(n):
        leaf(50)


HOT = [adds, floats, attributes, lookups, leaf, calls]


def work(n):
    adds(n)
    floats(n)
    attributes(slots, plain, n)
    lookups(table, n)
    calls(n // 20)


def what_stands_there(function):
    """dis shows what is in memory, and what was compiled."""
    now = {i.offset: i.opname for i in dis.get_instructions(function, adaptive=True)}
    return [[*i.positions, now[i.offset], i.opname] for i in dis.get_instructions(function)]


def monitor(on):
    if on:
        sys.monitoring.use_tool_id(sys.monitoring.DEBUGGER_ID, "hot")
        events = sys.monitoring.events
        sys.monitoring.set_events(sys.monitoring.DEBUGGER_ID, events.CALL | events.LINE | events.BRANCH)
    else:
        sys.monitoring.set_events(sys.monitoring.DEBUGGER_ID, 0)
        sys.monitoring.free_tool_id(sys.monitoring.DEBUGGER_ID)


slots, plain, table = Slots(), Attributes(), {i: i for i in range(8)}
slots.x = plain.x = 1
monitored = "monitor" in sys.argv
for _ in range(300):
    work(100)
print("ready", os.getpid(), flush=True)
print(json.dumps({function.__name__: what_stands_there(function) for function in HOT}), flush=True)
on = False
due = time.monotonic() + 0.3
while True:
    work(2000)
    if monitored and time.monotonic() > due:
        on = not on
        monitor(on)
        due = time.monotonic() + 0.1
