# SPDX-License-Identifier: MIT
"""Starts threads one after the other, each of which sleeps: lined_up.py THREADS. Prints "ready PID"; then the numbers of
all threads in the order in which they began, the main thread first."""
import os
import sys
import threading
import time

threads = [threading.main_thread()]
for _ in range(int(sys.argv[1])):
    threads.append(threading.Thread(target=time.sleep, args=(600,), daemon=True))
    threads[-1].start()
print("ready", os.getpid(), flush=True)
print(*(thread.native_id for thread in threads), flush=True)
time.sleep(600)
