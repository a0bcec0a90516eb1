# SPDX-License-Identifier: MIT
"""C threads that call back, for so many seconds of wall-clock time: callbacks_of_c.py SECONDS LIBRARY COUNT. Each call has a state of Python for itself, at an address where
that of another thread may have been. Each thread has a function of its own, and uses time of C between two calls. With one such
thread the main thread works, too; with several, they have Python for themselves."""
import ctypes
import sys
import time

import books

END = time.monotonic() + books.AMOUNT_S
library = ctypes.CDLL(sys.argv[2])
library.callbacks_start.argtypes = [ctypes.c_char_p, ctypes.c_void_p, ctypes.c_double, ctypes.c_double]


@books.counted
def on_sound():
    books.use(0.003)


@books.counted
def on_event():
    books.use(0.002)


@books.counted
def on_timer():
    books.use(0.001)


@books.counted
def main_work():
    books.use(0.001)


called = [ctypes.CFUNCTYPE(None)(function) for function in (on_sound, on_event, on_timer)[:int(sys.argv[3])]]
rooms = [ctypes.create_string_buffer(64) for _ in called]
for room, function in zip(rooms, called):
    library.callbacks_start(room, function, books.AMOUNT_S, 0.001)
while len(called) == 1 and time.monotonic() < END:
    main_work()
    time.sleep(0.001)
for room in rooms:
    library.callbacks_join(room)
books.close()
