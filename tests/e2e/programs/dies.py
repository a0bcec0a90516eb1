# SPDX-License-Identifier: MIT
"""Works for a while, then ends as its argument says: with an exit code, or -N for signal N."""
import os
import sys
import time


def work(until):
    while time.perf_counter() < until:
        pass


work(time.perf_counter() + 0.3)
how = int(sys.argv[1])
if how < 0:
    os.kill(os.getpid(), -how)
sys.exit(how)
