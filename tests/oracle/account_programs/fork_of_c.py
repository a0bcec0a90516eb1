# SPDX-License-Identifier: MIT
"""A child made by fork() of C, of which Python is not told: two thirds of the CPU time are the child's."""
import ctypes

import books


@books.counted
def of_child():
    books.use(books.AMOUNT_S * 2 / 3)


@books.counted
def of_parent():
    books.use(books.AMOUNT_S / 3)


pid = ctypes.PyDLL(None).fork()  # keeps the lock, as a server does that has a Python inside
if pid == 0:
    of_child()
    books.close()
of_parent()
books.wait_for(pid)
books.close()
