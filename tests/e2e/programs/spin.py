# SPDX-License-Identifier: MIT
"""Runs, in the function spin, until it is ended: a program to attach to. With `told` it ends when its standard input does,
and with -i it does not mind SIGINT and SIGTERM."""
import os
import select
import signal
import sys
import time


def spin(seconds):
    print("ready", os.getpid(), flush=True)
    if "told" in sys.argv:
        while not select.select([0], [], [], 0)[0]:
            pass
    else:
        until = time.perf_counter() + seconds
        while time.perf_counter() < until:
            pass


if "-i" in sys.argv:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
seconds = [float(argument) for argument in sys.argv[1:] if argument not in ("-i", "told")] or [600]
spin(seconds[0])
