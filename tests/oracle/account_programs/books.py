# SPDX-License-Identifier: MIT
"""Keeps the books of a program's CPU time: of functions by the clock of the thread that runs them, of processes by
getrusage(). Each process ends with a line of JSON: what its functions used, and what it and the children that it waited
for used as a whole.

    @counted
    def work():
        use(0.003)

    while is_working():
        work()
    close()
"""
import json
import os
import resource
import sys
import time

AMOUNT_S = float(sys.argv[1])  # of CPU time that the program is to use, more or less
spent = {}  # function -> pieces of seconds: threads append to a list, none of them adds to a number
children = {}  # pid -> seconds


def use(seconds):
    begin = time.thread_time()
    while time.thread_time() - begin < seconds:
        sum(range(300))


def counted(function):
    pieces = spent.setdefault(function.__name__, [])

    def keep_account(*arguments):
        begin = time.thread_time()
        function(*arguments)
        pieces.append(time.thread_time() - begin)

    return keep_account


def is_working():
    return time.process_time() < AMOUNT_S


def forget():
    """A child is not to tell again what its parent did before."""
    for pieces in spent.values():
        pieces.clear()


def wait_for(pid):
    """With the end of the process: the kernel counts what that takes, too."""
    _, _, usage = os.wait4(pid, 0)
    children[pid] = usage.ru_utime + usage.ru_stime


def close():
    """Nothing comes behind the account: no thread is waited for, nothing is cleared."""
    functions = {name: sum(pieces) for name, pieces in spent.items() if pieces}
    usage = resource.getrusage(resource.RUSAGE_SELF)
    told = {"functions": functions, "processes": {os.getpid(): usage.ru_utime + usage.ru_stime, **children}}
    os.write(1, (json.dumps(told) + "\n").encode())
    os._exit(0)
