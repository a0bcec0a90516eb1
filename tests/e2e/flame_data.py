# SPDX-License-Identifier: MIT
"""Data for the flame page (schemas/flame.md), made of stacks that a test names, and the page with that data."""

import base64
import gzip
import json
import pathlib
import random
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "formats/flame/page"))
import embed  # noqa: E402

KINDS = {"program": "Your code", "package": "Packages", "library": "Standard library", "import": "Imports",
         "native": "C code", "gc": "Garbage collection", "asyncio": "Asyncio", "waiting": "Waiting",
         "idle": "Idle", "other": "Other"}
WEIGHTS = (("wall", "Wall time", "ns"), ("cpu", "CPU time", "ns"), ("gil", "With the GIL", "ns"),
           ("gil_wait", "Waiting for the GIL", "ns"), ("samples", "Samples", "samples"))
MS = 1_000_000


class Made:
    """Collects stacks. A frame is (function, file, line, kind); a group is (process, pid, thread, task)."""

    def __init__(self, title="made.py", unknown=()):
        self.title, self.strings, self.functions, self.frames, self.groups, self.nodes = title, {"": 0}, {}, {}, {}, {}
        self.kinds, self.weights = list(KINDS), [name for name, _, _ in WEIGHTS if name not in unknown]
        self.unknown, self.sources, self.difference, self.before = dict(unknown), [], None, {}
        self.facts = [["Recorded", "2026-11-25 18:40:11 UTC"], ["Command", f"python3 {title}"], ["Python", "3.15.2"],
                      ["Exact", "99.9% of 12,000 samples"]]

    def string(self, text):
        return self.strings.setdefault(text, len(self.strings))

    def function(self, name, file, kind="program", first=1, path=None):
        row = (self.string(name), self.string(file), self.string(file and (path or "/home/me/" + file)), first, self.kinds.index(kind))
        return self.functions.setdefault(row, len(self.functions))

    def frame(self, name, file, line, kind="program", first=None):
        row = (self.function(name, file, kind, line if first is None else first), line)
        return self.frames.setdefault(row, len(self.frames))

    def group(self, group):
        return self.groups.setdefault(group, len(self.groups))

    def add(self, group, stack, sums, before=0):
        """A stack of frames, the root first. `sums` has the weights that are not 0."""
        group, above = self.group(group), -1
        for frame in stack:
            above = self.nodes.setdefault((group, above, frame), len(self.nodes))
        self.leaf(above, sums, before)

    def leaf(self, node, sums, before=0):
        own = self.before.setdefault(node, [dict.fromkeys(self.weights, 0), 0])
        for name, value in sums.items():
            own[0][name] += value
        own[1] += before

    def data(self):
        nodes, empty = list(self.nodes), [dict.fromkeys(self.weights, 0), 0]
        own = [self.before.get(i, empty) for i in range(len(nodes))]
        selfs = {name: [row[0].get(name, 0) for row in own] for name in self.weights}
        sums = [dict.fromkeys(self.weights, 0) for _ in self.groups]
        for i, (group, _, _) in enumerate(nodes):
            for name in self.weights:
                sums[group][name] += selfs[name][i]
        functions, frames = list(zip(*self.functions)), list(zip(*self.frames))
        return {
            "version": 1, "title": self.title, "facts": self.facts,
            "weights": [{"name": name, "label": label, "unit": unit, "known": name in self.weights,
                         **({} if name in self.weights else {"reason": self.unknown[name]})} for name, label, unit in WEIGHTS],
            "kinds": [{"name": name, "label": label} for name, label in KINDS.items()], "strings": list(self.strings),
            "functions": dict(zip(("name", "file", "path", "line", "kind"), functions)),
            "frames": dict(zip(("function", "line"), frames)),
            "groups": [{"process": process, "pid": pid, "thread": thread, "task": task, "threads": 1, "sums": sums[i]}
                       for i, (process, pid, thread, task) in enumerate(self.groups)],
            "nodes": {"parent": [0 if above < 0 else i - above for i, (_, above, _) in enumerate(nodes)],
                      "group": [group for group, _, _ in nodes], "frame": [frame for _, _, frame in nodes], "self": selfs},
            "pruned": None, "sources": self.sources,
            "difference": self.difference and {**self.difference, "self": [row[1] for row in own]},
        }


def page_of(data):
    head, tail = embed.page()
    packed = base64.encodebytes(gzip.compress(json.dumps(data).encode(), 6)).decode()
    return head + packed + tail


MAIN, WORKER, IDLER = (("made.py", 4242, name, "") for name in ("MainThread", "Worker", "Idler"))
SOURCE_TEXT = "\n".join(["import json", "", "def main():", "    for _ in range(9):", "        work(9)", "        load()", "",
                         "def work(n):", "    total = 0", "    for i in range(n):", "\ttotal += i * i", "    return total", "",
                         "def load():", "    return json.loads(TEXT)", ""])


