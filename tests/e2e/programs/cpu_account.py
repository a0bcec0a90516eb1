# SPDX-License-Identifier: MIT
"""cpu_account.py WHAT [ARG]: keeps account of the CPU time of its functions, and prints it as JSON at the end:
{"busy": 1.0, "other": 0.5}."""
import json
import sys
import threading
import time

spent = {"busy": 0.0, "other": 0.0}


def burn(name, seconds):
    begin = time.thread_time()
    while time.thread_time() - begin < seconds:
        sum(range(300))
    spent[name] += time.thread_time() - begin


def busy():
    burn("busy", 0.02)


def other():
    burn("other", 0.01)


def beside_waiters(count):
    """The main thread computes, beside many threads that wait for ever."""
    never = threading.Event()
    for _ in range(count):
        threading.Thread(target=never.wait, daemon=True).start()
    for _ in range(50):
        busy()
        other()


def short_threads(milliseconds):
    """Each piece of work has a thread of its own, for which the main thread waits."""
    for name in ("busy", "other") * 40:
        thread = threading.Thread(target=burn, args=(name, milliseconds / 1000), name=name)
        thread.start()
        thread.join()


WHAT = {"beside_waiters": beside_waiters, "short_threads": short_threads}
WHAT[sys.argv[1]](*map(int, sys.argv[2:]))
print(json.dumps(spent), flush=True)
