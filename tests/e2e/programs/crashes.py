# SPDX-License-Identifier: MIT
"""Ends by a signal, with a core file in the folder that is its argument."""
import os
import resource
import signal
import sys
import threading


def below(depth, why="it is time"):
    if depth:
        return below(depth - 1)
    os.kill(os.getpid(), signal.SIGSEGV)


resource.setrlimit(resource.RLIMIT_CORE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
os.chdir(sys.argv[1])
threading.Thread(target=threading.Event().wait, name="one that waits", daemon=True).start()
below(5)
