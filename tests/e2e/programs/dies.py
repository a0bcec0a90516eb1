# SPDX-License-Identifier: MIT
"""dies.py HOW [SECONDS]: works for a while, then ends as HOW says: with an exit code, or -N for signal N."""
import os
import sys
import time


def work(until):
    while time.perf_counter() < until:
        pass


work(time.perf_counter() + (float(sys.argv[2]) if len(sys.argv) > 2 else 0.3))
how = int(sys.argv[1])
if how < 0:
    os.kill(os.getpid(), -how)
sys.exit(how)
