# SPDX-License-Identifier: MIT
"""The real viewers, as the tests ask them."""

import collections
import contextlib
import json
import os
import shutil
import socket
import subprocess
import tempfile

import gecko_check
import stacks
from environment import need_viewer
from recording import ENVIRONMENT, PATIENCE, succeed, wait_until


# ---- Firefox Profiler ----

class Profiler:
    """The daemon of profiler-cli with a profile, asked at its socket as the tool itself asks: the tool starts a Node for
    each question, and gives the daemon half a second to begin."""

    def __init__(self, profile, folder):
        self.process = subprocess.Popen([need_viewer("profiler-cli"), "--daemon", profile, "--session", "test"],
                                        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                        env={**ENVIRONMENT, "PROFILER_CLI_SESSION_DIR": folder, "PROFILER_CLI_NO_SYMBOLICATE": "1"})
        self.socket = os.path.join(folder, "test.sock")

    def send(self, message):
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(PATIENCE)
            connection.connect(self.socket)
            connection.sendall(json.dumps(message).encode() + b"\n")
            return json.loads(connection.makefile().readline())

    def wait(self):
        """Until the profile is shown."""
        def ready():
            assert self.process.poll() is None, "the viewer has ended"
            with contextlib.suppress(FileNotFoundError, ConnectionRefusedError):
                answer = self.send({"type": "status"})
                assert answer["type"] != "error", answer
                return answer["type"] == "ready"
        wait_until(ready, "the viewer loads the profile")

    def ask(self, command, subcommand, **options):
        """What `profiler-cli COMMAND SUBCOMMAND --json` prints."""
        answer = self.send({"type": "command", "command": {"command": command, "subcommand": subcommand, **options}})
        assert answer["type"] == "success", answer
        return answer["result"]

    def threads(self):
        return self.ask("thread", "list", threadListOptions={"limit": 0})["threads"]

    def handle(self, name):
        (found,) = [thread["threadHandle"] for thread in self.threads() if thread["name"] == name]
        return found

    def functions(self, thread):
        return self.ask("thread", "functions", thread=thread, includeIdle=True, functionFilters={})["functions"]

    def tree(self, thread):
        """{(root, ..., leaf): samples} of a thread, without the leaves that say that it waits."""
        options = {"maxNodes": 1_000_000}
        return tree_stacks(self.ask("thread", "samples-top-down", thread=thread, includeIdle=True,
                                    callTreeOptions=options)["regularCallTree"])

    def markers(self, thread):
        return self.ask("thread", "markers", thread=thread, markerFilters={"list": True}).get("flatMarkers", [])

    def categories(self, thread):
        """{category: samples}"""
        answer = self.ask("thread", "samples", thread=thread, includeIdle=True)["categoryBreakdown"]
        return {category["name"]: category["samples"] for category in answer["categories"]}

    def close(self):
        self.process.kill()
        self.process.wait()


@contextlib.contextmanager
def opened(profile):
    """The viewer with a profile."""
    folder = tempfile.mkdtemp(prefix="pyreel-p-", dir="/tmp")  # it holds a socket, whose name must be short
    try:
        with contextlib.closing(Profiler(profile, folder)) as viewer:
            viewer.wait()
            yield viewer
    finally:
        shutil.rmtree(folder)


def tree_stacks(node, above=()):
    """{(root, ..., leaf): samples} of a call tree, without the leaves that say that a thread waits."""
    found = collections.Counter()
    for child in node["children"]:
        assert not child.get("childrenTruncated"), "the tree was cut"
        name = gecko_check.own_name(stacks.bare(child["name"])[0])
        stack = above if name in gecko_check.LEAVES else above + (name,)
        found[stack] += child["selfSamples"]
        found.update(tree_stacks(child, stack))
    return +found


# ---- speedscope ----

def imported(path):
    """What speedscope's importer finds in a file."""
    return json.loads(succeed(need_viewer("speedscope-import"), path).text)


def speedscope(path):
    (profile,) = imported(path)["profiles"]
    return profile
