# SPDX-License-Identifier: MIT
"""Prints what CPython's own reader finds in a Tachyon file, as JSON: what the file says of itself, then how often each
sample came: thread, interpreter, status, frames from the root. Opcodes by their names."""
import collections
import json
import sys

from profiling.sampling.binary_reader import BinaryReader
from profiling.sampling.opcode_utils import get_opcode_info


def frame_of(frame):
    location = tuple(frame.location) if frame.location else None
    return frame.filename, frame.funcname, location, frame.opcode and get_opcode_info(frame.opcode)["opname"]


class Counting:
    def __init__(self):
        self.samples = collections.Counter()
        self.times = []

    def collect(self, interpreters, times):
        for interpreter in interpreters:
            for thread in interpreter.threads:
                stack = tuple(frame_of(frame) for frame in reversed(thread.frame_info))
                self.samples[thread.thread_id, interpreter.interpreter_id, thread.status, stack] += len(times)
        self.times += times


with BinaryReader(sys.argv[1]) as reader:
    counting = Counting()
    reader.replay_samples(counting)
    times = [min(counting.times), max(counting.times)] if counting.times else []
    print(json.dumps({"info": reader.get_info(), "times": times, "samples": list(counting.samples.items())}))
