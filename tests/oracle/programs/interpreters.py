# SPDX-License-Identifier: MIT
"""Interpreters below the main one, each in a thread, beside work in the main one. All run this file, each in a ROLE of
its own with functions of its own, so that it shows when frames of one stand in the stack of another."""
import _thread  # -> *
import os  # -> *
import time  # -> *

try:
    import _interpreters  # -> *
except ImportError:
    import _xxsubinterpreters as _interpreters  # -> *

#: slow 5
# The state that 3.11 and 3.12 make for an interpreter has the number of the thread that made the interpreter.
#: since 3.13
# The stack of a thread goes on in the interpreter that the thread works for, which begins with imports, of which some are
# called from C:
#: root nothing frozen <module> search_function
#: <module> -> <module>
#: _call_with_frames_removed -> *
#: PathFinder._path_hooks -> *
#: addpackage -> search_function BufferedIncrementalDecoder.decode
#: * -> ModuleSpec.parent ModuleSpec.has_location
#: * -> _find_and_load _lock_unlock_module _get_module_lock.<locals>.cb
#: * -> _requires_builtin.<locals>._requires_builtin_wrapper _requires_frozen.<locals>._requires_frozen_wrapper
#: _Environ.__getitem__ -> encode decode
#: _check_name.<locals>._check_name_wrapper -> *
#: _requires_builtin.<locals>._requires_builtin_wrapper -> *
#: _requires_frozen.<locals>._requires_frozen_wrapper -> *
#: * -> _check_name.<locals>._check_name_wrapper _WeakValueDictionary.__init__.<locals>.KeyedRef.remove


def leaf_a(n):
    return n + 1


def work_a(n):
    for i in range(n):
        leaf_a(i)  # -> leaf_a


def deep_a(n):
    if n > 0:
        return deep_a(n - 1)  # -> deep_a
    return work_a(2)  # -> work_a


def main_a():
    while True:
        work_a(20)  # -> work_a
        deep_a(10)  # -> deep_a
        time.sleep(0)  # others may have the GIL: they don't get it by asking, from another interpreter


def leaf_b(n):
    return n + 2


def work_b(n):
    for i in range(n):
        leaf_b(i)  # -> leaf_b
    time.sleep(0.0005)


def main_b():
    while True:
        work_b(20)  # -> work_b


def main_c():
    for _ in range(20):
        leaf_c(1)  # -> leaf_c


def leaf_c(n):
    return n + 3


def create(kind="legacy"):
    try:
        return _interpreters.create(kind)  # -> *
    except (TypeError, ValueError):
        return _interpreters.create()  # -> *


def run(interpreter, role):
    start = f"with open({__file__!r}) as file:\n    source = file.read()\n"
    start += f"exec(compile(source, {__file__!r}, 'exec'), {{'ROLE': {role!r}, '__file__': {__file__!r}}})\n"
    if hasattr(_interpreters, "exec"):
        _interpreters.exec(interpreter, start)  # -> *
    else:
        _interpreters.run_string(interpreter, start)  # -> *


def in_thread(interpreter, role):  # root
    run(interpreter, role)  # -> run


def come_and_go():  # root
    while True:
        interpreter = create()  # -> create
        run(interpreter, "c")  # -> run
        _interpreters.destroy(interpreter)  # -> *
        time.sleep(0.005)


def leaf(n):
    return n - 1


def work(n):
    for i in range(n):
        leaf(i)  # -> leaf


def main():
    for role in "ab":
        _thread.start_new_thread(in_thread, (create(), role))  # -> create
    _thread.start_new_thread(come_and_go, ())
    time.sleep(0.5)
    print("ready", os.getpid(), flush=True)
    while True:
        work(100)  # -> work
        time.sleep(0.0001)


ROLE = globals().get("ROLE", "")
if ROLE == "a":
    main_a()  # -> main_a
elif ROLE == "b":
    main_b()  # -> main_b
elif ROLE == "c":
    main_c()  # -> main_c
else:
    main()  # -> main
