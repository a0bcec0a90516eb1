# SPDX-License-Identifier: MIT
"""A program whose memory does not answer: the name of a function lies in a page that never comes, as on a file system whose
server is dead, or plays dead. Needs root; prints "ready" and its number, and "awaited" when somebody waits for the page; or "impossible"."""

import ctypes
import fcntl
import mmap
import os
import signal
import struct
import sys
import threading
import time

SYS_USERFAULTFD = {"x86_64": 323, "aarch64": 282}[os.uname().machine]
UFFDIO_API, UFFDIO_REGISTER, MISSING = 0xC018AA3F, 0xC020AA00, 1
libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_size_t
libc.mmap.argtypes = [ctypes.c_size_t, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]


def page_that_never_comes():
    server = libc.syscall(SYS_USERFAULTFD, os.O_CLOEXEC)
    if server < 0:
        print("impossible", flush=True)
        sys.exit(0)
    fcntl.ioctl(server, UFFDIO_API, bytearray(struct.pack("QQQ", 0xAA, 0, 0)))
    at = libc.mmap(0, mmap.PAGESIZE, mmap.PROT_READ | mmap.PROT_WRITE, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, -1, 0)
    fcntl.ioctl(server, UFFDIO_REGISTER, bytearray(struct.pack("QQQQ", at, mmap.PAGESIZE, MISSING, 0)))
    threading.Thread(target=tell_when_awaited, args=(server,), daemon=True).start()
    return at


def tell_when_awaited(server):
    os.read(server, 4096)
    print("awaited", flush=True)


def spin(seconds):
    end = time.time() + seconds
    while time.time() < end:
        pass


def named_by(page):
    """spin with a code object whose name is there. Nothing looks at the name while the function runs."""
    code = spin.__code__.replace(co_name="a name of its own", co_qualname="a qualified name of its own")
    function = type(spin)(code, globals())
    for name in (code.co_name, code.co_qualname):
        for at in range(id(code), id(code) + sys.getsizeof(code) - 8, 8):
            word = ctypes.c_uint64.from_address(at)
            if word.value == id(name):
                word.value = page
    return function


signal.signal(signal.SIGTERM, signal.SIG_IGN)  # the end of this program would end the wait
function = named_by(page_that_never_comes())
print("ready", os.getpid(), flush=True)
function(float(sys.argv[1]))
os._exit(0)  # nobody looks at the name any more
