# SPDX-License-Identifier: MIT
"""Three quarters and one quarter of the CPU time, in turn, and a nap between them in which none is used."""
import time

import books


@books.counted
def heavy():
    books.use(0.003)


@books.counted
def light():
    books.use(0.001)


@books.counted
def nap():
    time.sleep(0.002)


while books.is_working():
    heavy()
    nap()
    light()
books.close()
