# SPDX-License-Identifier: MIT
"""Computes in functions of several modules until it is ended."""
import json
import os

import mill.wheel


def work():
    text = json.dumps(list(range(100000)))
    while True:
        mill.wheel.Wheel().turn()
        json.loads(text)


print("ready", os.getpid(), flush=True)
work()
