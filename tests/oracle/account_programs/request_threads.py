# SPDX-License-Identifier: MIT
"""Each request has a thread of its own, which computes for MS milliseconds and ends; half as much again is the main
thread's own work."""
import sys
import threading

import books

seconds = float(sys.argv[2]) / 1000


@books.counted
def handle():
    books.use(seconds)


@books.counted
def accept():
    books.use(seconds / 2)


while books.is_working():
    thread = threading.Thread(target=handle)
    thread.start()
    thread.join()
    accept()
books.close()
