# SPDX-License-Identifier: MIT
"""same_names.py HOW: threads of one name, of which each says at the end what it used: {"tid": [function, seconds], ...}.

HOW is how they come to have one name: named (by the program), unnamed (by the kernel), pooled (of two pools with one prefix).
Four more threads of the name sleep.
"""
import _thread
import concurrent.futures
import json
import sys
import threading
import time

spent = {}


def burn(seconds):
    begin = time.thread_time()
    while time.thread_time() - begin < seconds:
        sum(range(1000))
    return time.thread_time() - begin


def heavy():
    spent[threading.get_native_id()] = ["heavy", burn(1.2)]


def light():
    spent[threading.get_native_id()] = ["light", burn(0.3)]


def sleeper():
    time.sleep(3)


def start(how, function):
    if how == "named":
        threading.Thread(target=function, name="pool worker", daemon=True).start()
    elif how == "unnamed":
        _thread.start_new_thread(function, ())
    else:
        concurrent.futures.ThreadPoolExecutor(1, thread_name_prefix="pool worker").submit(function)


for function in (heavy, light) + (sleeper,) * 4:
    start(sys.argv[1], function)
time.sleep(3)
while len(spent) < 2:
    time.sleep(0.1)
print(json.dumps(spent))
