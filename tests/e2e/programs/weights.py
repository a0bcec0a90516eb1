# SPDX-License-Identifier: MIT
"""weights.py KIND: what time there is to show. Works for half a second of CPU time in all, says of it as JSON, and ends.

alone: one thread works. beside: it does, and 40 threads wait. groups: threads of five names do, and two wait.
mixed: one thread works, and sleeps as long. rests: it sleeps only."""
import json
import sys
import threading
import time

never = threading.Event()


def work(seconds):
    begin = time.thread_time()
    while time.thread_time() - begin < seconds:
        sum(range(300))


def rest(seconds):
    time.sleep(seconds)


def wait():
    never.wait()


def beside(names, seconds, waiters):
    workers = [threading.Thread(target=work, args=(seconds,), name=name) for name in names]
    waiting = [threading.Thread(target=wait, name=f"waiter-{number}") for number in range(waiters)]
    for thread in workers + waiting:
        thread.start()
    for thread in workers:
        thread.join()
    never.set()


KINDS = {
    "alone": lambda: work(0.5),
    "beside": lambda: beside(["worker"], 0.5, 40),
    "groups": lambda: beside(["north", "east", "south", "west", "centre"], 0.1, 2),
    "mixed": lambda: [work(0.5), rest(0.5)],
    "rests": lambda: rest(0.5),
}
KINDS[sys.argv[1]]()
print(json.dumps({"cpu_s": time.process_time()}))
