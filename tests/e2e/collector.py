# SPDX-License-Identifier: MIT
"""OpenTelemetry's Collector, which hands on to a receiver of ours: what a program sends comes out decoded.

    with Collector(folder) as collector:
        post(collector.url, request)  # to POST /v1development/profiles
        collector.received()          # the requests that came through, so far
        collector.receiver.answer(Answer(503, retry_after=1), times=2)
        collector.kill(); collector.start()  # on the same port

A Receiver can stand alone, too: it is what a program sends to when the test is about answers that no Collector gives. The
Collector keeps nothing (no queue): it answers with what the receiver has answered, so that who sends knows what has arrived, but
for what is on its way when the Collector is killed. Seen of it: what it takes whole it answers with an empty partial success; of a
partial success of the receiver it says nothing; Retry-After comes back in the text of a Status only, not as a header; nonsense
becomes 500, and a connection that breaks 503.
"""

import collections
import contextlib
import dataclasses
import gzip
import http.server
import os
import random
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request

import otlp_check
from environment import need_collector, need_otlp
from recording import wait_until

PATH = "/v1development/profiles"
PROTOBUF = "application/x-protobuf"
FOREVER = float("inf")

Arrival = collections.namedtuple("Arrival", "time path headers request answer")  # request: None if it can't be read
Said = collections.namedtuple("Said", "status response headers")  # response: an ExportProfilesServiceResponse, or the bytes


@dataclasses.dataclass(frozen=True)
class Answer:
    """How a Receiver answers a request."""
    status: int = 200
    retry_after: object = None  # seconds or a date, the header of that name
    rejected: int = 0  # profiles: a partial success when it or `message` says something
    message: str = ""
    body: bytes = None  # in place of a response that can be read
    raw: bytes = None  # in place of HTTP: this is written, and the connection ends
    delay_s: float = 0  # before it; FOREVER: never

    @property
    def accepts(self):
        return 200 <= self.status < 300 and self.raw is None and self.delay_s != FOREVER

    def payload(self):
        if self.body is not None:
            return self.body
        response = otlp_check.messages().ExportProfilesServiceResponse()
        if self.rejected or self.message:
            response.partial_success.rejected_profiles = self.rejected
            response.partial_success.error_message = self.message
        return response.SerializeToString() if self.accepts else b""


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        answer = self.server.receiver.take(self.path, dict(self.headers), body)
        if answer.delay_s and self.server.closing.wait(None if answer.delay_s == FOREVER else answer.delay_s):
            self.close_connection = True
            return
        with contextlib.suppress(ConnectionError):  # who asked may have given up, or been killed
            self.write(answer)

    def write(self, answer):
        if answer.raw is not None:
            self.wfile.write(answer.raw)
            self.close_connection = True
            return
        payload = answer.payload()
        self.send_response(answer.status)
        self.send_header("Content-Type", PROTOBUF)
        self.send_header("Content-Length", str(len(payload)))
        if answer.retry_after is not None:
            self.send_header("Retry-After", str(answer.retry_after))
        self.end_headers()
        self.wfile.write(payload)

    def log_message(self, *_):
        pass


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, receiver):
        super().__init__(("127.0.0.1", 0), Handler)
        self.receiver, self.closing = receiver, threading.Event()

    def handle_error(self, *_):
        """A connection that ends is no news. All else is for who closes the receiver."""
        if not isinstance(sys.exc_info()[1], OSError):
            self.receiver.faults.append(sys.exc_info()[1])


