# SPDX-License-Identifier: MIT
"""The first thread of the process ends, as a thread does; another one goes on, and ends the process."""
import ctypes
import threading

import books


@books.counted
def large_part():
    books.use(0.003)


@books.counted
def small_part():
    books.use(0.001)


def goes_on():
    while books.is_working():
        large_part()
        small_part()
    books.close()


threading.Thread(target=goes_on).start()
ctypes.CDLL(None).pthread_exit(None)
