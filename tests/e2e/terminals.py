# SPDX-License-Identifier: MIT
"""A program at a terminal of its own, which can be closed."""

import contextlib
import os
import pty
import select

from recording import ENVIRONMENT, PATIENCE, wait_until


class Terminal:
    """Starts the program as the leader of a session whose terminal this is."""

    def __init__(self, *command):
        self.said, self.used = b"", 0
        self.pid, self.terminal = pty.fork()
        if self.pid == 0:
            os.execve(command[0], list(map(str, command)), {**ENVIRONMENT, "PS1": "$ ", "TERM": "dumb", "HISTFILE": ""})

    def __str__(self):
        return self.said.decode(errors="replace")

    def press(self, keys):
        os.write(self.terminal, keys.encode())

    def read(self, until):
        """What comes behind what was read, up to these words."""
        while until not in self.said[self.used:]:
            assert select.select([self.terminal], [], [], PATIENCE)[0], f"waited in vain: {self}"
            try:
                self.said += os.read(self.terminal, 65536)
            except OSError:  # the other side was closed
                raise AssertionError(f"the terminal ended: {self}") from None
        begin, self.used = self.used, self.said.index(until, self.used) + len(until)
        return self.said[begin:self.used].decode()

    def read_ready(self):
        """The number of the process that says "ready PID"."""
        self.read(b"ready ")
        return int(self.read(b"\n"))

    def hang_up(self):
        os.close(self.terminal)
        self.terminal = None

    def wait(self):
        """The exit code of the program. What it says is left to read()."""
        wait_until(lambda: os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT), "it ends")
        _, status = os.waitpid(self.pid, 0)
        self.pid = None
        return os.waitstatus_to_exitcode(status)

    def close(self):
        if self.terminal is not None:
            self.hang_up()
        if self.pid is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.pid, 9)
            os.waitpid(self.pid, 0)
