# SPDX-License-Identifier: MIT
"""Runs thousands of functions, some with names that no terminal should get, from files with such names."""
import os
import threading
import time

NAMES = [f"function_{number:04}" for number in range(3000)]
ODD = ["\x1b]0;owned\x07", "\u202eevil", "深深深", "two\nlines", "\udcff\udcfe"]


def make(name, file):
    code = compile("def f():\n    sum(range(500))\n", file, "exec")
    scope = {}
    exec(code, scope)
    f = scope["f"]
    f.__code__ = f.__code__.replace(co_name=name, **({"co_qualname": name} if hasattr(f.__code__, "co_qualname") else {}))
    return f


functions = [make(name, "/tmp/many.py") for name in NAMES] + [make(name, f"/tmp/\x1b[2J{at}\udcff.py") for at, name in enumerate(ODD)]


def run():
    while True:
        for function in functions[-len(ODD):] * 100 + functions:
            function()


threading.Thread(target=run, name="\x1b[31mred", daemon=True).start()
print("ready", os.getpid(), flush=True)
while True:
    time.sleep(1)
