# SPDX-License-Identifier: MIT
"""Does as code does that was compiled to C, by Nuitka: compiled.py SECONDS WHERE. A frame of such code lies in its own frame
object, says that a generator owns it, and executes no instruction of its code object. WHERE: "called", by a function of
Python; "root", the stack begins with it; "calls", it calls a function of Python. Prints "ready PID" first, and at last a line of
JSON: the CPU time of each compiled function."""
import ctypes
import gc
import json
import os
import sys
import time

WORD = ctypes.sizeof(ctypes.c_void_p)
VERSION = sys.version_info[:2]
CODE = 32 if VERSION == (3, 11) else 0  # offsets in a frame
PREVIOUS = 48 if VERSION == (3, 11) else 8
FRAME_OBJECT = 40 if VERSION == (3, 11) else 48
INSTRUCTION = 56
FRAME = 96  # bytes of a frame, and more
OBJECT = 104  # bytes in front of a frame in the frame object of compiled code
TAGS = 3  # bits of the word of a code object

thread = ctypes.pythonapi.PyThreadState_Get
thread.restype = ctypes.c_void_p
read = ctypes.CDLL(None).process_vm_readv
read.argtypes = (ctypes.c_int, ctypes.c_void_p, ctypes.c_ulong, ctypes.c_void_p, ctypes.c_ulong, ctypes.c_ulong)
new_empty = ctypes.pythonapi.PyCode_NewEmpty
new_empty.argtypes, new_empty.restype = (ctypes.c_char_p, ctypes.c_char_p, ctypes.c_int), ctypes.py_object
call = ctypes.pythonapi.PyObject_CallNoArgs
call.argtypes, call.restype = (ctypes.py_object,), ctypes.py_object


class Piece(ctypes.Structure):
    _fields_ = [("address", ctypes.c_void_p), ("size", ctypes.c_size_t)]


def word_at(address):
    """A word of this process; 0: there is no memory."""
    word = ctypes.c_uint64()
    here, there = Piece(ctypes.addressof(word), WORD), Piece(address, WORD)
    return word.value if read(os.getpid(), ctypes.byref(here), 1, ctypes.byref(there), 1, 0) == WORD else 0


def find_place():
    """Where the thread notes its current frame, which is that of word_at() when the place is read."""
    for at in range(thread(), thread() + 512, WORD):
        for place in (at, word_at(at), word_at(at) + WORD):
            if place > WORD and word_at(word_at(place) + CODE) & ~TAGS == id(word_at.__code__):
                return place
    raise SystemExit("no current frame is known")


def frame_of(code, place):
    """The nearest frame of this code object."""
    frame = word_at(place)
    while frame and word_at(frame + CODE) & ~TAGS != id(code):
        frame = word_at(frame + PREVIOUS)
    return frame


def frame_bytes():
    """The bytes of a frame of this function."""
    return ctypes.string_at(frame_of(sys._getframe().f_code, find_place()), FRAME)


def generated_bytes():
    yield ctypes.string_at(frame_of(sys._getframe().f_code, find_place()), FRAME)  # C calls it, and has another place


def owner_offset():
    plain, generated = frame_bytes(), next(generated_bytes())
    return next(at for at in range(69, FRAME) if plain[at] == 0 and generated[at] == 1)


def replaced_code(name, line):
    """The code object of a function of compiled code: only its names are true."""
    return (lambda: 0).__code__.replace(co_name=name, co_qualname=name, co_filename="/made/compiled.py", co_firstlineno=line)


def empty_code(name, line):
    """One that has no more than names, as C code makes it for tracebacks."""
    return new_empty(b"/made/compiled.py", name.encode(), line)


class Compiled:
    """A function of compiled code, and its frame."""

    def __init__(self, code):
        self.name, self.code, self.used = code.co_name, code, 0.0
        self.object = ctypes.create_string_buffer(OBJECT + FRAME)
        self.frame = ctypes.addressof(self.object) + OBJECT
        self.put(CODE, id(self.code))
        self.put(FRAME_OBJECT, ctypes.addressof(self.object))
        # As Nuitka does: in the code object, behind all else that is of fixed size, are its instructions.
        self.put(INSTRUCTION, id(self.code) + type(self.code).__basicsize__)
        self.put(64, self.frame + LOCALS)  # an empty stack
        self.object[OBJECT + OWNER] = 1

    def put(self, offset, word):
        ctypes.memmove(self.frame + offset, ctypes.byref(ctypes.c_void_p(word)), WORD)


def base_of(frame):
    """What the first frame of a stack of compiled code has above it."""
    while VERSION >= (3, 15) and word_at(frame + PREVIOUS):
        frame = word_at(frame + PREVIOUS)
    return frame if VERSION >= (3, 15) else 0


def spin(seconds):
    """Called by compiled code, or in its place."""
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass


def run(function, seconds, where):
    """While the frame of the compiled function is current, nothing calls a function of Python: the interpreter would note its own
    frame again."""
    mine, compiled = ctypes.c_void_p(frame_of(sys._getframe().f_code, PLACE)), ctypes.c_void_p(function.frame)
    put, clock, place, own, made = ctypes.memmove, time.thread_time, PLACE, ctypes.byref(mine), ctypes.byref(compiled)
    function.put(PREVIOUS, base_of(mine.value) if where == "root" else mine.value)
    begin = clock()
    end = begin + seconds
    put(place, made, WORD)
    if where == "calls":
        call(lambda: spin(seconds))
    else:
        while clock() < end:
            pass
    put(place, own, WORD)
    function.used += clock() - begin


def work(seconds, where):
    heavy, light = Compiled(replaced_code("heavy", 10)), Compiled(empty_code("light", 20))
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        run(heavy, 0.03, where)
        run(light, 0.01, where)
    return {function.name: function.used for function in (heavy, light)}


gc.disable()
PLACE = find_place()
LOCALS = 72 if VERSION < (3, 14) else 80
OWNER = owner_offset()
if __name__ == "__main__":
    print("ready", os.getpid(), flush=True)
    print(json.dumps(work(float(sys.argv[1]), sys.argv[2])), flush=True)
