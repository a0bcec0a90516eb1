# SPDX-License-Identifier: MIT
"""Makes child processes in the way that the first argument names. Each child spends time in burn(), and prints a line of
JSON: its pid, its parent, and for how many seconds burn() ran. Ends with 5."""
import json
import multiprocessing
import os
import signal
import subprocess
import sys
import time


def burn(seconds):
    begin = time.perf_counter()
    while time.perf_counter() - begin < seconds:
        pass
    line = {"pid": os.getpid(), "parent": os.getppid(), "seconds": time.perf_counter() - begin}
    os.write(1, (json.dumps(line) + "\n").encode())


def rest(seconds):
    os.write(1, (json.dumps({"pid": os.getpid(), "parent": os.getppid(), "seconds": 0}) + "\n").encode())
    time.sleep(seconds)


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
    children = [fork(rest, float(seconds)) for _ in range(int(count))]
    for child in children:
        os.waitpid(child, 0)


def forked(count, seconds):
    children = [fork(burn, float(seconds)) for _ in range(int(count))]
    for child in children:
        os.waitpid(child, 0)


def pooled(method, count, seconds):
    context = multiprocessing.get_context(method)
    children = [context.Process(target=burn, args=(float(seconds),)) for _ in range(int(count))]
    for child in children:
        child.start()
    for child in children:
        child.join()


def orphaned(seconds):
    """The child in between ends at once, and its child works on."""
    def between():
        fork(burn, float(seconds))
    os.waitpid(fork(between), 0)


def left(seconds):
    """This process ends before its child."""
    fork(burn, float(seconds))


def ends(seconds):
    """One child exits with 3, a signal ends the other."""
    def exit_3():
        burn(float(seconds))
        os._exit(3)

    def kill_itself():
        burn(float(seconds))
        os.kill(os.getpid(), signal.SIGKILL)
    for child in [fork(exit_3), fork(kill_itself)]:
        os.waitpid(child, 0)


def served(count, seconds):
    """Makes children that burn; says "ready"; and makes one more when a line comes."""
    for _ in range(int(count)):
        fork(burn, float(seconds))
    print("ready", flush=True)
    sys.stdin.readline()
    fork(burn, float(seconds))
    while True:
        try:
            os.wait()
        except ChildProcessError:
            break


if __name__ == "__main__":
    way, arguments = sys.argv[1], sys.argv[2:]
    if way == "burns":
        burn(float(arguments[0]))
        sys.exit(0)
    {f.__name__: f for f in (in_turn, at_once, forked, pooled, orphaned, left, ends, served)}[way](*arguments)
    sys.exit(5)
