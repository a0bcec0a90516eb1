# SPDX-License-Identifier: MIT
"""Threads of the kernel that CPython knows badly: kernel_threads.py WHAT SECONDS [LIBRARY]. Says for each function how much CPU time
it used, and in which thread: a line "used PID TID FUNCTION SECONDS"."""
import ctypes
import os
import sys
import threading
import time

what, seconds = sys.argv[1], float(sys.argv[2])
libc = ctypes.PyDLL(None)  # keeps the lock, as a server does that embeds Python


def spin(until):
    while time.monotonic() < until:
        sum(range(200))


def first(until):
    spin(until)


def second(until):
    spin(until)


def third(until):
    spin(until)


def account(function, *arguments):
    before = time.thread_time()
    function(*arguments)
    line = f"used {os.getpid()} {threading.get_native_id()} {function.__name__} {time.thread_time() - before:.3f}\n"
    os.write(1, line.encode())


def fork_of_c(function, until):
    """A child that CPython is not told of."""
    if (pid := libc.fork()) == 0:
        account(function, until)
        os._exit(0)
    return pid


print("ready", os.getpid(), flush=True)
end = time.monotonic() + seconds
if what == "fork of C":
    pid = fork_of_c(first, end)
    account(second, end)
    os.waitpid(pid, 0)
elif what == "fork of C in a thread":
    # The fork copies the mutexes of CPython's lock. Where another thread holds or wants the lock at that moment, the child would
    # wait for ever for a thread that it does not have. So the first thread sleeps until the fork is over.
    forked = threading.Event()
    def forks():
        time.sleep(0.1)
        pid = fork_of_c(first, end)
        forked.set()
        account(second, end)
        os.waitpid(pid, 0)
    thread = threading.Thread(target=forks)
    thread.start()
    forked.wait()
    account(third, end)
    thread.join()
elif what == "fork of C in a fork of C":
    if (pid := libc.fork()) == 0:
        pid = fork_of_c(first, end)
        account(second, end)
        os.waitpid(pid, 0)
        os._exit(0)
    account(third, end)
    os.waitpid(pid, 0)
elif what == "fork in a thread":
    def forks():
        if (pid := os.fork()) == 0:
            account(first, end)
            os._exit(0)
        os.waitpid(pid, 0)
    thread = threading.Thread(target=forks, name="it forks")
    thread.start()
    thread.join()
elif what == "the first thread ends":
    def goes_on(function):
        account(function, end)
        if threading.current_thread().name == "lasts":
            while time.monotonic() < end + 0.2:
                time.sleep(0.01)
            os._exit(0)
    for name, function in (("lasts", first), ("goes on", second)):
        threading.Thread(target=goes_on, args=(function,), name=name).start()
    time.sleep(seconds / 4)
    ctypes.CDLL(None).pthread_exit(None)
elif what in ("a callback", "two callbacks"):
    library = ctypes.CDLL(sys.argv[3])
    library.callbacks_start.argtypes = [ctypes.c_char_p, ctypes.c_void_p, ctypes.c_double, ctypes.c_double]
    kind, kept, used = ctypes.CFUNCTYPE(None), [], {}

    def called(function):
        def call():
            before = time.thread_time()
            function(time.monotonic() + 0.003)
            used[function] = used.get(function, 0) + time.thread_time() - before
            used[function.__name__] = threading.get_native_id()
        return kind(call)

    functions = (first, second) if what == "two callbacks" else (first,)
    for function in functions:
        kept.append((ctypes.create_string_buffer(64), called(function)))
        library.callbacks_start(kept[-1][0], kept[-1][1], seconds, 0.002)
    for room, _ in kept:
        library.callbacks_join(room)
    for function in functions:
        print("used", os.getpid(), used[function.__name__], function.__name__, f"{used[function]:.3f}", flush=True)
