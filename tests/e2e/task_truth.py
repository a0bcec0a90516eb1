# SPDX-License-Identifier: MIT
"""Judges recordings of programs/async_named.py, whose tasks run only functions that are named for them: no task may
stand over the frames of another one."""

import collections
import re

import stacks
from recording import collapsed

MARK = re.compile(r"<task (.*?)(?: \((\d+) parents\))?>")
NEW = re.compile(r"Task-(?!1$)\d+")  # until 3.12, a task gets its name when it has been made; Task-1 keeps that name
UNNAMED = object()


def judge(path):
    """How many stacks have tasks in them, and those in which a task stands over another one's frames."""
    marked, wrong = 0, collections.Counter()
    for counted in stacks.of_collapsed(collapsed(path)).values():
        for stack, count in stacks.functions(counted).items():
            number = None
            marked += count * any(MARK.fullmatch(frame) for frame in stack)
            for frame in stack:
                mark = MARK.fullmatch(frame)
                named = re.search(r"_(\d+)$", mark[1] if mark else frame)
                if mark:
                    number = named[1] if named else UNNAMED if NEW.fullmatch(mark[1]) else None
                elif named and number is UNNAMED:
                    number = named[1]
                elif named and named[1] != number:
                    wrong[stack] += count
    return marked, wrong


def weighed(path, *options):
    """{name of a task, or None for all threads: sum}"""
    sums = collections.Counter()
    for line in collapsed(path, *options).splitlines():
        stack, _, number = line.rpartition(" ")
        task = re.search(r";task ([^;]*)", stack)
        sums[task and task[1]] += int(number)
    return sums
