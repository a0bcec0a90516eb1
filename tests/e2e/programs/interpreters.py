# SPDX-License-Identifier: MIT
"""Works in the main interpreter and, in a thread, in one below it."""
import threading
import time

try:
    from concurrent import interpreters
except ImportError:
    import _interpreters

CODE = """
import time
def below(until):
    while time.perf_counter() < until:
        pass
below(time.perf_counter() + 0.8)
"""


def run_below():
    try:
        interpreters.create().exec(CODE)
    except NameError:
        _interpreters.exec(_interpreters.create("legacy"), CODE)


def above(until):
    while time.perf_counter() < until:
        pass


thread = threading.Thread(target=run_below)
thread.start()
above(time.perf_counter() + 0.8)
thread.join()
