# SPDX-License-Identifier: MIT
"""Starts 25 children, one after the other, each of which computes for 30 ms. It ends by itself."""
import subprocess
import sys

CHILD = """
import time

def child(end):
    while time.monotonic() < end:
        pass

child(time.monotonic() + 0.03)
"""


def parent():
    for _ in range(25):
        subprocess.run([sys.executable, "-c", CHILD], check=True)


parent()
