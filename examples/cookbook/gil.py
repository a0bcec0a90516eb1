# SPDX-License-Identifier: MIT
"""A service with three threads: "health" should answer every 5 ms, "export" writes rows in pure Python, and "compress"
packs them with zlib, which gives the interpreter's lock back while it works.
"""
import csv
import io
import threading
import time
import zlib

SECONDS = 4
stop = threading.Event()
account = {}  # what each thread says that it spent


def health():
    """Answers every 5 ms; how late it is, is what the users of the service feel."""
    late, answers = 0.0, 0
    while not stop.is_set():
        due = time.monotonic() + 0.005
        time.sleep(0.005)
        sum(range(100))
        late += time.monotonic() - due
        answers += 1
    return f"{answers} answers, {1000 * late / answers:.1f} ms late on average"


def rows_of_a_day():
    return [(number, f"customer {number % 17}", number * 0.25, "paid" if number % 3 else "open") for number in range(2000)]


def export():
    rounds = 0
    while not stop.is_set():
        text = io.StringIO()
        csv.writer(text).writerows(rows_of_a_day())
        rounds += 1
    return f"{rounds} exports"


def compress():
    rounds, data = 0, bytes(range(256)) * 2000
    while not stop.is_set():
        zlib.compress(data, 6)
        rounds += 1
    return f"{rounds} files"


def run_noted(work):
    said = work()
    account[work.__name__] = f"{said}, {time.thread_time():.2f} s of CPU time"


def main():
    threads = [threading.Thread(target=run_noted, args=(work,), name=work.__name__) for work in (health, export, compress)]
    for thread in threads:
        thread.start()
    time.sleep(SECONDS)
    stop.set()
    for thread in threads:
        thread.join()
    for name, text in account.items():
        print(f"{name}: {text}")


if __name__ == "__main__":
    main()
