# SPDX-License-Identifier: MIT
"""Three threads that compute for 3 ms and sleep for 2 ms, in turn: whoever wakes up fights for the lock."""
import threading
import time

import books


@books.counted
def compute():
    books.use(0.003)


@books.counted
def nap():
    time.sleep(0.002)


def live():
    while books.is_working():
        compute()
        nap()


threads = [threading.Thread(target=live) for _ in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
books.close()
