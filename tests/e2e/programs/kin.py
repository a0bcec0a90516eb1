# SPDX-License-Identifier: MIT
"""kin.py CHILDREN SECONDS: works for so much CPU time, and then forks children that work as long in the same function, each
with a second thread that sleeps. Each process says its number when it is forked."""
import os
import sys
import threading
import time

children, seconds = int(sys.argv[1]), float(sys.argv[2])


def work():
    until = time.thread_time() + seconds
    while time.thread_time() < until:
        pass


def grow_up():
    threading.Thread(target=time.sleep, args=(1000,), name="sleeper", daemon=True).start()
    work()
    os._exit(0)


threading.Thread(target=time.sleep, args=(1000,), name="of the parent", daemon=True).start()
work()
for _ in range(children):
    child = os.fork()
    if child == 0:
        grow_up()
    print(child, flush=True)
for _ in range(children):
    os.wait()
os._exit(0)
