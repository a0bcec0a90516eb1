# SPDX-License-Identifier: MIT
"""Records a program until there are enough samples of it, however slow the machine is."""

from recording import Recorder, Target, end


def record(path, *command, options=(), prefix=(), samples=500, **least):
    """Attaches to the program, which says "ready PID" and then runs until it is killed: when what pyreel-info counts is at
    least so much. Returns the path."""
    least["samples"] = samples
    target = Target(*prefix, *command)
    try:
        recorder = Recorder("-o", path, *options, "-p", target.pid, prefix=prefix)
        try:
            recorder.wait_for(path, lambda found: all(found[key] >= value for key, value in least.items()), least)
            end(target.pid)
            ended = recorder.wait()
            assert ended.code == 0, ended
        finally:
            recorder.close()
    finally:
        target.close()
    return path
