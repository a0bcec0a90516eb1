# SPDX-License-Identifier: MIT
"""A parent, two workers, a worker that becomes another program, and a program that is started and killed.

Each computes for a while, by its CPU time.
"""
import os
import signal
import subprocess
import sys
import time


def compute():
    end = time.thread_time() + 0.4
    while time.thread_time() < end:
        sum(range(1000))


def fork(job, *arguments):
    pid = os.fork()
    if pid == 0:
        job(*arguments)
    return pid


def work(code):
    compute()
    os._exit(code)


def become():
    compute()
    os.execv(sys.executable, [sys.executable, __file__, "become"])


if sys.argv[1:]:
    compute()
    if sys.argv[1] == "die":
        os.kill(os.getpid(), signal.SIGKILL)
else:
    workers = [fork(work, 0), fork(work, 3), fork(become)]
    print(os.getpid(), *workers, flush=True)
    for worker in workers:
        os.waitpid(worker, 0)
    subprocess.run([sys.executable, __file__, "die"], check=False)
