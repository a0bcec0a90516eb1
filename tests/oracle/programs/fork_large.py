# SPDX-License-Identifier: MIT
"""A large process that forks. While its memory is copied nobody else can read it. Its account: do_fork(), do_wait() and
do_else(), which is 20 ms."""
import os
from time import perf_counter

import ledger

#: slow 20
#: distance 3000
FREE = os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
MEMORY = bytearray(b"x") * (1 << 30 if FREE > 3 << 30 else 1 << 29)


def do_fork():
    child = os.fork()
    if child == 0:
        os._exit(0)
    return child


def do_wait(child):
    os.waitpid(child, 0)


def do_else(end):
    while perf_counter() < end:
        pass


def main():
    times = ledger.open_for("do_fork", "do_wait", "do_else")
    print("ready", os.getpid(), flush=True)
    while True:
        begin = perf_counter()
        child = do_fork()  # -> do_fork
        forked = perf_counter()
        do_wait(child)  # -> do_wait
        waited = perf_counter()
        do_else(waited + 0.02)  # -> do_else
        times[0] += forked - begin
        times[1] += waited - forked
        times[2] += perf_counter() - waited


main()  # -> main
