# SPDX-License-Identifier: MIT
"""A program's account of itself: a file PROGRAM.PID.account that is mapped, so that others can read it at any time. It
begins with the names of functions, HEAD bytes in all; then follows a number for each: the seconds that it took so far,
without what others of them took inside it. The program adds to these what perf_counter() tells.

    times = ledger.open_for("work", "rest")
    begin = perf_counter()
    work()
    times[0] += perf_counter() - begin
"""
import mmap
import os
import sys

HEAD = 1024


def open_for(*names):
    with open(f"{sys.argv[0]}.{os.getpid()}.account", "wb+") as file:
        file.write(" ".join(names).encode().ljust(HEAD, b"\0") + bytes(8 * len(names)))
        file.flush()
        return memoryview(mmap.mmap(file.fileno(), 0)).cast("B")[HEAD:].cast("d")
