# SPDX-License-Identifier: MIT
"""An echo server of asyncio and five clients, in one process, with work by json and re. Its account: answer() of the
server and ask() of the clients, some 30 us each time."""
import asyncio
import json
import os
import re
from time import perf_counter

import ledger

#: * -> *
#: Handle._run -> serve client main
#: StreamReaderProtocol.connection_made -> serve
WORD = re.compile(r"\w+")
TEXT = "a line of words that are to be found and counted " * 3


def count(words):
    counts = {}
    for word in words:
        counts[word] = counts.get(word, 0) + 1
    return counts


def answer(line):
    request = json.loads(line)  # -> *
    counts = count(WORD.findall(request["text"]))  # -> count
    return json.dumps({"id": request["id"], "counts": counts}).encode() + b"\n"  # -> *


def ask(number):
    return json.dumps({"id": number, "text": TEXT}).encode() + b"\n"  # -> *


async def serve(reader, writer):
    while line := await reader.readline():  # -> *
        begin = perf_counter()
        reply = answer(line)  # -> answer
        TIMES[0] += perf_counter() - begin
        writer.write(reply)  # -> *
        await writer.drain()  # -> *


async def client(port):
    reader, writer = await asyncio.open_connection("127.0.0.1", port)  # -> *
    number = 0
    while True:
        begin = perf_counter()
        line = ask(number)  # -> ask
        TIMES[1] += perf_counter() - begin
        writer.write(line)  # -> *
        await writer.drain()  # -> *
        await reader.readline()  # -> *
        number += 1


async def main():
    server = await asyncio.start_server(serve, "127.0.0.1", 0)  # -> *
    port = server.sockets[0].getsockname()[1]  # -> *
    print("ready", os.getpid(), flush=True)
    await asyncio.gather(  # -> *
        *(client(port) for _ in range(5)))  # -> * <genexpr> client


TIMES = ledger.open_for("answer", "ask")
asyncio.run(main())  # -> * main
