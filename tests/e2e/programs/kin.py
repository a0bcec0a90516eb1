# SPDX-License-Identifier: MIT
"""kin.py CHILDREN: works until it has a line of standard input, and then forks children that work in the same function until
standard input ends, each with a second thread that sleeps. Each process says its number when it is forked."""
import os
import select
import sys
import threading
import time

children = int(sys.argv[1])


def work():
    while not select.select([0], [], [], 0)[0]:
        pass


def grow_up():
    threading.Thread(target=time.sleep, args=(1000,), name="sleeper", daemon=True).start()
    work()
    os._exit(0)


threading.Thread(target=time.sleep, args=(1000,), name="of the parent", daemon=True).start()
print("ready", os.getpid(), flush=True)
work()
os.read(0, 1)
for _ in range(children):
    child = os.fork()
    if child == 0:
        grow_up()
    print(child, flush=True)
for _ in range(children):
    os.wait()
os._exit(0)
