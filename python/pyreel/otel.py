# SPDX-License-Identifier: MIT
"""Gives samples their trace and span, in programs that use OpenTelemetry's SDK:

    from opentelemetry import trace
    import pyreel.otel

    trace.get_tracer_provider().add_span_processor(pyreel.otel.SpanProcessor())

While a span is current, it is the label of its thread or asyncio task (pyreel.label), with its ids behind its name. All outputs
show the name as a label, and `--span TRACE` keeps the samples of one request. Of asyncio tasks, recordings with `--async running` know it.
"""

import threading
from typing import Any

from . import _labels

__all__ = ["SpanProcessor"]

_NAME_BYTES = _labels.TEXT_BYTES - 56  # of a label, which ends in " 00-TRACE-SPAN-FLAGS"


def _text(span: Any) -> str:
    context = span.get_span_context()
    name = span.name.encode("utf-8", "replace")[:_NAME_BYTES].decode("utf-8", "ignore")
    return f"{name or 'span'} 00-{context.trace_id:032x}-{context.span_id:016x}-{context.trace_flags & 255:02x}"


class SpanProcessor:
    """A span processor of OpenTelemetry's SDK. It costs what a label costs, and does nothing unless pyreel-record records this
    program: see pyreel.label."""

    def __init__(self) -> None:
        self._open: dict[int, tuple[_labels.Label, int]] = {}  # by the span's id: its label, and the thread that began it

    def on_start(self, span: Any, parent_context: Any = None) -> None:
        if not (_labels._find_out() if _labels._watched is None else _labels._watched):
            return
        self._open[span.get_span_context().span_id] = _labels.label(_text(span)), threading.get_ident()

    def _on_ending(self, span: Any) -> None:
        pass

    def on_end(self, span: Any) -> None:
        """The label before holds again. A span that ends on another thread than it began leaves the labels of both alone."""
        label, thread = self._open.pop(span.get_span_context().span_id, (None, 0))
        if label is not None and thread == threading.get_ident():
            label.__exit__(None, None, None)

    def shutdown(self) -> None:
        self._open.clear()

    def force_flush(self, timeout_millis: int = 30000) -> bool:
        return True
