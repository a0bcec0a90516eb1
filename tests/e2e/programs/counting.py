# SPDX-License-Identifier: MIT
"""Counts in the first eight bytes of the file that it is given, for others to watch, until it is ended."""
import mmap
import os
import struct
import sys

with open(sys.argv[1], "w+b") as file:
    file.truncate(mmap.PAGESIZE)
    memory = mmap.mmap(file.fileno(), mmap.PAGESIZE)
print("ready", os.getpid(), flush=True)
count = 0
while True:
    count += 1
    struct.pack_into("=Q", memory, 0, count)
