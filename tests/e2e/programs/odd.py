# SPDX-License-Identifier: MIT
"""Programs that have something out of the ordinary in their names, tables or threads: odd.py KIND runs one of them."""
import os
import random
import signal
import sys
import threading
import time

LONG = 70000  # characters: more than are kept


def spin():
    if threading.current_thread() is threading.main_thread():
        print("ready", os.getpid(), flush=True)
    while True:
        time.perf_counter()


def run_code(source, file, name):
    """Runs a function of a source that was made up."""
    made = {"spin": spin}
    exec(compile(source, file, "exec"), made)
    made[name]()


def long_name():
    name = "n" * LONG
    run_code(f"def {name}():\n spin()\n", "/made/long_name.py", name)


def long_file():
    run_code("def short():\n spin()\n", "/" + "f" * LONG + ".py", "short")


def large_table():
    """Its last line is behind some hundred kilobytes of locations."""
    lines = "".join(f" value = ((value + {n}) * 3 - value) if value else {n}\n" for n in range(12000))
    run_code(f"def large():\n value = 0\n{lines} spin()\n", "/made/large.py", "large")


TABLES = {
    "none": lambda table: b"",
    "no_locations": lambda table: bytes([0xFF]) * 64,  # of eight units each
    "cut": lambda table: table[:1],
    "endless": lambda table: bytes([0xEF]) + bytes([0x7F]) * 64,  # the line is a number without an end
    "wild": lambda table: random.Random(7).randbytes(len(table)),
}


def made_table():
    """A function whose table of lines another tool has made, or has left out."""
    made = {"spin": spin}
    exec(compile("def made():\n spin()\n", "/made/table.py", "exec"), made)
    code = made["made"].__code__
    made["made"].__code__ = code.replace(co_linetable=TABLES[sys.argv[2]](code.co_linetable))
    made["made"]()


def other_scripts():
    run_code("def 数え上げ():\n spin()\n", "/made/größe/名前.py", "数え上げ")


def named_thread():
    """Called so by the kernel, whatever the version of Python does."""
    import ctypes

    def work():
        ctypes.CDLL(None).prctl(15, b"a b) (1) R; x", 0, 0, 0)  # PR_SET_NAME
        spin()

    threading.Thread(target=work, daemon=True).start()
    spin()


def titled():
    """Writes a title over its arguments, as workers of many servers do, and zeros over the rest."""
    import ctypes

    # The arguments stand right before the first text of the environment.
    end = ctypes.cast(ctypes.POINTER(ctypes.c_void_p).in_dll(ctypes.CDLL(None), "environ")[0], ctypes.c_void_p).value
    start = end - sum(len(os.fsencode(argument)) + 1 for argument in sys.orig_argv)
    title = sys.argv[2].encode()
    assert len(title) < end - start
    ctypes.memset(start, 0, end - start)
    ctypes.memmove(start, title, len(title))
    spin()


def loads_itself():
    """Has libpython once more, where it is a library: its runtime is another one."""
    import ctypes
    import sysconfig

    library = os.path.join(sysconfig.get_config_var("LIBDIR") or "", sysconfig.get_config_var("INSTSONAME") or "")
    if library.endswith(".so.1.0") and os.path.exists(library):
        ctypes.CDLL(library)
    spin()


signal.alarm(600)
globals()[sys.argv[1]]()
