# SPDX-License-Identifier: MIT
"""Works, then becomes the program named by its arguments."""
import os
import sys
import time


def before(until):
    while time.perf_counter() < until:
        pass


before(time.perf_counter() + 0.3)
os.execv(sys.argv[1], sys.argv[1:])
