# SPDX-License-Identifier: MIT
"""early() and late() use the same CPU time. Beside early() twelve children wake all the time; then the program waits for their ends,
one after the other, on processors that the recorder and the children take from it."""
import os
import signal
import time

import books

CHILDREN = 12


@books.counted
def early():
    books.use(books.AMOUNT_S / 2)


@books.counted
def late():
    books.use(books.AMOUNT_S / 2)


def child():
    ended = []
    signal.signal(signal.SIGTERM, lambda *_: ended.append(True))
    while not ended:
        sum(range(3000))
        time.sleep(0.004)
    os._exit(0)


pids = []
for _ in range(CHILDREN):
    pids.append(os.fork())
    if pids[-1] == 0:
        child()
time.sleep(0.3)  # they have their handlers
early()
for pid in pids:
    os.kill(pid, signal.SIGTERM)
for pid in pids:
    books.wait_for(pid)
late()
books.close()
