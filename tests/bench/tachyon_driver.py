# SPDX-License-Identifier: MIT
"""Runs under Python 3.15 and uses its Tachyon as asked on standard input: a JSON object on each line, answered by one.

{"do": "unwind", "pid": 4242, "threads": "all", "seconds": 0.5}    stacks as fast as it can; "operation" is one of
                                                                   those of bench-unwind, "stack" unless given
{"do": "samples", "path": "a.bin"}                                 what is in a recording
"""
import json
import sys
import time

import _remote_debugging

CHOICE = {"all": {"all_threads": True}, "main": {}, "gil": {"only_active_thread": True}}
METHODS = {"stack": "get_stack_trace", "async-running": "get_async_stack_trace", "async-all": "get_all_awaited_by"}
clock = time.perf_counter


def unwind(pid, threads, seconds, operation="stack"):
    """A call's time is that between two looks at the clock right around it."""
    unwinder = _remote_debugging.RemoteUnwinder(pid, cache_frames=True, **CHOICE[threads])
    get_stack_trace = getattr(unwinder, METHODS[operation])
    calls = failed = empty = 0
    spent = 0.0
    reasons = {}
    end = clock() + seconds
    while (begin := clock()) < end:
        calls += 1
        try:
            if not get_stack_trace():
                empty += 1
        except (OSError, RuntimeError, UnicodeDecodeError) as error:
            failed += 1
            reasons[str(error)] = reasons.get(str(error), 0) + 1
        spent += clock() - begin
    return {"calls": calls, "failed": failed, "empty": empty, "seconds": spent, "work_rate_hz": calls / spent,
            "avg_us": 1e6 * spent / calls, "success_percent": 100 * (calls - failed) / calls, "reasons": reasons}


class First(Exception):
    """The first sample has been seen."""


class FirstSample:
    """Takes a replayed recording up to its first sample."""
    time_us = None

    def collect(self, _stack, timestamps_us=None):
        self.time_us = timestamps_us[0] if timestamps_us else None
        raise First


def samples(path):
    collector = FirstSample()
    with _remote_debugging.BinaryReader(path) as reader:
        figures = reader.get_info()
        try:
            reader.replay(collector, None)
        except First:
            pass
    return {"samples": figures["sample_count"], "threads": figures["thread_count"],
            "first_sample_ns": collector.time_us and collector.time_us * 1000}


def answer(wish):
    do = {"unwind": unwind, "samples": samples}[wish.pop("do")]
    try:
        return do(**wish)
    except Exception as error:  # pylint: disable=broad-exception-caught  # told to who asked
        return {"error": f"{type(error).__name__}: {error}"}


for line in sys.stdin:
    print(json.dumps(answer(json.loads(line))), flush=True)
