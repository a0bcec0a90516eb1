# SPDX-License-Identifier: MIT
"""Has CPython's own writer begin a Tachyon file, and waits to be killed: with "much", when some of it is on the disk."""
import sys
import os
import time

import _remote_debugging as remote

path, how_much = sys.argv[1:]
frames = [remote.FrameInfo(("app.py", remote.LocationInfo((line, line, 0, 1)), f"f{line}", None)) for line in range(200)]
writer = remote.BinaryWriter(path, 1000, 0, compression=0)
for i in range(20000 if how_much == "much" else 10):
    stack = frames[i % 100:i % 100 + 50]
    writer.write_sample([remote.InterpreterInfo((0, [remote.ThreadInfo((71, 1, stack))]))], i * 1000)
print("ready", os.getpid(), flush=True)
time.sleep(60)
