# SPDX-License-Identifier: MIT
"""restarts.py COUNT [told]: becomes itself anew so many times, in the midst of threads that work; with `told`, when a line
of standard input comes. The last one works until the end of standard input, and exits with code 5."""
import os
import sys
import threading
import time


def work():
    while True:
        sum(range(50))


left = int(sys.argv[1])
if left == 0:
    sys.stdin.read()
    sys.exit(5)
for _ in range(2):
    threading.Thread(target=work, daemon=True).start()
if "told" in sys.argv:
    os.read(0, 1)
time.sleep(0.02)
os.execv(sys.executable, [sys.executable, __file__, str(left - 1)])
