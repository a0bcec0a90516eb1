# SPDX-License-Identifier: MIT
"""A program that does what it can against whoever records it: hostile.py LIBRARY SECONDS SEED HONEST [QUIET...]

A thread writes at random into the words that the recorder reads (hostile.c), functions have malicious names, threads come
and go, the program forks, starts itself anew with execve, stops and continues itself, and needs memory. QUIET leaves parts
out: lies, names, threads, forks, execs, stops, memory.

The main thread is honest: nothing is written into what belongs to it, and its stack is always honest_root, honest_step,
honest_leaf, or a part of that from the root on. HONEST is a file to which it adds a line with its ids.
"""

import asyncio
import ctypes
import os
import random
import signal
import sys
import threading
import time
import warnings

library, seconds, seed, honest, *quiet = sys.argv[1:]
end = float(seconds) if float(seconds) > 1e8 else time.time() + float(seconds)
dice = random.Random(int(seed))
warnings.simplefilter("ignore")
hostile = ctypes.PyDLL(library)  # PyDLL: the lock stays held
hostile.lie.restype = ctypes.c_uint64
hostile.lie.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_uint64]


def next_program():
    """The arguments of this program when it begins anew; its end stays."""
    return [sys.executable, __file__, library, repr(end), str(dice.randrange(1 << 60)), honest, *quiet]


ARGUMENTS = [argument.encode() for argument in next_program()]
C_ARGUMENTS = (ctypes.c_char_p * (len(ARGUMENTS) + 1))(*ARGUMENTS, None)
hostile.prepare.argtypes = [ctypes.c_uint64, ctypes.c_void_p, ctypes.c_uint]
assert hostile.prepare(int(seed), ctypes.addressof(C_ARGUMENTS), 4)


def does(part):
    return part not in quiet


# ---- names ----

NAMES = ["", ";", "a;b", "\n", "\x1b[31mred\x07", "\u202eevil", "\ud800", "\udcff", "x" * 1000, "\x00", "é" * 3000, "😀" * 900,
         "<GC>", "<native>", "</script><script>", "'; rm -rf /", "%s%n%s", "../../etc/passwd", "honest", "\ufeff", "\\u0000"]


def any_name():
    name = dice.choice(NAMES)
    return f"{name}{dice.randrange(200)}" if dice.random() < 0.5 else name


def work(n):
    total = 0
    for i in range(n):
        total += i
    return total


def renamed(function):
    """The same function with a name, a file and a line table from hell."""
    code = function.__code__
    changes = {"co_name": any_name(), "co_filename": any_name()}
    if hasattr(code, "co_qualname"):
        changes["co_qualname"] = any_name()
    if dice.random() < 0.3:
        changes["co_linetable"] = bytes(dice.randrange(256) for _ in range(dice.randrange(200)))
    if dice.random() < 0.3:
        changes["co_firstlineno"] = dice.choice([1, 0, 2**31 - 1, 77])
    return type(function)(code.replace(**changes), globals(), any_name())


# ---- where the words are ----

def word(address):
    return ctypes.c_uint64.from_address(address).value


def ranges_of_object(thing, size=0):
    return [(id(thing), max(size or sys.getsizeof(thing, 64), 16))]


def ranges_of_frames():
    """Of this thread: its frames, their code objects, what these refer to."""
    found = []
    frame = sys._getframe()
    for _ in range(40):
        if frame is None:
            break
        found.append((word(id(frame) + 24) - 16, 112))  # PyFrameObject.f_frame
        code = frame.f_code
        for thing in (code, code.co_name, code.co_qualname, code.co_filename, code.co_linetable):
            if thing is not honest_leaf.__code__.co_filename:  # one string is the file of all code objects of this file
                found += [(address, min(size, 4096)) for address, size in ranges_of_object(thing)]
        frame = frame.f_back
    return found


def ranges_of_dict(thing):
    keys = word(id(thing) + 32)
    return [(id(thing), 64), (keys, 256)]


