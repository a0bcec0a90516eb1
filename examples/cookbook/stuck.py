# SPDX-License-Identifier: MIT
"""Three ways to hang: "deadlock", "loop" and "wait". The program ends by itself after so many seconds (the second argument).

deadlock: two threads move money between two accounts, and each holds the lock that the other one wants
loop: a parser that does not move on at a character which it does not know
wait: a client that waits for the answer of a server which does not answer
"""
import os
import socket
import sys
import threading

both_in = threading.Barrier(2)


class Account:
    def __init__(self, name, cents):
        self.name, self.cents, self.lock = name, cents, threading.Lock()

    def __repr__(self):
        return f"Account({self.name!r})"


def move(source, target, cents):
    with source.lock:
        both_in.wait()  # the other thread comes in between
        with target.lock:
            source.cents -= cents
            target.cents += cents


def deadlock():
    rent, food = Account("rent", 50000), Account("food", 20000)
    threads = [threading.Thread(target=move, args=(rent, food, 100), name="rent-to-food"),
               threading.Thread(target=move, args=(food, rent, 250), name="food-to-rent")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def words_of(text):
    words, at = [], 0
    while at < len(text):
        end = at
        while end < len(text) and text[end].isalpha():
            end += 1
        if end > at:
            words.append(text[at:end])
            at = end
        elif text[at] == " ":
            at += 1
    return words


def loop():
    return [words_of(line) for line in ("a plain line", "nothing strange here", "but here: a colon")]


def wait():
    server = socket.create_server(("127.0.0.1", 0))
    with socket.create_connection(server.getsockname()) as client:
        client.sendall(b"status?\n")
        return client.recv(100)


def main(choice, seconds=60):
    threading.Timer(float(seconds), os._exit, (0,)).start()  # so that the example leaves nothing behind
    {"deadlock": deadlock, "loop": loop, "wait": wait}[choice]()


if __name__ == "__main__":
    main(*sys.argv[1:])
