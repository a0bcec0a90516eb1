# SPDX-License-Identifier: MIT
"""Collects garbage of each generation, and notes what gc.callbacks say: of each collection the generation and the clock,
in nanoseconds of CLOCK_MONOTONIC. The last collections begin by themselves. Goes on until standard
input ends, and with the argument "task" in a task."""
import asyncio
import gc
import json
import select
import sys
import time

said, begun = [], 0
MANY = 300_000


def note(phase, facts):
    global begun
    if phase == "start":
        begun = time.monotonic_ns()
    else:
        said.append((facts["generation"], begun, time.monotonic_ns()))


def fill(count):
    return [[number] for number in range(count)]


def collects():
    while not select.select([0], [], [], 0)[0]:
        collects_each()


def collects_each():
    for _ in range(2):
        for generation in (0, 1, 2, 0, 0, 1):
            kept.append(fill(MANY // 4 if generation < 2 else 0))
            gc.collect(generation)
        kept.clear()
    gc.set_threshold(MANY // 2, 1, 1)
    gc.enable()
    for _ in range(6):
        kept.append(fill(MANY // 2))
    gc.disable()
    kept.clear()


async def collects_in_a_task():
    await asyncio.sleep(0.1)
    collects()


kept = []
gc.disable()
gc.callbacks.append(note)
asyncio.run(collects_in_a_task()) if "task" in sys.argv else collects()
gc.callbacks.clear()
print(json.dumps(said))
