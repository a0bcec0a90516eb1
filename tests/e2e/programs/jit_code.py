# SPDX-License-Identifier: MIT
"""Code of no file, with a name in /tmp/perf-PID.map, as just-in-time compilers have it: jit_code.py SECONDS. In the second
half, other code is at the same place, and has another name there. For x86-64."""
import ctypes
import mmap
import os
import sys
import time

SECONDS = float(sys.argv[1])
# push %rbp; mov %rsp, %rbp; mov %rdi, %rcx; again: dec %rcx; jnz again; pop %rbp; ret
CODE = bytes.fromhex("55 48 89 e5 48 89 f9 48 ff c9 75 fb 5d c3")

memory = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
memory.write(CODE)
address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
count_down = ctypes.PYFUNCTYPE(None, ctypes.c_uint64)(address)
path = f"/tmp/perf-{os.getpid()}.map"


def tell(line):
    with open(path, "a", encoding="ascii") as perf_map:
        print(line, file=perf_map)


def compiled_first():
    end = time.monotonic() + SECONDS / 2
    while time.monotonic() < end:
        count_down(200_000)


def compiled_later():
    end = time.monotonic() + SECONDS / 2
    while time.monotonic() < end:
        count_down(200_000)


try:
    print("ready", os.getpid(), flush=True)
    tell("no line of a map")
    tell(f"{address:x} {len(CODE):x} first: count_down(int)")
    compiled_first()
    tell(f"{address:x} {len(CODE):x} later: count_down(int)")
    compiled_later()
finally:
    os.unlink(path)
