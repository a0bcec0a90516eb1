# SPDX-License-Identifier: MIT
"""Four workers settle payments: each asks a bank over a socket, writes into a ledger that one worker may use at a time, and
sleeps before it tries again when the bank said "later". The bank is another process. Hardly any of it needs a processor.
"""
import multiprocessing
import socket
import socketserver
import threading
import time

PAYMENTS = 12
ledger = threading.Lock()
account = {"ask_bank": 0.0, "write_ledger": 0.0, "try_again": 0.0}  # seconds that all workers spent, by function
account_lock = threading.Lock()


class Bank(socketserver.StreamRequestHandler):
    def handle(self):
        for count, _ in enumerate(self.rfile):
            time.sleep(0.06)
            self.wfile.write(b"later\n" if count % 3 == 2 else b"done\n")


def start_bank():
    """Starts the bank; returns its address."""
    bank = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Bank)
    multiprocessing.get_context("fork").Process(target=bank.serve_forever, daemon=True).start()
    return bank.server_address


def noted(function):
    """The function, which notes in `account` how long it takes."""
    def measured(*arguments):
        started = time.monotonic()
        result = function(*arguments)
        with account_lock:
            account[function.__name__] += time.monotonic() - started
        return result
    return measured


@noted
def ask_bank(line, payment):
    line.write(b"%d\n" % payment)
    line.flush()
    return line.readline().strip()


@noted
def write_ledger(payment):
    with ledger:
        time.sleep(0.04)  # a disk that is slow


@noted
def try_again():
    time.sleep(0.1)


def settle(address):
    with socket.create_connection(address) as connection, connection.makefile("rwb") as line:
        for payment in range(PAYMENTS):
            if ask_bank(line, payment) == b"later":
                try_again()
            write_ledger(payment)


def main():
    address = start_bank()
    workers = [threading.Thread(target=settle, args=(address,), name=f"worker-{number}") for number in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    print(", ".join(f"{name} {seconds:.2f} s" for name, seconds in account.items()), f"and {time.process_time():.2f} s of CPU time")


if __name__ == "__main__":
    main()
