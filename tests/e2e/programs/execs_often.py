# SPDX-License-Identifier: MIT
"""Threads of which one starts this program anew, so many times; the last one prints "ended", and exits with 7."""
import os
import sys
import threading
import time

TIMES = int(sys.argv[1])


def spin():
    end = time.monotonic() + 0.03
    while time.monotonic() < end:
        sum(range(300))


def go_on():
    spin()
    if TIMES > 0:
        os.execv(sys.executable, [sys.executable, "-S", "-E", __file__, str(TIMES - 1)])
    print("ended", flush=True)
    os._exit(7)


threads = [threading.Thread(target=go_on), threading.Thread(target=spin)]
for thread in threads:
    thread.start()
spin()
threads[0].join()
