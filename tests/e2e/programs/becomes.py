# SPDX-License-Identifier: MIT
"""Works for a while, or with `told` until it has a line of standard input; then becomes the program named by its arguments."""
import os
import select
import sys
import time


def before(is_over):
    while not is_over():
        pass


if sys.argv[1] == "told":
    print("ready", os.getpid(), flush=True)
    before(lambda: select.select([0], [], [], 0)[0])
    while os.read(0, 1) not in (b"\n", b""):
        pass
    os.execv(sys.argv[2], sys.argv[2:])
end = time.perf_counter() + 0.3
before(lambda: time.perf_counter() >= end)
os.execv(sys.argv[1], sys.argv[1:])
