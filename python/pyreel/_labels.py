# SPDX-License-Identifier: MIT
"""Names for what threads and asyncio tasks do: label(). pyreel-record reads them from the memory of this process.

The memory is a private mapping of a file in memory, so that a forked child has its own copy, with a name by which pyreel-record
finds it in /proc/PID/maps. All numbers are u64 of this machine:

    0   "PYRLABL1", written last
    8   ROWS; 16 TEXTS; 24 rows in use, which only grows
    64  ROWS rows: the native id of a thread, and the serial of its label or 0
    ... TEXTS texts of 256 bytes: serial, size, UTF-8. The text of serial N is in slot N % TEXTS

A text is there before a row has its serial, and its serial is 0 while the text changes. An asyncio task is named itself, and has
no row: `--async` shows the names of tasks.
"""

import contextlib
import mmap
import os
import struct
import sys
import threading
import warnings
from _thread import _local as Local  # of the thread itself, also where threading is replaced, as gevent does
from types import TracebackType
from typing import Any
from weakref import WeakKeyDictionary

ROWS = 1024
TEXTS = 4096
TEXT_BYTES = 240
MAGIC = b"PYRLABL1"

# Places, in words of 8 bytes.
_FIRST_ROW = 8
_FIRST_TEXT = _FIRST_ROW + 2 * ROWS
_TEXT_WORDS = 32
_WORDS = _FIRST_TEXT + _TEXT_WORDS * TEXTS

_put_text = struct.Struct(f"QQ{TEXT_BYTES}s").pack_into

_watched: bool | None = None  # somebody records; None: not known yet
_lock = threading.Lock()  # of all below but `_here`
_memory: Any = None  # a mmap.mmap, once a thread has a label
_words: Any = None  # the same as numbers, a memoryview
_serials: dict[str, int] = {}
_texts: list[str | None] = [None] * TEXTS  # by slot
_last_serial = 0
_free: list[int] = []
_first_names: WeakKeyDictionary[Any, str] = WeakKeyDictionary()  # of tasks, before their labels


class _Row:
    """The row of a thread. It is free again when the thread has ended."""

    __slots__ = "place", "of"

    def __init__(self, place: int) -> None:
        self.place = place  # of the serial
        self.of = os.getpid()  # a forked child frees the rows of its parent's threads itself

    def __del__(self) -> None:
        if self.of == os.getpid() and _words is not None:  # at the end of the program, this module may be empty
            _words[self.place] = 0
            _free.append(self.place)


class _Here(Local):
    row: _Row | None = None


_here = _Here()


# ---- who reads ----

def _below_a_recorder() -> bool:
    """Whether pyreel-record started this program, or one of its ancestors."""
    pid = os.getppid()
    for _ in range(64):
        try:
            with open(f"/proc/{pid}/stat") as file:
                start, _, rest = file.read().rpartition(")")
        except OSError:  # the end, or no /proc
            return False
        if start.endswith("(pyreel-record"):
            return True
        pid = int(rest.split()[1])
    return False


def _find_out() -> bool:
    global _watched
    _watched = bool(os.environ.get("PYREEL_LABELS")) or _below_a_recorder()
    return _watched


def prepare() -> None:
    """Makes the memory before a recorder starts, which then finds it with its first look, and not a moment later."""
    with _lock:
        if _words is None:
            with contextlib.suppress(OSError):  # the first label says so
                _open()


def recorder_started(subprocesses: bool) -> None:
    """Labels are written from now on; by child processes, too, if they are recorded."""
    global _watched, _for_children
    _watched = True
    _for_children = subprocesses and "PYREEL_LABELS" not in os.environ
    if _for_children:
        os.environ["PYREEL_LABELS"] = "1"


def recorder_stopped() -> None:
    global _watched, _for_children
    if _for_children:
        os.environ.pop("PYREEL_LABELS", None)
    _for_children = False
    _watched = None


_for_children = False


# ---- the memory ----

def _open() -> None:
    global _memory, _words
    fd = os.memfd_create("pyreel-labels-1")
    try:
        os.ftruncate(fd, 8 * _WORDS)
        memory = mmap.mmap(fd, 8 * _WORDS, flags=mmap.MAP_PRIVATE)
    finally:
        os.close(fd)
    words = memoryview(memory).cast("Q")
    words[1], words[2] = ROWS, TEXTS
    memory[:8] = MAGIC
    _memory, _words = memory, words


