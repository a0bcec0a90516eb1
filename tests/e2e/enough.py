# SPDX-License-Identifier: MIT
"""Records a program until there are enough samples of it, however slow the machine is."""

import json

from recording import PATIENCE, Recorder, Target, convert, end, wait_until


def has(path, least):
    """Whether there is as much of everything in the blocks that are written by now."""
    ended = convert("info", path, "--json")
    return ended.code == 0 and all(json.loads(ended.text)[key] >= value for key, value in least.items())


def record(path, *command, options=(), prefix=(), samples=500, **least):
    """Attaches to the program, which says "ready PID" and then runs until it is killed. Returns the path."""
    least["samples"] = samples
    target = Target(*prefix, *command)
    try:
        recorder = Recorder("-o", path, *options, "-p", target.pid, prefix=prefix)
        try:
            wait_until(lambda: recorder.process.poll() is not None or has(path, least), least, PATIENCE)
            end(target.pid)
            ended = recorder.wait()
            assert ended.code == 0, ended
        finally:
            recorder.close()
    finally:
        target.close()
    return path
