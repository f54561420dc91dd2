"""The models in 8-bit integers, for the page: what they lose, and what they save."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...objective import show_quantity
from ...ranking.int8 import IMAGES, loses_much, warning
from ...runs.view import Model, RunView
from ..summary_text import SPACE, UNKNOWN, interval, percent, points, show

HEAD = ("model", "float", "int8", "difference, points", "95 % interval", "latency, float", "latency, int8", "size")


def int8(run: RunView) -> dict[str, Any]:
    """A table of the quantised models, what it was measured on, and warnings."""
    models = [m for m in run.chosen if m.int8]
    if not models:
        return {}
    split = next((s for s in IMAGES if any(f"{s}/accuracy" in m.int8 for m in models)), "test")
    return {
        "int8_head": HEAD,
        "int8_rows": [_row(m, split) for m in models],
        "int8_images": IMAGES[split],
        "int8_warnings": [warning(m.name, m.int8) for m in models if loses_much(m.int8)],
    }


def _row(model: Model, split: str) -> list[str]:
    facts: Mapping[str, float] = model.int8
    accuracy, lost = facts.get(f"{split}/accuracy"), facts.get(f"{split}/difference")
    low, high = facts.get(f"{split}/low"), facts.get(f"{split}/high")
    size, float_size = facts.get("bytes"), facts.get("float_bytes")
    return [
        model.name,
        percent(None if accuracy is None or lost is None else accuracy - lost),
        percent(accuracy),
        UNKNOWN if lost is None else points(lost),
        UNKNOWN if low is None or high is None else _unbroken(interval(low, high)),
        show("latency/ms", facts.get("latency/float_ms")),
        show("latency/ms", facts.get("latency/ms")),
        UNKNOWN
        if size is None or not float_size
        else _unbroken(f"{show_quantity(size)}B of {show_quantity(float_size)}B"),
    ]


def _unbroken(text: str) -> str:
    return text.replace(" ", SPACE)
