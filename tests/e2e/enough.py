# SPDX-License-Identifier: MIT
"""Records a program until there are enough samples of it, however slow the machine is."""

import json

from recording import PATIENCE, Recorder, Target, convert, end, wait_until


def count_samples(path):
    """In the blocks that are written by now."""
    ended = convert("info", path, "--json")
    return json.loads(ended.text)["samples"] if ended.code == 0 else 0


def record(path, *command, samples=500, options=(), prefix=()):
    """Attaches to the program, which says "ready PID" and then runs until it is killed. Returns the path."""
    target = Target(*prefix, *command)
    try:
        recorder = Recorder("-o", path, *options, "-p", target.pid, prefix=prefix)
        try:
            wait_until(lambda: count_samples(path) >= samples, f"{samples} samples", PATIENCE)
            end(target.pid)
            ended = recorder.wait()
            assert ended.code == 0, ended
        finally:
            recorder.close()
    finally:
        target.close()
    return path
