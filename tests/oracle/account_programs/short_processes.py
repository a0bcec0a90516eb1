# SPDX-License-Identifier: MIT
"""25 processes of 30 ms, one after the other, and 10 ms of the parent between them: short_processes.py CPU_SECONDS forked|started.
CPU_SECONDS is for other programs."""
import os
import sys

import books

COUNT = 25


@books.counted
def piece():
    books.use(0.03)


@books.counted
def between():
    books.use(0.01)


def started():
    return os.posix_spawn(sys.executable, [sys.executable, __file__, "0", "piece"], os.environ)


def forked():
    pid = os.fork()
    if pid == 0:
        books.forget()
        piece()
        books.close()
    return pid


def parent(begin):
    for _ in range(COUNT):
        books.wait_for(begin())
        between()


{"forked": lambda: parent(forked), "started": lambda: parent(started), "piece": piece}[sys.argv[2]]()
books.close()