def ranges_of_state():
    """The states of this thread and of the interpreter. Parts of the latter are found by the addresses in it;
    never the word that says whether the lock is held, or two threads would run at once."""
    api = ctypes.pythonapi
    for name in ("PyThreadState_Get", "PyInterpreterState_Get"):
        getattr(api, name).restype = ctypes.c_uint64
    thread, interpreter = api.PyThreadState_Get(), api.PyInterpreterState_Get()
    runtime = ctypes.addressof(ctypes.c_char.in_dll(api, "_PyRuntime"))
    found = [(thread, 320), (runtime, 64), (interpreter, 128)]
    for start, size in ((interpreter, 16000), (runtime, 1200)):
        found += [(at - 8, 16) for at in range(start + 8, start + size, 8)
                  if word(at) in (thread, interpreter, runtime)]
    return found


def all_ranges(task):
    found = ranges_of_frames() + ranges_of_state() + ranges_of_dict(threading._active)
    me = threading.current_thread()
    found += [(id(me), 64)] + ranges_of_dict(vars(me)) + ranges_of_dict(globals())
    if task is not None:
        found += [(id(task), 200), (id(asyncio.tasks), 64)]
    flat = [number for at, size in found for number in (at & ~7, size & ~7) if size >= 8]
    return (ctypes.c_uint64 * len(flat))(*flat), len(flat) // 2


# ---- what the program does ----

def lie_down(depth, task):
    """Lies at a depth of the stack."""
    if depth > 0:
        return lie_down(depth - 1, task)
    words, count = all_ranges(task)
    return hostile.lie(ctypes.addressof(words), count, dice.randrange(20_000_000))


async def lie_in_tasks():
    task = asyncio.current_task()
    task.set_name(any_name())
    others = [asyncio.create_task(asyncio.sleep(0.01 * i), name=any_name()) for i in range(5)]
    while time.time() < end:
        signal.alarm(4)
        lie_down(dice.randrange(12), task)
        await asyncio.wait(others, timeout=0.002)
        work(dice.randrange(20000))


def liar():
    if does("lies"):
        asyncio.run(lie_in_tasks())


def namer():
    functions = []
    while time.time() < end:
        functions = functions[-20:] + [renamed(work)]
        for function in functions:
            function(300)
        time.sleep(0.0001)


def churner():
    while time.time() < end:
        threads = [threading.Thread(target=work, args=(2000,), name=any_name()) for _ in range(5)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        time.sleep(0.005)


def forker():
    while time.time() < end:
        time.sleep(dice.random() * 0.3)
        mother = os.getpid()
        if does("stops") and dice.random() < 0.3:
            if os.fork() == 0:
                time.sleep(0.05 + dice.random() * 0.05)
                for _ in range(20):
                    os.kill(mother, signal.SIGCONT)
                    time.sleep(0.01)
                os._exit(0)
            os.kill(mother, signal.SIGSTOP)
        elif os.fork() == 0:
            time.sleep(dice.random() * 0.05)
            os._exit(0)
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            pass


def eater():
    while time.time() < end:
        eaten = bytearray(dice.randrange(32 << 20))
        time.sleep(0.01)
        del eaten
        time.sleep(0.05)


def honest_leaf(n):
    total = 0
    for i in range(n):
        total += i
    return total


def honest_step():
    return honest_leaf(20000)


def honest_root(until):
    while time.time() < until:
        honest_step()


def main():
    with open(honest, "a") as file:
        file.write(f"{os.getpid()} {threading.get_native_id()}\n")
    os.write(1, b"ready\n")
    parts = {"lies": liar, "names": namer, "threads": churner, "forks": forker, "memory": eater}
    for part, body in parts.items():
        if does(part):
            threading.Thread(target=renamed(body) if part == "names" else body, daemon=True, name=any_name()).start()
    honest_root(min(end, time.time() + 1 + dice.random() * 4) if does("execs") else end)
    if time.time() < end:
        signal.alarm(0)
        os.execv(sys.executable, next_program())
    os._exit(0)


main()
