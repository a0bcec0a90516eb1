# SPDX-License-Identifier: MIT
"""Becomes itself anew some times, in the midst of threads that work; then exits with code 5."""
import os
import sys
import threading
import time


def work():
    while True:
        sum(range(50))


left = int(sys.argv[1])
if left == 0:
    sys.exit(5)
for _ in range(2):
    threading.Thread(target=work, daemon=True).start()
time.sleep(0.02)
os.execv(sys.executable, [sys.executable, __file__, str(left - 1)])
