# SPDX-License-Identifier: MIT
"""dies.py HOW [SECONDS]: works for a while, then ends as HOW says: with an exit code, or -N for signal N. With "told" for
SECONDS, it works until it has a line, or the end, of standard input."""
import os
import select
import sys
import time


def work(seconds):
    if seconds == "told":
        print("ready", os.getpid(), flush=True)
        while not select.select([0], [], [], 0)[0]:
            pass
    else:
        until = time.perf_counter() + float(seconds)
        while time.perf_counter() < until:
            pass


work((*sys.argv[2:], 0.3)[0])
how = int(sys.argv[1])
if how < 0:
    os.kill(os.getpid(), -how)
sys.exit(how)
