# SPDX-License-Identifier: MIT
"""pyreel-top at a terminal of its own: what the terminal shows, by a terminal emulator, and keys."""

import fcntl
import os
import pty
import re
import select
import signal
import struct
import termios
import time

from environment import missing
from recording import ENVIRONMENT, PATIENCE, wait_until

try:
    import pyte
except ImportError:
    pyte = None

PLAIN = {"TERM": "linux"}  # the emulator knows all that this terminal knows


def size_of(columns, lines):
    return struct.pack("HHHH", lines, columns, 0, 0)


class LiveView:
    def __init__(self, *command, columns=80, lines=24, environment=PLAIN):
        if not pyte:
            missing("no terminal emulator: python3-pyte of Debian")
        self.screen = pyte.Screen(columns, lines)
        self.stream = pyte.ByteStream(self.screen)
        self.raw = b""  # all that came
        self.ended = False
        self.code = None
        self.pid, self.terminal = pty.fork()
        if self.pid == 0:
            fcntl.ioctl(0, termios.TIOCSWINSZ, size_of(columns, lines))
            changed = {**{name: value for name, value in ENVIRONMENT.items() if name not in ("COLUMNS", "LINES")}, **environment}
            os.closerange(3, 256)  # terminals of other views
            os.execvpe(str(command[0]), list(map(str, command)), changed)

    def __str__(self):
        return "\n".join(self.screen.display)

    def take(self, seconds=0.05):
        """Takes what has come by now."""
        if self.ended or not select.select([self.terminal], [], [], seconds)[0]:
            return
        try:
            piece = os.read(self.terminal, 65536)
        except OSError:  # the other side was closed
            piece = b""
        self.ended = not piece
        self.raw += piece
        self.stream.feed(piece)

    def wait_for(self, condition, what):
        give_up = time.monotonic() + PATIENCE
        while not condition():
            assert time.monotonic() < give_up and not self.ended, f"waited in vain for {what}:\n{self}\n{self.raw[-2000:]}"
            self.take()

    def see(self, pattern):
        """Waits until this is on the screen; returns the match. The rest of the screen may come later."""
        self.wait_for(lambda: re.search(pattern, str(self)), pattern)
        return re.search(pattern, str(self))

    def samples(self):
        """How many samples it shows."""
        found = re.search(r"(\d+) samples", str(self))
        return int(found[1]) if found else 0

    def press(self, keys):
        os.write(self.terminal, keys.encode())

    def resize(self, columns, lines):
        self.screen.resize(lines, columns)
        fcntl.ioctl(self.terminal, termios.TIOCSWINSZ, size_of(columns, lines))  # the kernel sends SIGWINCH

    def signal(self, number):
        os.kill(self.pid, number)

    def wait(self):
        """The exit code; what came until then is on the screen."""
        give_up = time.monotonic() + PATIENCE
        while not self.ended:
            assert time.monotonic() < give_up, f"it does not end:\n{self}"
            self.take()
        _, status = os.waitpid(self.pid, 0)
        self.pid = None
        return os.waitstatus_to_exitcode(status)

    def hang_up(self):
        """Closes the terminal, as the end of a connection does."""
        os.close(self.terminal)
        self.terminal = None

    def wait_without_terminal(self):
        """The exit code."""
        ended = (0, 0)

        def has_ended():
            nonlocal ended
            ended = os.waitpid(self.pid, os.WNOHANG)
            return ended[0] != 0

        wait_until(has_ended, "the end of the view")
        self.pid = None
        return os.waitstatus_to_exitcode(ended[1])

    def quit(self):
        self.press("q")
        return self.wait()

    def close(self):
        if self.pid is not None:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        if self.terminal is not None:
            os.close(self.terminal)
