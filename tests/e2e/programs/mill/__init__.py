# SPDX-License-Identifier: MIT
"""A package of in_modules.py."""
import time


def spin():
    until = time.perf_counter() + 0.01
    while time.perf_counter() < until:
        pass
