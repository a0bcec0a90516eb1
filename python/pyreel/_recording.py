# SPDX-License-Identifier: MIT
"""Recordings of this process: record(), recorded, start() and stop(). There is one at a time."""

import atexit
import functools
import inspect
import itertools
import os
import re
import sys
import threading
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any, Literal, TypedDict, TypeVar, Unpack, overload

from . import _labels
from ._error import Error
from ._recorder import Recorder, allow

Function = TypeVar("Function", bound=Callable[..., Any])
Output = str | os.PathLike[str]


class Options(TypedDict, total=False):
    """What record() takes beside the output, for those who hand it on."""

    rate: float | str | None
    native: bool
    async_: Literal["running", "all"] | None
    subprocesses: bool
    disturb: float | None
    options: Sequence[str]


_lock = threading.Lock()  # of _current
_current: "Recording | None" = None  # from the start of its recorder to the end
_numbers = itertools.count(2)


class Recording:
    """A recording of this process, made by record() and start(), which tell its options."""

    path: str  # of the file
    messages: str  # what pyreel-record said, once the recording has ended

    def __init__(self, output: Output | None, arguments: Sequence[str], subprocesses: bool) -> None:
        self.path = os.fspath(output) if output is not None else _free_name(_program_name())
        if self.path == "-":
            raise Error("a recording of the own process needs a file: name one that ends in .pyreel")
        self.messages = ""
        self._arguments = ["-o", self.path.replace("%", "%%"), *arguments]  # pyreel-record replaces %h and others
        self._subprocesses = subprocesses
        self._recorder: Recorder | None = None

    def start(self) -> "Recording":
        """Starts pyreel-record, and returns when it records. Raises Error: in the recorder's words, or if there is a recording."""
        global _current
        with _lock:
            if _current is not None:
                raise Error(f"this process is being recorded into {_current.path}: end that recording before the next one begins")
            _current = self
        try:
            _labels.prepare()
            self._recorder = Recorder(self._arguments)
        except BaseException:
            _current = None
            raise
        _labels.recorder_started(self._subprocesses)
        return self

    def stop(self) -> None:
        """Ends the recording: the file is complete then. Raises Error if pyreel-record has failed. Does nothing the second time,
        and in a forked child, whose parent has the recording."""
        global _current
        with _lock:
            recorder, self._recorder = self._recorder, None
        if recorder is None:
            return
        try:
            self.messages = recorder.stop()
        finally:
            _current = None
            _labels.recorder_stopped()

    def __enter__(self) -> "Recording":
        return self.start()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        try:
            self.stop()
        except Error as failure:
            if error is None:
                raise
            error.add_note(f"pyreel: {failure}")  # the program's own error is what its user must see


def _program_name() -> str:
    """As pyreel-record names a program: app of app.py, package of python -m package."""
    folder, name = os.path.split(sys.argv[0] if sys.argv else "")
    if name == "__main__.py":
        name = os.path.basename(folder)
    return name.removesuffix(".py") if name not in ("", "-c", "-m") else "python"


def _free_name(name: str) -> str:
    """NAME-PID.pyreel in the current folder, and a number more if this process has made that file before."""
    start = re.sub(r"[^\w.]+", "-", name) + f"-{os.getpid()}"
    path = f"{start}.pyreel"
    return path if not os.path.exists(path) else f"{start}-{next(_numbers)}.pyreel"


def record(output: Output | None = None, *, rate: float | str | None = None, native: bool = False,
           async_: Literal["running", "all"] | None = None, subprocesses: bool = False, disturb: float | None = None,
           options: Sequence[str] = ()) -> Recording:
    """Records this process, all its threads, while a `with` block runs:

        with pyreel.record("slow.pyreel"):
            work()

    output: the file; an existing recording is replaced. The default is NAME-PID.pyreel in the current folder.
    rate: samples per second. native: C functions, too. async_: stacks of asyncio tasks, "running" or "all". subprocesses: child
    processes that run Python, too. disturb: the percentage of a processor that sampling may take from the program.
    options: what else pyreel-record is given, such as ["--max-size", "20M"].

    Entering the block takes some ten milliseconds, in which pyreel-record starts. Raises Error where this fails.
    """
    flags = {"--native": native, "--subprocesses": subprocesses}
    values = {"--rate": rate, "--async": async_, "--disturb": disturb}
    arguments = [*options, *(flag for flag, wanted in flags.items() if wanted)]
    arguments += [f"{option}={value}" for option, value in values.items() if value is not None]
    return Recording(output, arguments, subprocesses)


def start(output: Output | None = None, **options: Unpack[Options]) -> Recording:
    """Records this process from now on, until stop() or the end of the program; the options are those of record()."""
    return record(output, **options).start()


def stop() -> Recording:
    """Ends the recording of this process, and returns it: its path, its messages. Raises Error if there is none."""
    recording = _current
    if recording is None:
        raise Error("this process is not being recorded: pyreel.start() or pyreel.record() comes first")
    recording.stop()
    return recording


@overload
def recorded(function: Function, /) -> Function: ...
@overload
def recorded(output: Output | None = None, /, **options: Unpack[Options]) -> Callable[[Function], Function]: ...
def recorded(output: Any = None, /, **options: Unpack[Options]) -> Any:
    """Records each call of a function: @pyreel.recorded, or @pyreel.recorded("slow.pyreel", rate=500) with the options of record().

    Without a file, each call has its own: FUNCTION-PID.pyreel, then FUNCTION-PID-2.pyreel. With a file, the last call is in it.
    """
    if callable(output):
        return _recorded(output, None, options)
    return lambda function: _recorded(function, output, options)


def _recorded(function: Function, output: Output | None, options: Options) -> Function:
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        raise TypeError(f"{function.__qualname__} is a generator, which does not run as one piece: use pyreel.record() around its loop")

    def recording() -> Recording:
        return record(output if output is not None else _free_name(function.__name__), **options)

    if inspect.iscoroutinefunction(function):
        @functools.wraps(function)
        async def awaits(*values: Any, **named: Any) -> Any:
            with recording():
                return await function(*values, **named)
        return awaits  # type: ignore[return-value]

    @functools.wraps(function)
    def calls(*values: Any, **named: Any) -> Any:
        with recording():
            return function(*values, **named)
    return calls  # type: ignore[return-value]


def _stop_at_exit() -> None:
    if _current is not None:
        _current.stop()


def _begin_child() -> None:
    """A forked child has no recorder, and may start one. With subprocesses, that of the parent records it."""
    global _current, _lock
    _lock = threading.Lock()
    recording, _current = _current, None
    if recording is None or recording._recorder is None:
        return
    if recording._subprocesses:
        allow(recording._recorder.pid)
    recording._recorder.abandon()
    recording._recorder = None


atexit.register(_stop_at_exit)
os.register_at_fork(after_in_child=_begin_child)
