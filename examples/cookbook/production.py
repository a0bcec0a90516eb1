# SPDX-License-Identifier: MIT
"""A shop's HTTP server, and the load that stands for its customers.

python3 production.py serve          serves on a port of its own until it gets SIGTERM, and says which
python3 production.py load CLIENTS   asks, reads a little, asks again until the server has ended; says how slowly it was answered

Most requests are /search, which looks at every article. The server counts the CPU time of searches itself.
"""
import http.client
import http.server
import json
import random
import signal
import sys
import threading
import time

ARTICLES = [{"id": n, "name": f"article {n * 7919 % 10007}", "price": n % 97} for n in range(12000)]
ADDRESS = "production.address"
SPENT = {"search": 0.0}  # seconds of CPU


def search(text):
    begin = time.thread_time()
    found = [article for article in ARTICLES if text in article["name"].lower()]
    cheapest = sorted(found, key=lambda article: article["price"])[:20]
    SPENT["search"] += time.thread_time() - begin
    return cheapest


def show(number):
    return ARTICLES[number % len(ARTICLES)]


class Shop(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"  # a connection serves many requests
    wbufsize = 1 << 16  # an answer is one packet

    def do_GET(self):
        kind, _, argument = self.path[1:].partition("/")
        answer = search(argument) if kind == "search" else show(int(argument))
        self.answer(json.dumps(answer).encode())

    def answer(self, body):
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def serve():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Shop)
    server.daemon_threads = True
    signal.signal(signal.SIGTERM, lambda *_: threading.Thread(target=server.shutdown).start())
    with open(ADDRESS, "w") as file:
        file.write(f"{server.server_address[1]}")
    server.serve_forever()
    print(f"server: {time.process_time():.2f} s of CPU, {SPENT['search']:.2f} s of it in search()")


def ask(port, slow):
    chance, connection = random.Random(1), http.client.HTTPConnection("127.0.0.1", port)
    while True:
        path = f"/search/{chance.randrange(1000)}" if chance.random() < 0.7 else f"/show/{chance.randrange(len(ARTICLES))}"
        begin = time.monotonic()
        try:
            connection.request("GET", path)
            connection.getresponse().read()
        except (ConnectionError, http.client.HTTPException):
            return
        slow.append(time.monotonic() - begin)
        time.sleep(0.02)  # a customer reads


def load(clients):
    with open(ADDRESS) as file:
        port = int(file.read())
    slow, begin = [], time.monotonic()
    threads = [threading.Thread(target=ask, args=(port, slow)) for _ in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    slow.sort()
    print(f"load: {len(slow) / (time.monotonic() - begin):.0f} requests a second, half of them within {slow[len(slow) // 2] * 1000:.1f} ms, "
          f"99 of 100 within {slow[len(slow) * 99 // 100] * 1000:.1f} ms")


if __name__ == "__main__":
    {"serve": serve, "load": load}[sys.argv[1]](*map(int, sys.argv[2:]))
