# SPDX-License-Identifier: MIT
"""Computes in threads until SIGUSR1, and ends with an exit code: viewed.py CODE. Interrupted it ends with the next one."""
import os
import signal
import sys
import threading
import time

told = threading.Event()


def parse():
    sum(range(2000))


def work():
    while not told.is_set():
        parse()


def rest():
    while not told.is_set():
        time.sleep(0.02)


code = int(sys.argv[1])
signal.signal(signal.SIGUSR1, lambda *_: told.set())
for number in range(2):
    threading.Thread(target=work, name=f"worker-{number}", daemon=True).start()
threading.Thread(target=rest, name="rester", daemon=True).start()
print("ready", os.getpid(), flush=True)
try:
    work()
except KeyboardInterrupt:
    print("interrupted", flush=True)
    code += 1
print("the last words", flush=True)
sys.exit(code)
