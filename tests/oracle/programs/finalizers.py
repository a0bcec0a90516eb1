# SPDX-License-Identifier: MIT
"""Code that runs where nobody calls it: __del__, weak references' callbacks, a garbage collection, a signal's handler;
and frames that are kept after their function has returned."""
import gc
import os
import signal
import sys
import weakref


def leaf(n):
    return n + 1


class Freed:
    def __del__(self):
        leaf(1)  # -> leaf


class Looped:
    def __del__(self):
        leaf(2)  # -> leaf


class Plain:
    pass


def on_death(reference):
    leaf(3)  # -> leaf


def on_signal(number, frame):  # anywhere
    signalled(number)  # -> signalled


def signalled(number):
    return number


def by_count():
    freed = Freed()
    freed = leaf(1)  # -> Freed.__del__ leaf
    return freed


def by_return():
    freed = Freed()
    leaf(freed is None)  # -> leaf


def by_callback():
    plain = Plain()
    reference = weakref.ref(plain, on_death)
    del plain  # -> on_death
    return reference


def by_collection():
    looped = Looped()
    looped.self = looped
    looped = None
    gc.collect(0)  # -> Looped.__del__


def keep_frame(n):
    frame = sys._getframe()
    leaf(n)  # -> leaf
    return frame


def kept_frames():
    frame = keep_frame(1)  # -> keep_frame
    leaf(frame.f_lineno)  # -> leaf


def raising(n):  # most 6
    if n == 0:
        raise KeyError(n)
    raising(n - 1)  # -> raising


def kept_traceback():
    try:
        raising(5)  # -> raising
    except KeyError as error:
        kept = error
    leaf(1)  # -> leaf
    del kept


def main():
    gc.disable()
    signal.signal(signal.SIGALRM, on_signal)
    signal.setitimer(signal.ITIMER_REAL, 0.0003, 0.0003)
    print("ready", os.getpid(), flush=True)
    while True:
        for _ in range(10):
            by_count()  # -> by_count
            by_return()  # -> by_return Freed.__del__
            by_callback()  # -> by_callback
            kept_frames()  # -> kept_frames
            kept_traceback()  # -> kept_traceback
        by_collection()  # -> by_collection


main()  # -> main
