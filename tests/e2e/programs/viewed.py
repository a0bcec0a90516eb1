# SPDX-License-Identifier: MIT
"""Computes in threads until it is interrupted, or for so many seconds; ends with an exit code: SECONDS CODE."""
import os
import sys
import threading
import time


def parse():
    sum(range(2000))


def work(until):
    while time.monotonic() < until:
        parse()


def rest(until):
    while time.monotonic() < until:
        time.sleep(0.02)


seconds, code = float(sys.argv[1]), int(sys.argv[2])
until = time.monotonic() + seconds
for number in range(2):
    threading.Thread(target=work, args=(until,), name=f"worker-{number}", daemon=True).start()
threading.Thread(target=rest, args=(until,), name="rester", daemon=True).start()
print("ready", os.getpid(), flush=True)
try:
    work(until)
except KeyboardInterrupt:
    print("interrupted", flush=True)
    code += 1
print("the last words", flush=True)
sys.exit(code)
