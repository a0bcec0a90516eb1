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


def native_threads(calls):
    """Each call waits for two threads of C, which count through many digits, and computes a little itself."""
    libc = ctypes.CDLL(None, use_errno=True)
    digits = b"0" * 16_000_000
    work = ctypes.cast(libc.atol, ctypes.c_void_p)
    before, own = time.process_time(), time.thread_time()
    for _ in range(calls):
        threads = [ctypes.c_ulong() for _ in range(2)]
        for thread in threads:
            assert libc.pthread_create(ctypes.byref(thread), None, work, digits) == 0
        for thread in threads:
            assert libc.pthread_join(thread, None) == 0
        other()
    own = time.thread_time() - own
    spent.update(busy=time.process_time() - before - own)


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


WHAT = {function.__name__: function for function in (beside_waiters, short_threads, native_threads, mixed_threads, sleepers)}
WHAT[sys.argv[1]](*map(int, sys.argv[2:]))
print(json.dumps(spent), flush=True)
