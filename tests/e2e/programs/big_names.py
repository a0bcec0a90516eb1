# SPDX-License-Identifier: MIT
"""Runs functions whose names have 125 kB each and differ at the end, again and again, until standard input ends.

    big_names.py FUNCTIONS
"""
import select
import sys
import time
import types


def work():
    end = time.perf_counter() + 0.003
    while time.perf_counter() < end:
        pass


def named(name):
    return types.FunctionType(work.__code__.replace(co_name=name, co_qualname=name, co_filename=f"/{name}.py"), globals())


functions = [named("f" * 125000 + str(i)) for i in range(int(sys.argv[1]))]
while not select.select([0], [], [], 0)[0]:
    for function in functions:
        function()
