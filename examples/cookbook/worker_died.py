# SPDX-License-Identifier: MIT
"""A server with two workers that make pictures of documents. One document is damaged, and the library that decodes it has an
error in its C code: the worker dies without a traceback, and the server goes on.
"""
import ctypes
import os
import signal
import time

DOCUMENTS = [f"invoice-{number}" for number in range(1, 51)]


def read_document(name):
    time.sleep(0.05)
    return [ord(letter) for letter in name] * 600


def decode(name, data):
    """Stands for a library in C: of one document it follows a pointer to nowhere."""
    if name == "invoice-41":
        decode_damaged_font(name)
    return sum(value * position % 255 for position, value in enumerate(data * 8))


def decode_damaged_font(font):
    time.sleep(0.3)
    ctypes.string_at(0)


def make_picture(name):
    return decode(name, read_document(name))


def work(documents):
    for name in documents:
        make_picture(name)


def start_worker(documents):
    pid = os.fork()
    if pid == 0:
        work(documents)
        os._exit(0)
    return pid


def main():
    workers = [start_worker(DOCUMENTS[number::2]) for number in range(2)]
    for number, pid in enumerate(workers):
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        print(f"worker {number}: " + (f"killed by {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"))
    time.sleep(2)  # the server waits for more documents


if __name__ == "__main__":
    main()
