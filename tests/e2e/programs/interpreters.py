# SPDX-License-Identifier: MIT
"""Works in the main interpreter and, in a thread, in one below it, until standard input ends."""
import select
import threading

try:
    from concurrent import interpreters
except ImportError:
    import _interpreters

CODE = """
import select
def below():
    while not select.select([0], [], [], 0)[0]:
        pass
below()
"""


def run_below():
    try:
        interpreters.create().exec(CODE)
    except NameError:
        _interpreters.exec(_interpreters.create("legacy"), CODE)


def above():
    while not select.select([0], [], [], 0)[0]:
        pass


thread = threading.Thread(target=run_below)
thread.start()
above()
thread.join()