class Receiver:
    """Takes profiles over HTTP, in this process. What it is sent is kept, decoded."""

    def __init__(self):
        need_otlp()  # and not in the thread that answers, in which nobody would hear of it
        self.lock, self.arrivals, self.answers, self.usual = threading.Lock(), [], collections.deque(), Answer()
        self.faults, self.server = [], Server(self)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}{PATH}"
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True)
        self.thread.start()

    def answer(self, answer, times=None):
        """How it answers from now on, or so many times before it does as before."""
        with self.lock:
            if times is None:
                self.usual = answer
            else:
                self.answers.extend([answer] * times)

    def take(self, path, headers, body):
        with self.lock:
            answer = self.answers.popleft() if self.answers else self.usual
            try:
                request = otlp_check.parse(body)
            except otlp_check.Malformed:
                request = None
            if path != PATH:
                answer = Answer(404)
            elif request is None or headers.get("Content-Type") != PROTOBUF:
                answer = Answer(400)
            self.arrivals.append(Arrival(time.time(), path, headers, request, answer))
        return answer

    def received(self):
        """The requests that it took: those to which it said so."""
        with self.lock:
            return [arrival.request for arrival in self.arrivals if arrival.answer.accepts]

    def wait_for(self, count):
        """Waits until it took so many."""
        wait_until(lambda: len(self.received()) >= count, lambda: f"{count} requests; so far: {self.arrivals}")
        return self.received()

    def close(self):
        self.server.closing.set()
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()
        assert not self.faults, self.faults

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


CONFIGURATION = """\
receivers:
  otlp:
    protocols:
      http:
        endpoint: 127.0.0.1:{port}
exporters:
  otlp_http:
    profiles_endpoint: {to}
    retry_on_failure: {{enabled: false}}
    sending_queue: {{enabled: false}}
service:
  pipelines:
    profiles:
      receivers: [otlp]
      exporters: [otlp_http]
  telemetry:
    metrics: {{level: none}}
"""


READY = "Everything is ready"


def free_port():
    """None of those that the kernel gives to connections (32768 and more): while the Collector is down, nobody gets it."""
    while True:
        port = random.randrange(20000, 32768)
        with socket.socket() as free, contextlib.suppress(OSError):
            free.bind(("127.0.0.1", port))
            return port


class Collector:
    """`url` is where to send to; `receiver` gets what comes out. Its files are in `folder`."""

    def __init__(self, folder):
        self.program, self.folder, self.process, self.port = need_collector(), folder, None, None
        self.receiver = Receiver()
        try:
            self.start()
        except BaseException:
            self.close()
            raise

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}{PATH}"

    @property
    def log(self):
        return (self.folder / "collector.log").read_text()

    def start(self):
        """The first time somebody else may have taken the port meanwhile; later it must be the same."""
        for _ in range(1 if self.port else 5):
            port = self.port or free_port()
            if self._start(port):
                self.port = port
                return
        raise AssertionError(f"the Collector does not start: {self.log[-4000:]}")

    def _start(self, port):
        """Whether it runs. That something listens would not say that it is this one."""
        configuration = self.folder / "collector.yaml"
        configuration.write_text(CONFIGURATION.format(port=port, to=self.receiver.url))
        with open(self.folder / "collector.log", "w") as log:
            self.process = subprocess.Popen(
                [self.program, f"--config={configuration}", "--feature-gates=service.profilesSupport"], stdin=subprocess.DEVNULL,
                stdout=log, stderr=log, env={key: value for key, value in os.environ.items() if not key.lower().endswith("_proxy")})
        wait_until(lambda: READY in self.log or self.process.poll() is not None, lambda: f"the Collector: {self.log[-4000:]}")
        return self.process.poll() is None

    def received(self):
        return self.receiver.received()

    def kill(self):
        self.process.kill()
        self.process.wait()

    def close(self):
        if self.process and self.process.poll() is None:
            self.kill()
        self.receiver.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def post(url, request, timeout=60, **headers):
    """Sends as a program does, with gzip; `request` may be bytes."""
    data = request if isinstance(request, bytes) else gzip.compress(request.SerializeToString())
    headers = {"Content-Type": PROTOBUF, "Content-Encoding": "gzip", **headers}
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(urllib.request.Request(url, data, headers), timeout=timeout) as answer:
            response = otlp_check.messages().ExportProfilesServiceResponse()
            response.ParseFromString(answer.read())
            return Said(answer.status, response, answer.headers)
    except urllib.error.HTTPError as error:
        with error:
            return Said(error.code, error.read(), error.headers)
