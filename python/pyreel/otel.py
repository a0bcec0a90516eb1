# SPDX-License-Identifier: MIT
"""Gives samples their trace and span, in programs that use OpenTelemetry's SDK:

    from opentelemetry import trace
    import pyreel.otel

    trace.get_tracer_provider().add_span_processor(pyreel.otel.SpanProcessor())

From its start to its end, a span is the label of its thread or asyncio task (pyreel.label), with its ids behind its name. All
outputs show the name as a label, and `--span TRACE` keeps the samples of one request. Of asyncio tasks, recordings with
`--async running` know it.
"""

import contextlib
from typing import Any
from weakref import ref

from . import _labels

__all__ = ["SpanProcessor"]

_NAME_BYTES = _labels.TEXT_BYTES - 56  # of a label, which ends in " 00-TRACE-SPAN-FLAGS"
_OPEN_MOST = _labels.TEXTS  # spans that are remembered: a program may never end some


def _text(span: Any) -> str:
    context = span.get_span_context()
    name = str(span.name).encode("utf-8", "replace")[:_NAME_BYTES].decode("utf-8", "ignore")
    return f"{name or 'span'} 00-{context.trace_id:032x}-{context.span_id:016x}-{context.trace_flags & 255:02x}"


class _Begun:
    """A span that is the label of a thread. It keeps no thread alive, and no row of one: what stands there tells whether it is
    still ours. A span may end on any thread, which writes the row then. With the GIL, no other thread runs between the two lines
    that do so; without it, a label that begins right there is lost."""

    __slots__ = "own", "before", "above", "_place"

    def __init__(self, place: int, before: Any) -> None:
        self._place = place
        self.own: Any = _labels._words[place]
        self.before = before
        self.above: _Begun | None = None  # the span that began after this one, while this one was the label

    def end(self) -> bool:
        """The label before holds again. False: another label holds now."""
        words, place = _labels._words, self._place
        if words[place] != self.own:
            return False
        words[place] = self.before
        return True


class _BegunInTask(_Begun):
    __slots__ = ("_task",)

    def __init__(self, task: Any, before: str) -> None:
        self._task = ref(task)
        self.own = task.get_name()
        self.before = before
        self.above = None

    def end(self) -> bool:
        task = self._task()
        if task is None or task.get_name() != self.own:
            return False
        task.set_name(self.before)
        return True


class SpanProcessor:
    """A span processor of OpenTelemetry's SDK. It costs little more than a label, and does nothing unless pyreel-record records
    this program: see pyreel.label."""

    def __init__(self) -> None:
        self._open: dict[int, _Begun] = {}  # by the span's id
        self._labels: dict[Any, _Begun] = {}  # the same by the label

    def on_start(self, span: Any, parent_context: Any = None) -> None:
        if not (_labels._find_out() if _labels._watched is None else _labels._watched):
            return
        label = _labels.label(_text(span))
        if label is _labels._NO_LABEL:
            return
        task = isinstance(label, _labels._TaskLabel)
        begun = _BegunInTask(label._task, label._name) if task else _Begun(label._row.place, label._before)
        below = self._labels.get(begun.before)
        if below is not None:
            below.above = begun
        self._labels[begun.own] = self._open[span.get_span_context().span_id] = begun
        while len(self._open) > _OPEN_MOST:
            with contextlib.suppress(RuntimeError, StopIteration):  # other threads begin and end spans
                self._forget(next(iter(self._open)))

    def _forget(self, span_id: int) -> _Begun | None:
        begun = self._open.pop(span_id, None)
        if begun is not None:
            self._labels.pop(begun.own, None)
        return begun

    def _on_ending(self, span: Any) -> None:
        pass

    def on_end(self, span: Any) -> None:
        """The label before holds again, on whatever thread the span ends. Spans may end in any order."""
        begun = self._forget(span.get_span_context().span_id)
        if begun is None or begun.end() or begun.above is None:
            return
        begun.above.before = begun.before  # the span above ends later: this one does not come back then
        below = self._labels.get(begun.before)
        if below is not None:
            below.above = begun.above

    def shutdown(self) -> None:
        self._open.clear()
        self._labels.clear()

    def force_flush(self, timeout_millis: int = 30000) -> bool:
        return True
