# SPDX-License-Identifier: MIT
"""The real viewers, as the tests ask them."""

import collections
import contextlib
import json
import shutil
import tempfile
import time

import gecko_check
import stacks
from environment import need_viewer
from recording import run, succeed


# ---- Firefox Profiler ----

class Profiler:
    """profiler-cli, a daemon of its own, which has to be stopped whatever happened."""

    def __init__(self, folder):
        self.cli = need_viewer("profiler-cli")
        self.folder = folder

    def run(self, *arguments):
        return run("env", f"PROFILER_CLI_SESSION_DIR={self.folder}", self.cli, *arguments)

    def load(self, profile):
        """It gives its daemon half a second to start. On a busy machine the daemon is ready later, with the profile."""
        for _ in range(5):
            ended = self.run("load", profile, "--session", "test")
            if ended.code == 0 or "did not become ready" not in ended.messages or self.gets_ready():
                break
            self.stop()
        assert ended.code == 0 or self.gets_ready(), ended

    def gets_ready(self):
        give_up = time.monotonic() + 15
        while time.monotonic() < give_up:
            if self.run("status", "--session", "test").code == 0:
                return True
            time.sleep(0.5)
        return False

    def say(self, *arguments):
        ended = self.run(*arguments, "--session", "test")
        assert ended.code == 0, ended
        return ended.text

    def ask(self, *arguments):
        return json.loads(self.say(*arguments, "--json"))

    def stop(self):
        self.run("stop", "--all")


@contextlib.contextmanager
def opened(profile):
    """The viewer with a profile loaded."""
    folder = tempfile.mkdtemp(prefix="pyreel-p-", dir="/tmp")  # it holds a socket, whose name must be short
    try:
        viewer = Profiler(folder)
        try:
            viewer.load(profile)
            yield viewer
        finally:
            viewer.stop()
    finally:
        shutil.rmtree(folder)


def handle(profiler, name):
    (found,) = [t["threadHandle"] for t in profiler.ask("thread", "list")["threads"] if t["name"] == name]
    return found


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