def small(difference=False):
    """A program with two threads that work and one that waits."""
    made = Made(unknown={"gil_wait": "CPython before 3.15 does not say which thread waits for the lock."})
    main, loop = made.frame("main", "app.py", 5, first=3), made.frame("main", "app.py", 6, first=3)
    work = [made.frame("work", "app.py", line, first=8) for line in (10, 11)]
    load = made.frame("load", "app.py", 15, first=14)
    loads, decode = made.frame("loads", "json/__init__.py", 346, "library", 299), made.frame("decode", "json/decoder.py", 345, "library", 337)
    native, gc = made.frame("<native>", "", 0, "native"), made.frame("<GC>", "", 0, "gc")
    array = made.frame("multiply", "numpy/core.py", 77, "package", 60)
    fib = [made.frame("fib", "app.py", line, first=17) for line in (18, 19)]
    wait, idle = made.frame("wait", "threading.py", 331, "library", 295), made.frame("[idle]", "", 0, "idle")
    waits = made.frame("[waiting for the GIL]", "", 0, "waiting")
    start = made.frame("_bootstrap", "threading.py", 1014, "library", 1000)

    def both(ms, cpu=None, before=None):
        cpu = ms if cpu is None else cpu
        return {"wall": ms * MS, "cpu": cpu * MS, "gil": cpu * MS, "samples": ms}, (cpu if before is None else before) * MS

    made.add(MAIN, [main, work[0]], *both(300, before=290))
    made.add(MAIN, [main, work[1]], *both(700, before=410))
    made.add(MAIN, [main, work[1], gc], *both(80))
    made.add(MAIN, [loop, load, loads, decode], *both(250, before=500))
    made.add(MAIN, [loop, load, loads, decode, native], *both(350, before=600))
    made.add(MAIN, [loop, load, native], *both(0 if difference else 20, before=220))
    made.add(MAIN, [main, array, native], *both(420))
    made.add(WORKER, [start, fib[0], fib[1], fib[0], fib[1]], *both(200, before=210))
    made.add(WORKER, [start, fib[0], fib[1]], *both(100))
    made.add(WORKER, [start, fib[0], waits], *both(150, 0))
    made.add(IDLER, [start, wait, idle], *both(2500, 0))
    made.sources = [{"path": made.string("/home/me/app.py"), "text": SOURCE_TEXT},
                    {"path": made.string("/home/me/json/decoder.py"), "reason": "not what was recorded: changed since then"}]
    if difference:
        made.weights, others = ["cpu"], dict.fromkeys(("wall", "gil", "gil_wait", "samples"), "The comparison is by CPU time.")
        made.unknown = others
        made.difference = {"before_title": "old.pyreel", "after_title": "new.pyreel", "weight": "cpu", "scale": 1.0,
                           "scaled": "Both sides as they were recorded.", "confidence": 0.95,
                           "noise": {"z": 2.5, "before": MS, "after": MS, "spread": 0.01},
                           "functions": [{"function": made.function("work", "app.py", first=8), "by": "self", "before": 700 * MS,
                                          "after": 1000 * MS, "low": 190 * MS, "high": 410 * MS, "verdict": "grew"},
                                         {"function": made.function("decode", "json/decoder.py", "library", 337), "by": "total",
                                          "before": 1100 * MS, "after": 600 * MS, "low": -1200 * MS, "high": 300 * MS, "verdict": "same"},
                                         {"function": made.function("_bootstrap", "threading.py", "library", 1000), "by": "total",
                                          "before": 310 * MS, "after": 300 * MS, "low": None, "high": None, "verdict": "grew"}]}
    return made


def large(stacks, seed=1):
    """As many stacks, of 2,000 functions in 60 files, up to 40 deep, in eight threads."""
    chance, made = random.Random(seed), Made("large.py")
    kinds = ["program"] * 4 + ["package"] * 3 + ["library"] * 3 + ["native", "import", "asyncio"]
    names = ["parse", "read", "load", "visit", "emit", "check", "run", "call", "walk", "encode", "resolve", "handle", "build", "merge"]
    rows = [(f"{chance.choice(names)}_{chance.choice(names)}_{i}", f"pkg{i % 60 // 6}/module_{i % 60}.py", kinds[i % 60 % len(kinds)], 10 * i + 1)
            for i in range(2000)]
    frames = [[made.frame(name, file, first + 2 * line, kind, first) for line in range(4)] for name, file, kind, first in rows]
    groups = [made.group(("large.py", 7, f"Thread-{i}", "")) for i in range(8)]
    ends = [(chance.choice(groups), -1, 0)] * 4
    while len(made.before) < stacks:
        group, above, depth = chance.choice(ends)
        if depth == 0:
            group = chance.choice(groups)
        above = made.nodes.setdefault((group, above, chance.choice(frames[int(2000 * chance.random() ** 2)])), len(made.nodes))
        ends.append((group, above, depth + 1) if depth < 40 else (group, -1, 0))
        if len(ends) > 4000:
            ends[:] = chance.sample(ends, 2000) + [(0, -1, 0)] * 4
        ms = int(chance.paretovariate(1.1))
        made.leaf(above, {"wall": ms * MS, "cpu": ms * MS * 9 // 10, "gil": ms * MS // 2, "gil_wait": 0, "samples": ms})
    return made