def _take_row() -> _Row | None:
    """A row for this thread; None if there is none left."""
    global _watched
    with _lock:
        if _words is None:
            try:
                _open()
            except OSError as error:
                _watched = False
                warnings.warn(f"pyreel: labels are off, for there is no memory for them: {error}", RuntimeWarning, stacklevel=3)
                return None
        if _free:
            place = _free.pop()
        elif _words[3] < ROWS:
            place = _FIRST_ROW + 2 * _words[3] + 1
            _words[3] += 1
        else:
            return None
        _words[place - 1] = threading.get_native_id()
        _here.row = row = _Row(place)
        return row


def _new_serial(text: str) -> int:
    global _last_serial
    if not isinstance(text, str):
        raise TypeError(f"a label is a str, or None for no label; not {type(text).__name__}")
    written = text.encode("utf-8", "replace")
    if len(written) > TEXT_BYTES:
        written = written[:TEXT_BYTES].decode("utf-8", "ignore").encode()  # no half character at the end
    with _lock:
        if text in _serials:  # of another thread, just now
            return _serials[text]
        _last_serial = serial = _last_serial + 1
        slot = serial % TEXTS
        gone = _texts[slot]
        if gone is not None:
            del _serials[gone]
        place = _FIRST_TEXT + slot * _TEXT_WORDS
        _put_text(_memory, 8 * place, 0, len(written), written)
        _words[place] = serial
        _texts[slot] = text
        _serials[text] = serial
    return serial


# ---- labels ----

class Label:
    """What label() returns: the label ends with a `with` block, and the one before holds again."""

    __slots__ = "_row", "_before"

    def __init__(self, row: _Row, before: int) -> None:
        self._row, self._before = row, before

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        if self._row is not None and _here.row is self._row:
            _words[self._row.place] = self._before


class _TaskLabel(Label):
    __slots__ = "_task", "_name"

    def __init__(self, task: Any, name: str) -> None:
        self._task, self._name = task, name

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        self._task.set_name(self._name)


class _NoLabel(Label):
    __slots__ = ()

    def __init__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        pass


_NO_LABEL = _NoLabel()
_modules = sys.modules


def label(text: str | None, /) -> Label:
    """Names what this thread, or this asyncio task, does from now on: pyreel.label("request 17"). None ends the label. In
    `with pyreel.label("request 17"):` the label ends with the block, and the one before holds again.

    All outputs show the label as they show a task, and `pyreel-report --by task` has the time of each. A text is cut behind 240
    bytes; the newest 4,096 texts are kept, and 1,024 threads at a time can have a label. A call takes less than a microsecond. It
    does nothing unless pyreel-record records this program, as this package or a parent process has started it, or the
    environment has PYREEL_LABELS=1, for a recorder that attaches later.
    """
    if not (_find_out() if _watched is None else _watched):
        return _NO_LABEL
    asyncio = _modules.get("asyncio.tasks")
    if asyncio is not None and asyncio.events._get_running_loop() is not None:
        task = asyncio.current_task()
        if task is not None:
            return _name_task(task, text)
    row = _here.row or _take_row()
    if row is None:
        return _NO_LABEL
    place = row.place
    before = _words[place]
    _words[place] = 0 if text is None else _serials.get(text) or _new_serial(text)
    return Label(row, before)


def _name_task(task: Any, text: str | None) -> Label:
    before = task.get_name()
    first = _first_names.setdefault(task, before)
    task.set_name(first if text is None else text)
    return _TaskLabel(task, before)


def _begin_child() -> None:
    """A forked child has a copy of the memory, and no thread but this one, whose label stays."""
    global _lock, _watched, _free
    _lock = threading.Lock()
    _watched = None
    if _words is None:
        return
    row = _here.row
    places = [_FIRST_ROW + 2 * index + 1 for index in range(_words[3])]
    _free = [place for place in places if row is None or place != row.place]
    for place in _free:
        _words[place] = 0
    if row is not None:
        _words[row.place - 1] = threading.get_native_id()
        row.of = os.getpid()


os.register_at_fork(after_in_child=_begin_child)
