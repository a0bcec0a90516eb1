# SPDX-License-Identifier: MIT
"""Runs functions whose names have 125 kB each and differ at the end.

    big_names.py FUNCTIONS MILLISECONDS-EACH
"""
import sys
import time
import types

COUNT, SECONDS = int(sys.argv[1]), float(sys.argv[2]) / 1000


def work():
    end = time.perf_counter() + SECONDS
    while time.perf_counter() < end:
        pass


for i in range(COUNT):
    name = "f" * 125000 + str(i)
    types.FunctionType(work.__code__.replace(co_name=name, co_qualname=name, co_filename=f"/{name}.py"), globals())()
