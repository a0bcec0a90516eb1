# SPDX-License-Identifier: MIT
"""Works in interpreters below the main one, until standard input ends: in_interpreters.py WHAT. Each piece of
work has a number, and is in functions named after it (role_3, leaf_3), so that each stack tells whose it is. Says which
interpreters did which, and the CPU time that was used."""
import collections
import os
import select
import sys
import threading
import time

try:
    import _interpreters
except ImportError:
    import _xxsubinterpreters as _interpreters

ALWAYS = 1000  # seconds
said = []  # the numbers of the work that has begun

ROLE = """
import select
import time
from time import {clock} as clock
def leaf_{n}(until):
    while clock() < until:
        pass
def role_{n}(until):
    while clock() < until and not select.select([0], [], [], 0)[0]:
        leaf_{n}(min(until, clock() + 0.001))
        {rest}
role_{n}(clock() + {seconds})
"""


def goes_on():
    return not select.select([0], [], [], 0)[0]


def create(shares_lock):
    if not hasattr(_interpreters, "exec"):
        return _interpreters.create(isolated=not shares_lock)
    return _interpreters.create("legacy" if shares_lock else "isolated")


def run(interpreter, n, seconds, rest="pass", clock="perf_counter"):
    os.write(1, f"role {n} {int(interpreter)}\n".encode())  # whole, whoever else says something
    said.append(n)
    source = ROLE.format(n=n, seconds=seconds, rest=rest, clock=clock)
    text = f"exec(compile({source!r}, 'role_{n}.py', 'exec'))"
    if int(interpreter) == 0:
        exec(text, {})
    elif hasattr(_interpreters, "exec"):
        wrong = _interpreters.exec(interpreter, text)
        assert wrong is None, wrong
    else:
        _interpreters.run_string(interpreter, text)


def side_by_side(count, shares_lock, *how):
    """Each in a thread of its own, for all the time."""
    interpreters = [create(shares_lock) for _ in range(count)]
    threads = [threading.Thread(target=run, args=(interpreter, n, ALWAYS, *how))
               for n, interpreter in enumerate(interpreters, 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for interpreter in interpreters:
        _interpreters.destroy(interpreter)


def by_turns():
    """One thread, which enters one after the other, again and again."""
    interpreters = [create(n % 2) for n in range(4)]
    while goes_on():
        for n, interpreter in enumerate(interpreters, 1):
            run(interpreter, n, 0.02)


def by_turns_with_one_lock():
    """One thread, which works in the main interpreter and in two that share its lock. Says how many seconds of wall and
    of CPU time the thread spent in each; the time to make an interpreter is its own."""
    spent = collections.defaultdict(lambda: [0, 0])

    def measured(work, *arguments):
        wall, cpu = time.perf_counter(), time.thread_time()
        made = work(*arguments)
        account = spent[int(arguments[0] if made is None else made)]
        account[0] += time.perf_counter() - wall
        account[1] += time.thread_time() - cpu
        return made

    interpreters = [0, measured(create, True), measured(create, True)]
    while goes_on():
        for n, interpreter in enumerate(interpreters, 1):
            measured(run, interpreter, n, 0.05, "pass", "thread_time")
    for interpreter, (wall, cpu) in spent.items():
        print("spent", interpreter, wall, cpu, flush=True)


def come_and_go():
    """Made, used for a moment and destroyed, as fast as it goes; one is there for all the time."""
    lasting = threading.Thread(target=run, args=(create(False), 1000, ALWAYS, "time.sleep(0.001)"))
    lasting.start()
    n = 0
    while goes_on():
        n += 1
        interpreter = create(n % 2)
        run(interpreter, 1 + n % 7, 0.01)
        _interpreters.destroy(interpreter)
    lasting.join()


def pool():
    from concurrent.futures import InterpreterPoolExecutor
    with InterpreterPoolExecutor(3) as executor:
        for future in [executor.submit(exec, ROLE.format(n=n, seconds=ALWAYS, rest="pass", clock="thread_time"), {}) for n in (1, 2, 3)]:
            future.result()


def left_behind():
    """A thread of C ends in the middle of its work, so that nobody frees the state, and its frames stay. Then another thread
    works in an interpreter of its own."""
    interpreter = create(True)
    rest = "import ctypes; ctypes.CDLL(None).pthread_exit(None)"
    threading.Thread(target=run, args=(interpreter, 1, ALWAYS, rest), daemon=True).start()
    while 1 not in said:
        time.sleep(0.001)
    run(create(True), 2, ALWAYS)
    print("cpu", time.process_time(), flush=True)
    os._exit(0)  # the end of Python would wait for the state


# A lock that several interpreters share is not given away for the asking: who sleeps gives it away.
WHAT = {
    "many": lambda: side_by_side(50, False, "time.sleep(0.05)"),
    "few": lambda: side_by_side(8, False, "time.sleep(0.01)"),
    "own_locks": lambda: side_by_side(2, False),
    "one_lock": lambda: side_by_side(2, True, "time.sleep(0)"),
    "turns": by_turns,
    "turns_with_one_lock": by_turns_with_one_lock,
    "come_and_go": come_and_go,
    "left_behind": left_behind,
    "pool": pool,
}

print("ready", os.getpid(), flush=True)
WHAT[sys.argv[1]]()
print("cpu", time.process_time(), flush=True)
