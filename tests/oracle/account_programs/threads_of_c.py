# SPDX-License-Identifier: MIT
"""A call whose C threads compute while the caller waits, as those of numeric libraries do: threads_of_c.py CPU_SECONDS LIBRARY. The
threads have the name that their account has. The rest is work of Python."""
import ctypes
import sys

import books

THREADS, EACH_S = 2, 0.02
library = ctypes.CDLL(sys.argv[2])
library.compute_in_threads.argtypes = [ctypes.c_char_p, ctypes.c_int, ctypes.c_double]
library.compute_in_threads.restype = ctypes.c_double
of_c = books.spent["worker-of-c"] = []


@books.counted
def train_step():
    of_c.append(library.compute_in_threads(b"worker-of-c", THREADS, EACH_S))


@books.counted
def log_step():
    books.use(THREADS * EACH_S / 4)


while books.is_working():
    train_step()
    log_step()
books.close()
