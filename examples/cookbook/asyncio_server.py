# SPDX-License-Identifier: MIT
"""A server that tells prices, and 8 customers who ask it, in one event loop. The server asks another service for the rate of a
currency, and blocks the event loop while it waits: that is the mistake. "fixed" as an argument mends it.

The other service needs 60 ms for an answer; it is a process of its own.
"""
import asyncio
import http.server
import multiprocessing
import statistics
import sys
import time
import urllib.request

CUSTOMERS, QUESTIONS = 8, 8
waited = []  # seconds of each call of fetch_rate()


class Rates(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        time.sleep(0.06)
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"1.25")

    def log_message(self, *args):
        pass


def start_rates():
    """Starts the other service; returns its address."""
    service = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Rates)
    multiprocessing.get_context("fork").Process(target=service.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{service.server_address[1]}/EUR"


def fetch_rate(address):
    started = time.monotonic()
    with urllib.request.urlopen(address) as answer:
        rate = float(answer.read())
    waited.append(time.monotonic() - started)
    return rate


async def look_up_price(article):
    await asyncio.sleep(0.005)  # a database that is asked as it should be
    return 3.5 * article


async def answer(reader, writer, address, fixed):
    while line := await reader.readline():
        price = await look_up_price(int(line))
        rate = await asyncio.to_thread(fetch_rate, address) if fixed else fetch_rate(address)
        writer.write(b"%.2f\n" % (price * rate))
        await writer.drain()
    writer.close()


async def ask(port, times):
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    for article in range(QUESTIONS):
        started = time.monotonic()
        writer.write(b"%d\n" % article)
        await reader.readline()
        times.append(time.monotonic() - started)
    writer.close()


async def main(address, fixed):
    times = []
    server = await asyncio.start_server(lambda reader, writer: answer(reader, writer, address, fixed), "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    started = time.monotonic()
    async with asyncio.TaskGroup() as group:
        for number in range(CUSTOMERS):
            group.create_task(ask(port, times), name=f"customer-{number}")
    print(f"{len(times)} answers in {time.monotonic() - started:.2f} s, median {1000 * statistics.median(times):.0f} ms; "
          f"{sum(waited):.2f} s in {len(waited)} calls of fetch_rate()")
    server.close()


if __name__ == "__main__":
    asyncio.run(main(start_rates(), "fixed" in sys.argv[1:]))
