# SPDX-License-Identifier: MIT
"""Spins in functions of several modules: in_modules.py SECONDS. Says in JSON the names of these functions, with the
module that each function says it is of."""
import json
import sys
import time

import mill.wheel


def work(seconds):
    until = time.perf_counter() + seconds
    text = json.dumps(list(range(100000)))
    while time.perf_counter() < until:
        mill.wheel.Wheel().turn()
        json.loads(text)


work(float(sys.argv[1]))
functions = work, mill.spin, mill.wheel.Wheel.turn, json.loads, json.JSONDecoder.decode
print(json.dumps([[function.__module__, function.__qualname__] for function in functions]), flush=True)
