# SPDX-License-Identifier: MIT
"""Writes labels as the package of Python does (record/labels/labels.h), by itself: two threads work under one label after the
other, in random order, until standard input ends. Says "ready PID", and at the end a line of JSON: the seconds of its own clocks
(wall, CPU) for each thread and label. With `fork`, a child does the same as the parent; with `many`, there are more labels than
there is room for texts."""
import json
import mmap
import os
import random
import select
import struct
import sys
import threading
import time

ROWS, TEXTS = 16, 8
LABELS = ["", "request 1", "request 2", "größer ☃"]


class Labels:
    def __init__(self):
        size = 64 + 16 * ROWS + 256 * TEXTS
        fd = os.memfd_create("pyreel-labels-1")
        os.ftruncate(fd, size)
        self.memory = mmap.mmap(fd, size, mmap.MAP_PRIVATE)
        os.close(fd)
        self.lock, self.rows, self.serial, self.known = threading.Lock(), {}, 0, {}
        self.put(8, ROWS, TEXTS, 0)
        self.memory[:8] = b"PYRLABL1"

    def put(self, at, *words):
        for i, word in enumerate(words):
            self.memory[at + 8 * i:at + 8 * i + 8] = struct.pack("<Q", word)

    def serial_of(self, text):
        """A text is used again while its slot is its own."""
        serial = self.known.get(text, 0)
        if serial and self.serial - serial < TEXTS:
            return serial
        self.serial += 1
        at = 64 + 16 * ROWS + self.serial % TEXTS * 256
        data = text.encode()[:240]
        self.put(at, 0)
        self.put(at + 8, len(data))
        self.memory[at + 16:at + 16 + len(data)] = data
        self.put(at, self.serial)
        self.known[text] = self.serial
        return self.serial

    def set(self, text):
        thread = threading.get_native_id()
        with self.lock:
            serial = self.serial_of(text) if text else 0
            row = self.rows.get(thread)
            if row is None:
                row = self.rows[thread] = len(self.rows)
                self.put(64 + 16 * row, thread, serial)
                self.put(24, len(self.rows))
            else:
                self.put(64 + 16 * row + 8, serial)
        return time.perf_counter(), time.thread_time()


labels = None
ended = threading.Event()
account = {}


def burn(seconds):
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        pass


def rest(seconds):
    time.sleep(seconds)


def work(name, choices):
    chance = random.Random(name)
    number = 0
    last, since = None, (0, 0)
    while True:
        text = chance.choice(LABELS)
        if choices == "many" and text:
            number += 1
            text = f"{text} {number}"
        now = labels.set(text)
        if last is not None:  # from one label to the next: also what the thread waits for a processor
            row = account.setdefault(last, {"wall": 0, "cpu": 0})
            row["wall"] += now[0] - since[0]
            row["cpu"] += now[1] - since[1]
        last, since = text, now
        if ended.is_set():
            break
        (burn if chance.random() < 0.7 else rest)(0.002 + 0.02 * chance.random())
    labels.set("")


def main():
    global labels
    if "late" in sys.argv:
        print("ready", os.getpid(), flush=True)
        time.sleep(0.3)
    labels = Labels()
    labels.set("main")
    choices = sys.argv[1] if len(sys.argv) > 1 else ""
    child = os.fork() if choices == "fork" else None
    if child == 0:
        with labels.lock:
            labels.rows.clear()
        labels.set("in the child")
    worker = threading.Thread(target=work, args=("worker", choices), name="worker")
    worker.start()
    if child != 0 and "late" not in sys.argv:
        print("ready", os.getpid(), flush=True)
    while not select.select([0], [], [], 0.01)[0]:
        pass
    ended.set()
    worker.join()
    if child:
        os.waitpid(child, 0)
    if child != 0:
        print(json.dumps(account), flush=True)


if __name__ == "__main__":
    main()
