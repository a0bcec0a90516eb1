# SPDX-License-Identifier: MIT
"""A store of profiles: the interface of the Firefox Profiler's own store, as its documents describe it, over http or https.

`store.answers` says how the store behaves; by default it does what the true one does.
"""

import base64
import contextlib
import gzip
import http.server
import json
import os
import secrets
import socket
import ssl
import subprocess
import threading

ACCEPT = "application/vnd.firefox-profiler+json;version=1.0"


def base64url(text):
    return base64.urlsafe_b64encode(text).rstrip(b"=").decode()


def web_token(payload):
    parts = [json.dumps(part).encode() for part in ({"alg": "HS256", "typ": "JWT"}, payload)] + [secrets.token_bytes(32)]
    return ".".join(base64url(part) for part in parts)


class Store:
    """Runs until close(). `profiles` has the body and the proof of each profile by its token, `seen` each request."""

    def __init__(self, certificate=None, **answers):
        self.profiles, self.seen, self.answers = {}, [], answers
        self.limit = answers.get("limit", 150 << 20)
        self.cut = 0  # bodies that came without their end
        self.arrived = threading.Event()  # the first bytes of a body did
        self.released = threading.Event()  # a store that waits goes on
        store = self

        class Handler(StoreHandler):
            pass

        Handler.store = store
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        self.server.handle_error = lambda *_: None  # whoever does not trust us leaves in the middle
        if certificate:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(*certificate)
            self.server.socket = context.wrap_socket(self.server.socket, server_side=True, do_handshake_on_connect=False)
            self.url = f"https://localhost:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()

    def close(self):
        self.released.set()
        self.server.shutdown()
        self.server.server_close()

    def profile(self, token):
        return json.loads(gzip.decompress(self.profiles[token][0]))


class StoreHandler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    store = None

    def log_message(self, *_):
        pass

    def answer(self, status, text="", **headers):
        body = text if isinstance(text, bytes) else text.encode()
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(body)
        self.close_connection = True

    def chunks(self):
        """The body, chunk by chunk. An exception when the end is missing."""
        while True:
            line = self.rfile.readline(100)
            if not line.endswith(b"\r\n"):
                raise ConnectionError("a chunk is cut")
            size = int(line, 16)
            chunk = self.rfile.read(size)
            if len(chunk) < size or self.rfile.read(2) != b"\r\n":
                raise ConnectionError("a chunk is cut")
            if size == 0:
                return
            self.store.arrived.set()
            yield chunk

    def handle_expect_100(self):
        early = self.store.answers.get("early")
        if early:
            self.answer(*early[:1], **(early[1] if len(early) > 1 else {}))
            return False
        return super().handle_expect_100()

    def take_body(self):
        """The body, or None after an answer that refuses it."""
        store, body, late = self.store, bytearray(), self.store.answers.get("late")
        for chunk in self.chunks():
            if store.answers.get("hangs"):
                store.released.wait(60)
            if store.answers.get("resets"):
                self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
                self.close_connection = True  # with all that reads and writes there
                self.connection.close()
                return None
            body += chunk
            if late or len(body) > store.limit:
                self.answer(late or 413)
                # Whoever closes with bytes unread resets the connection, and the answer may be lost: true stores wait, too.
                self.connection.shutdown(socket.SHUT_WR)
                with contextlib.suppress(OSError):
                    while self.connection.recv(1 << 16):
                        pass
                return None
        return bytes(body)

    def do_POST(self):
        store = self.store
        store.seen.append(("POST", self.path, dict(self.headers)))
        if store.answers.get("status") or self.path != "/compressed-store":
            for _ in self.chunks():  # whoever answers before the end, and closes, may cut off the answer
                pass
            self.answer(store.answers.get("status") or 404, **store.answers.get("headers", {}))
            return
        if self.headers["Accept"] != ACCEPT or self.headers["Transfer-Encoding"] != "chunked":
            self.answer(400, "wrong headers")
            return
        try:
            body = self.take_body()
        except (ConnectionError, ssl.SSLError, OSError, ValueError):
            store.cut += 1
            return
        if body is None:
            return
        if body[:2] != b"\x1f\x8b":
            self.answer(400, "no gzip'd profile")
            return
        self.answer_upload(body)

    def answer_upload(self, body):
        store = self.store
        if store.answers.get("silent"):
            store.released.wait(60)
            self.close_connection = True
            return
        if store.answers.get("closes"):
            self.connection.shutdown(socket.SHUT_RDWR)
            self.close_connection = True
            return
        token = base64.b32encode(secrets.token_bytes(24)).decode().rstrip("=").lower()
        proof = web_token({"profileToken": token})
        store.profiles[token] = body, proof
        text = store.answers.get("text")
        self.answer(200, proof if text is None else text)

    def do_DELETE(self):
        store = self.store
        store.seen.append(("DELETE", self.path, dict(self.headers)))
        if store.answers.get("status"):
            self.answer(store.answers["status"])
            return
        token = self.path.removeprefix("/profile/")
        if token not in store.profiles:
            self.answer(404)
        elif self.headers["Authorization"] != f"Bearer {store.profiles[token][1]}":
            self.answer(401)
        else:
            del store.profiles[token]
            self.answer(200, "Profile successfully deleted.")


def make_certificate(folder):
    """A certificate for localhost, signed by itself → the files of the certificate and the key."""
    certificate, key = os.path.join(folder, "certificate.pem"), os.path.join(folder, "key.pem")
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost",
                    "-addext", "subjectAltName=DNS:localhost", "-keyout", key, "-out", certificate], check=True, capture_output=True)
    return certificate, key
