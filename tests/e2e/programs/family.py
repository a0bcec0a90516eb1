# SPDX-License-Identifier: MIT
"""Makes child processes in the way that the first argument names. Each child spends time in burn(), and prints a line of
JSON: its pid, its parent, and for how many seconds burn() ran. SECONDS may be "told": until standard input ends. Ends
with 5."""
import json
import multiprocessing
import os
import select
import signal
import subprocess
import sys
import time


def is_told():
    return select.select([0], [], [], 0)[0]


def burn(seconds, is_told=is_told):
    begin = time.perf_counter()
    if seconds == "told":
        while not is_told():
            pass
    else:
        while time.perf_counter() - begin < float(seconds):
            pass
    line = {"pid": os.getpid(), "parent": os.getppid(), "seconds": time.perf_counter() - begin}
    os.write(1, (json.dumps(line) + "\n").encode())


def rest(seconds):
    os.write(1, (json.dumps({"pid": os.getpid(), "parent": os.getppid(), "seconds": 0}) + "\n").encode())
    if seconds == "told":
        sys.stdin.read()
    else:
        time.sleep(float(seconds))


def fork(work, *arguments):
    child = os.fork()
    if child == 0:
        work(*arguments)
        os._exit(0)
    return child


def in_turn(count, seconds):
    for _ in range(int(count)):
        subprocess.run([sys.executable, __file__, "burns", seconds], check=True)


def at_once(count, seconds):
    children = [fork(rest, seconds) for _ in range(int(count))]
    for child in children:
        os.waitpid(child, 0)


def forked(count, seconds):
    children = [fork(burn, seconds) for _ in range(int(count))]
    for child in children:
        os.waitpid(child, 0)


def burn_until(seconds, ended):
    burn(seconds, ended.is_set)


def pooled(method, count, seconds):
    context = multiprocessing.get_context(method)
    ended = context.Event()
    children = [context.Process(target=burn_until, args=(seconds, ended)) for _ in range(int(count))]
    for child in children:
        child.start()
    if seconds == "told":
        sys.stdin.read()
        ended.set()
    for child in children:
        child.join()


def orphaned(seconds):
    """The child in between ends at once, and its child works on."""
    def between():
        fork(burn, seconds)
    os.waitpid(fork(between), 0)


def left(seconds):
    """This process ends before its child."""
    fork(burn, seconds)


def ends(seconds):
    """One child exits with 3, a signal ends the other."""
    def exit_3():
        burn(seconds)
        os._exit(3)

    def kill_itself():
        burn(seconds)
        os.kill(os.getpid(), signal.SIGKILL)
    for child in [fork(exit_3), fork(kill_itself)]:
        os.waitpid(child, 0)


def served(count):
    """Makes children that burn until the end of standard input; says "ready"; and makes one more when a line comes."""
    gate, door = os.pipe()

    def child():
        os.close(door)
        burn("told", lambda: select.select([gate], [], [], 0)[0])
    children = [fork(child) for _ in range(int(count))]
    print("ready", os.getpid(), flush=True)
    sys.stdin.readline()
    children.append(fork(child))
    sys.stdin.read()
    os.close(door)
    for pid in children:
        os.waitpid(pid, 0)


if __name__ == "__main__":
    way, arguments = sys.argv[1], sys.argv[2:]
    if way == "burns":
        burn(arguments[0])
        os.read(0, 1)  # the next one waits for another line
        sys.exit(0)
    {f.__name__: f for f in (in_turn, at_once, forked, pooled, orphaned, left, ends, served)}[way](*arguments)
    sys.exit(5)
