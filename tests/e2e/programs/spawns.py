# SPDX-License-Identifier: MIT
"""Starts a program whose input is a pipe that somebody has to open first: until then posix_spawn() waits deep in the kernel,
where nothing can stop it. Then prints how long it took to go on after the time that it reads from the pipe, and exits with
code 4."""
import os
import sys
import time

fifo = sys.argv[1]
print("ready", os.getpid(), flush=True)
reads, writes = os.pipe()
actions = [(os.POSIX_SPAWN_OPEN, 0, fifo, os.O_RDONLY, 0), (os.POSIX_SPAWN_DUP2, writes, 1)]
child = os.posix_spawn("/bin/cat", ["cat"], os.environ, file_actions=actions)
now = time.monotonic()
print(now - float(os.read(reads, 100)), flush=True)
os.waitpid(child, 0)
sys.exit(4)
