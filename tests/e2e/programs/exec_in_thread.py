# SPDX-License-Identifier: MIT
"""exec_in_thread.py COUNT: a thread that is not the first one starts the program anew, COUNT times, beside threads that work.
Prints the process's number at the end."""
import os
import sys
import threading

count = int(sys.argv[1])


def work():
    while True:
        sum(range(100))


def start_anew():
    os.execv(sys.executable, [sys.executable, "-I", "-S", sys.argv[0], str(count - 1)])


if count == 0:
    print(os.getpid(), flush=True)
    os._exit(0)
for _ in range(3):
    threading.Thread(target=work, daemon=True).start()
threading.Thread(target=start_anew).start()
work()
