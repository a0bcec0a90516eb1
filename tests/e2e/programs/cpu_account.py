# SPDX-License-Identifier: MIT
"""cpu_account.py WHAT [ARG]: keeps account of the CPU time of its functions, and prints it as JSON at the end:
{"busy": 1.0, "other": 0.5}."""
import ctypes
import json
import sys
import threading
import time

spent = {"busy": 0.0, "other": 0.0}


def burn(name, seconds):
    begin = time.thread_time()
    while time.thread_time() - begin < seconds:
        sum(range(300))
    spent[name] += time.thread_time() - begin


def busy():
    burn("busy", 0.02)


def other():
    burn("other", 0.01)


def beside_waiters(count):
    """The main thread computes, beside many threads that wait for ever."""
    never = threading.Event()
    for _ in range(count):
        threading.Thread(target=never.wait, daemon=True).start()
    for _ in range(50):
        busy()
        other()


def short_threads(milliseconds):
    """Each piece of work has a thread of its own, for which the main thread waits."""
    for name in ("busy", "other") * 40:
        thread = threading.Thread(target=burn, args=(name, milliseconds / 1000), name=name)
        thread.start()
        thread.join()


def in_threads_of_c(libc, digits):
    """Waits for two threads of C, which count through the digits."""
    threads = [ctypes.c_ulong() for _ in range(2)]
    for thread in threads:
        assert libc.pthread_create(ctypes.byref(thread), None, ctypes.cast(libc.atol, ctypes.c_void_p), digits) == 0
    for thread in threads:
        assert libc.pthread_join(thread, None) == 0


def native_threads(calls, megabytes=16):
    """Each call waits for two threads of C, and computes a little itself."""
    libc = ctypes.CDLL(None, use_errno=True)
    digits = b"0" * megabytes * 1_000_000
    before, own = time.process_time(), time.thread_time()
    for _ in range(calls):
        in_threads_of_c(libc, digits)
        other()
    own = time.thread_time() - own
    spent.update(busy=time.process_time() - before - own)


def reused_numbers(calls, waiters):
    """Threads of C that live briefly; then threads of Python that have their numbers and wait; then threads of C again."""
    last, before = "/proc/sys/kernel/ns_last_pid", time.process_time()
    with open(last) as file:
        first = int(file.read())
    native_threads(calls, 2)
    stop = threading.Event()
    threads = [threading.Thread(target=stop.wait, name=f"waiter-{n}") for n in range(waiters)]
    for number, thread in enumerate(threads, first):
        with open(last, "w") as file:
            file.write(str(number))
        thread.start()
    native_threads(calls, 2)
    stop.set()
    spent.update(all=time.process_time() - before)


def beside_sleepers(calls, megabytes):
    """Native threads work for the main thread. Two others have nothing to do with them."""
    def nap():
        while True:
            time.sleep(0.07)

    def rest():
        threading.Event().wait()

    for idler in (nap, rest):
        threading.Thread(target=idler, daemon=True).start()
    native_threads(calls, megabytes)


def mixed_threads(milliseconds):
    """A thread for each piece of work, and the main thread works, too."""
    for _ in range(60):
        thread = threading.Thread(target=burn, args=("busy", 2 * milliseconds / 1000))
        thread.start()
        thread.join()
        burn("other", milliseconds / 1000)


def sleepers(milliseconds):
    """Four threads compute and sleep in turn; together they want more than the lock allows."""
    def work():
        for _ in range(100):
            burn("busy", milliseconds / 1000)
            time.sleep(milliseconds / 1500)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


FUNCTIONS = (beside_waiters, short_threads, native_threads, reused_numbers, beside_sleepers, mixed_threads, sleepers)
WHAT = {function.__name__: function for function in FUNCTIONS}
WHAT[sys.argv[1]](*map(int, sys.argv[2:]))
print(json.dumps(spent), flush=True)
