# SPDX-License-Identifier: MIT
"""The process pyreel-record that records this one: its start, its leave to read this process, its end, and what it says.

The recorder is led by two pipes (--control). They have no name in the file system, so none is left behind however this process
ends. A recorder whose program is gone ends by itself.
"""

import contextlib
import ctypes
import os
import select
import signal
import subprocess
import tempfile
import time
from collections.abc import Sequence

from ._error import Error
from ._programs import find

START_SECONDS = 30  # for which a recorder may be silent before its first look
STOP_SECONDS = 600  # an output such as .html is made at the end, of a recording that may be long
PR_SET_PTRACER = 0x59616D61
YAMA = "/proc/sys/kernel/yama/ptrace_scope"


def allow(pid: int) -> None:
    """Gives the process `pid` and its children leave to read this process, in the place of whoever had it; 0 takes it back. Only
    where Yama asks for it: elsewhere the same user may read anyway."""
    try:
        with open(YAMA) as file:
            asked = file.read().strip() == "1"
    except OSError:  # a kernel without Yama
        return
    if asked:
        ctypes.CDLL(None).prctl(PR_SET_PTRACER, ctypes.c_ulong(pid), 0, 0, 0)


class Recorder:
    """pyreel-record at work on this process, from the constructor on, which returns when it records. Raises Error."""

    def __init__(self, arguments: Sequence[str]) -> None:
        program = find("pyreel-record")
        self._said = tempfile.TemporaryFile()  # a pipe would be full some day
        commands, self._commands = os.pipe()
        self._answers, answers = os.pipe()
        control = f"--control=fifo:/proc/self/fd/{commands},/proc/self/fd/{answers}"
        # The recorder may look before its pid is known here: until then, all children of this process have the leave.
        allow(os.getpid())
        try:
            self._process = subprocess.Popen(
                [program, *arguments, "--delay=-1", control, "-p", str(os.getpid())],
                stdin=subprocess.DEVNULL, stdout=self._said, stderr=self._said, pass_fds=(commands, answers),
                process_group=0)  # ^C at the terminal is for the program
        except OSError as error:
            self._close()
            allow(0)
            raise Error(f"{program} cannot be started: {error.strerror}") from error
        finally:
            os.close(commands)
            os.close(answers)
        allow(self._process.pid)
        try:
            if not self._ask("enable", START_SECONDS):
                with contextlib.suppress(subprocess.TimeoutExpired):
                    self._process.wait(1)  # it may be about to end, which is why
                raise Error(self._ended("did not begin to record"))
        except BaseException:  # ^C, too
            self._process.kill()
            self._process.wait()
            self._let_go()
            raise

    @property
    def pid(self) -> int:
        return self._process.pid

    def stop(self) -> str:
        """Ends the recording. Returns what the recorder said; raises Error in its words if it failed, now or before."""
        try:
            self._ask("stop", 0)
            code = self._process.wait(STOP_SECONDS)
            if code != 0:
                raise Error(self._ended("failed"))
            return self._words()
        except subprocess.TimeoutExpired:
            raise Error(self._ended(f"did not end within {STOP_SECONDS} s")) from None
        finally:
            self._process.kill()
            self._process.wait()
            self._let_go()

    def abandon(self) -> None:
        """In a forked child: the recorder is the parent's."""
        self._close()
        self._process.returncode = 0  # nobody waits for it here

    def _ask(self, command: str, seconds: float) -> bool:
        """Whether the recorder took a command, and did it if there is a time for that."""
        try:
            os.write(self._commands, f"{command}\n".encode())
        except BrokenPipeError:
            return False
        if not seconds:
            return True
        wait, give_up = select.poll(), time.monotonic() + seconds
        wait.register(self._answers, select.POLLIN)
        # A child that was forked meanwhile may hold the pipe open, so its end does not tell that of the recorder.
        while not wait.poll(50) and self._process.poll() is None and time.monotonic() < give_up:
            pass
        return bool(wait.poll(0)) and os.read(self._answers, 4096).startswith(b"ack")

    def _ended(self, what: str) -> str:
        """What happened, in the last words of the recorder. Nothing else is wanted of it."""
        code = self._process.poll()
        if code is None:
            self._process.kill()
        elif code < 0:
            return f"pyreel-record was ended by signal {-code} ({signal.strsignal(-code)})"
        words = " ".join(line for line in self._words().splitlines() if not line.startswith("Try '"))
        return f"pyreel-record {what}: {words or 'it said nothing'}"

    def _words(self) -> str:
        self._said.seek(0)
        text = self._said.read().decode(errors="replace")
        return "\n".join(line.removeprefix("pyreel-record: ") for line in text.splitlines())

    def _let_go(self) -> None:
        allow(0)
        self._close()

    def _close(self) -> None:
        self._said.close()
        os.close(self._commands)
        os.close(self._answers)
