# SPDX-License-Identifier: MIT
"""Tachyon, the sampling profiler of CPython 3.15: runs it, and reads the collapsed stacks that it and we write."""

import collections
import functools
import json
import os
import re

import environment
from recording import collapsed, run, succeed

NO_FRAMES = "<no Python frames>"


@functools.lru_cache(maxsize=None)
def command():
    """What starts its Python, which may live in a root folder: there it needs to see /proc and our files in /tmp."""
    python = environment.python_of("3.15")
    start = list(python.command)
    if python.root:
        mount = 'mount --bind /proc "$0/proc" && mount --bind /tmp "$0/tmp" && exec "$@"'
        environment.need_command("unshare")
        start = [*environment.need_root(), "unshare", "--mount", "sh", "-c", mount, python.root, *start]
    if run(*start, "-c", "import profiling.sampling, _remote_debugging").code:
        environment.missing("the Python 3.15 here has no profiling.sampling")
    return start


def sampling(*arguments):
    return succeed(*command(), "-m", "profiling.sampling", *arguments)


def attach(path, program, *options, samples=500):
    """Has it record programs/mix.py until it has so many samples; returns the pid of that program."""
    said = succeed(*command(), program("tachyon_attach"), path, program("mix"), samples, *options)
    return int(said.text.split()[-1])


def replay(path, *options):
    """Makes PATH.out of a file; returns it and how many samples it had."""
    out = f"{path}.out"
    said = sampling("replay", *options, "-o", out, path)
    return out, int(re.findall(r"Replayed (\d+) samples", said.text)[-1])


def dump(path, program):
    return json.loads(succeed(*command(), program("tachyon_dump"), path).text)


def replayed(path):
    """(tid, stack) → samples, as its own replay tells it. A stack's frames are file:function:line, root first."""
    counts = collections.Counter()
    with open(replay(path, "--collapsed")[0], encoding="utf-8") as file:
        for line in file.read().splitlines():
            thread, *stack = line.rpartition(" ")[0].split(";")
            counts[int(thread.removeprefix("tid:")), tuple(stack)] += int(line.rpartition(" ")[2])
    return counts


def frame_as_theirs(frame):
    match = re.fullmatch(r"(.*) \((.*?)(?::(\d+))?\)", frame)
    return f"{os.path.basename(match[2])}:{match[1]}:{match[3] or 0}" if match else frame


def converted(path, *options):
    """The same as pyreel-collapsed tells it."""
    counts = collections.Counter()
    for line in collapsed(path, "--full-paths", *options).splitlines():
        frames = [frame for frame in line.rpartition(" ")[0].split(";") if not frame.startswith("interpreter ")]
        tid = int(re.search(r"\((\d+)\)$", frames[0])[1])
        counts[tid, tuple(map(frame_as_theirs, frames[1:]))] += int(line.rpartition(" ")[2])
    return counts


def with_frames(counts):
    """Without the samples of threads that had no frames, which replaying passes over."""
    return collections.Counter({key: count for key, count in counts.items() if key[1] != (NO_FRAMES,)})
