# SPDX-License-Identifier: MIT
"""A headless Chromium, led by its own protocol over a pipe, and pages for it to show."""

import contextlib
import fcntl
import http.server
import itertools
import json
import os
import pathlib
import select
import shutil
import signal
import subprocess
import tempfile
import threading
import time

from environment import missing
from recording import ENVIRONMENT

PATIENCE = 300  # seconds: only a page that hangs takes so long; without a graphics card it draws slowly
PAGES = pathlib.Path(__file__).parent / "pages"
QUIET = ("--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
         "--disable-component-update", "--disable-sync", "--disable-extensions", "--disable-dev-shm-usage", "--no-proxy-server",
         # no name leads out of this machine
         "--host-resolver-rules=MAP * 127.0.0.1")


def need_chromium():
    for name in ("chromium", "chromium-browser", "google-chrome"):
        if shutil.which(name):
            return name
    return missing("no chromium")


def out_of_the_way(fd):
    """The same file by a number that no child expects to be something else."""
    moved = fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 20)
    os.close(fd)
    return moved


class Browser:
    """One Chromium, with a profile folder of its own until close(); its pages are Pages."""

    def __init__(self, *options):
        program = need_chromium()
        commands, self.commands = map(out_of_the_way, os.pipe())
        self.answers, answers = map(out_of_the_way, os.pipe())

        def place():  # Chromium reads commands from 3 and writes answers to 4
            os.dup2(commands, 3)
            os.dup2(answers, 4)

        self.folder = tempfile.mkdtemp(prefix="pyreel-browser-")
        command = [program, *QUIET, *options, f"--user-data-dir={self.folder}", "--remote-debugging-pipe"]
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                        preexec_fn=place, pass_fds=(3, 4), env=ENVIRONMENT, start_new_session=True)
        os.close(commands)
        os.close(answers)
        self.numbers, self.rest, self.events = itertools.count(1), b"", []

    def read(self, give_up):
        """The next message of the browser."""
        while b"\0" not in self.rest:
            assert select.select([self.answers], [], [], max(0, give_up - time.monotonic()))[0], "the browser says nothing"
            piece = os.read(self.answers, 1 << 20)
            assert piece, "the browser has ended"
            self.rest += piece
        message, _, self.rest = self.rest.partition(b"\0")
        return json.loads(message)

    def ask(self, method, session=None, **parameters):
        number, give_up = next(self.numbers), time.monotonic() + PATIENCE
        message = {"id": number, "method": method, "params": parameters, **({"sessionId": session} if session else {})}
        os.write(self.commands, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.read(give_up)
            if answer.get("id") != number:
                self.events.append(answer)
                continue
            assert "error" not in answer, f"{method}: {answer['error']}"
            return answer["result"]

    def open(self, url):
        """A new page with this address."""
        target = self.ask("Target.createTarget", url=url)["targetId"]
        return Page(self, self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"])

    def close(self):
        """All its processes are of one session, and may still write to the folder until they are gone."""
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        os.close(self.commands)
        while os.read(self.answers, 1 << 20):  # until the last one has closed it
            pass
        os.close(self.answers)
        shutil.rmtree(self.folder)


class Page:
    def __init__(self, browser, session):
        self.browser, self.session = browser, session

    def value(self, expression, click=False):
        """What an expression is in the page; `click`: as if a person had clicked."""
        result = self.browser.ask("Runtime.evaluate", self.session, expression=expression, returnByValue=True,
                                  awaitPromise=True, userGesture=click)
        assert "exceptionDetails" not in result, f"{expression}: {result['exceptionDetails']}"
        return result["result"].get("value")

    def wait_for(self, expression):
        """Waits until an expression is true; a page that is being loaded has no values yet."""
        give_up = time.monotonic() + PATIENCE
        while time.monotonic() < give_up:
            with contextlib.suppress(AssertionError):
                if self.value(expression):
                    return
            time.sleep(0.02)
        raise AssertionError(f"waited in vain for {expression}")


class Pages:
    """A site on a port of the loopback: each path has the same page, and POST tells the test what the page found out."""

    def __init__(self, name):
        page = (PAGES / name).read_bytes()
        self.told, self.arrived = [], threading.Condition()
        site = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                self.send_response(200)
                self.send_header("Content-Type", "text/html; charset=utf-8")
                self.send_header("Content-Length", str(len(page)))
                self.end_headers()
                self.wfile.write(page)

            def do_POST(self):
                said = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                with site.arrived:
                    site.told.append(said)
                    site.arrived.notify_all()
                self.send_response(204)
                self.end_headers()

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = self.server.server_address[1]
        self.thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.02})
        self.thread.start()

    def next_told(self):
        with self.arrived:
            assert self.arrived.wait_for(lambda: self.told, PATIENCE), "the page told nothing"
            return self.told.pop(0)

    def close(self):
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()
