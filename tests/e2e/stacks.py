# SPDX-License-Identifier: MIT
"""Stacks as each output shows them, in one form: {(thread, tid): {(frame, ...): samples}}, root first.

A frame is (function, file, line), line 0 being none. A frame without a source, as that of a thread that runs no Python,
is its bare name. Which process and interpreter a thread belongs to is left out.
"""

import collections
import re

import gecko_check
import otlp_check
import pprof_check

MAIN = "MainThread"
FRAME = re.compile(r"(.*) \((.*?)(?::(\d+))?\)", re.DOTALL)
PROCESS = re.compile(r"pid \d+: ")
INTERPRETER = re.compile(r"interpreter \d+")
TASK = re.compile(r"task (.*)")
THREAD = re.compile(r"(.*) \((\d+)\)", re.DOTALL)


def bare(name):
    """Firefox Profiler writes marks on the way in parentheses, as < and > mean something to it."""
    return (re.sub(r"^\((.*)\)$", r"<\1>", name),)


def of_collapsed(text):
    threads = collections.defaultdict(collections.Counter)
    lines = [line.rpartition(" ") for line in text.splitlines()]
    assert len({path for path, _, _ in lines}) == len(lines), "a stack is said twice"
    for path, _, count in lines:
        frames = path.split(";")
        while PROCESS.match(frames[0]) or INTERPRETER.fullmatch(frames[0]):
            frames = frames[1:]
        who, frames = owner(frames)
        threads[who][tuple(frame_of_text(frame) for frame in frames)] += int(count)
    return dict(threads)


def owner(frames):
    """(name, tid) of a thread, or of a task with the tid of the thread that has its loop (0: none), and the rest."""
    thread = THREAD.fullmatch(frames[0])
    tid, rest = (int(thread[2]), frames[1:]) if thread else (0, frames)
    task = TASK.fullmatch(rest[0]) if rest else None
    assert thread or task, frames
    return ((task[1], tid), rest[1:]) if task else ((thread[1], tid), rest)


def frame_of_text(text):
    match = FRAME.fullmatch(text)
    return (match[1], match[2], int(match[3] or 0)) if match else bare(text)


def of_gecko(path):
    profile = gecko_check.load(path)
    assert gecko_check.problems(profile) == []

    def label(name, file, line):
        return bare(name) if file is None else (name, file, line or 0)

    threads = collections.defaultdict(collections.Counter)
    for thread in profile["threads"]:
        if thread["samples"]["length"]:
            name = MAIN if thread["isMainThread"] else thread["name"]
            threads[name, thread["tid"]].update(gecko_check.stacks(profile, thread, label))
    return dict(threads)


def of_pprof(path):
    profile, problems = pprof_check.examine(path)
    assert problems == []
    threads = collections.defaultdict(collections.Counter)
    for sample in profile["sample"]:
        labels = pprof_check.label_values(profile, sample)
        stack = tuple(frame_of_location(profile, number) for number in reversed(sample["location_id"]))
        threads[labels["thread"], labels["thread_id"]][stack] += sample["value"][0]
    return dict(threads)


def frame_of_location(profile, number):
    (line,) = profile["location"][number - 1]["line"]
    function = profile["function"][line["function_id"] - 1]
    name, file = (pprof_check.text_at(profile, function[key]) for key in ("name", "filename"))
    return (name, file, line["line"]) if file else bare(name)


def of_otlp(path, type="samples"):
    """Of all processes. The sums of another type than samples are not samples."""
    request = otlp_check.load(path)
    assert otlp_check.check(request) == []
    threads = collections.defaultdict(collections.Counter)
    for resource in otlp_check.resources(request):
        for profile in resource.profiles:
            for sample in profile.samples if profile.type == type else ():
                thread = sample.attributes["thread.name"], sample.attributes.get("thread.id")  # a task that waits is on no thread
                stack = tuple(frame_of_otlp(frame) for frame in otlp_check.frames_of_stack(sample.stack))
                threads[thread][stack] += otlp_check.value_of(sample)
    return dict(threads)


def frame_of_otlp(frame):
    return (frame.function, frame.file, frame.line) if frame.file else bare(frame.function)


# ---- questions to them ----

def total(threads):
    return sum(sum(stacks.values()) for stacks in threads.values())


def names(threads):
    return {name for name, _ in threads}


def of_thread(threads, name):
    """The stacks of all threads of a name, added up."""
    added = collections.Counter()
    for (thread, _), stacks in threads.items():
        if thread == name:
            added.update(stacks)
    return added


def functions(stacks):
    """The same without files and lines."""
    folded = collections.Counter()
    for stack, count in stacks.items():
        folded[tuple(frame[0] for frame in stack)] += count
    return folded


def within(stacks, function):
    """Those that have the function in them."""
    return {stack: n for stack, n in stacks.items() if any(frame[0] == function for frame in stack)}


def samples(stacks, *names):
    """How many have all these functions in them."""
    for name in names:
        stacks = within(stacks, name)
    return sum(stacks.values())


def self_and_total(threads):
    """{function: [self, total]} over all threads."""
    times = collections.defaultdict(lambda: [0, 0])
    for stacks in threads.values():
        for stack, count in stacks.items():
            times[stack[-1][0]][0] += count
            for name in {frame[0] for frame in stack}:
                times[name][1] += count
    return dict(times)


def merged(threads):
    added = collections.Counter()
    for stacks in threads.values():
        added.update(stacks)
    return added


def differences(one, other):
    """What two outputs show differently, for people to read; empty when they agree."""
    lines = []
    for thread in one.keys() | other.keys():
        a, b = one.get(thread, {}), other.get(thread, {})
        lines += [f"{thread}: {a.get(s, 0)} and {b.get(s, 0)} times {s}" for s in a.keys() | b.keys() if a.get(s, 0) != b.get(s, 0)]
    return "\n".join(sorted(lines))
