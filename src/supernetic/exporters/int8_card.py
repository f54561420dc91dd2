"""What a model card says about the file in 8-bit integers."""

from __future__ import annotations

from ..objective import show_quantity
from ..ranking.int8 import IMAGES, Facts, difference_text, loses_much, warning

UNKNOWN = "not measured"


def int8_section(facts: Facts) -> list[str]:
    """Paragraphs of Markdown about `model.int8.onnx`.

    Args:
        facts: What was measured; the keys are in `ranking.int8`.

    Returns:
        A heading, how to use it, a table of both files, and a warning if it loses much.
    """
    rows = [
        ["accuracy", *_accuracies(facts, "test")],
        ["accuracy", *_accuracies(facts, "valid")],
        ["latency", _ms(facts.get("latency/float_ms")), _ms(facts.get("latency/ms")), _times(facts), "one machine"],
        ["size", _size(facts.get("float_bytes")), _size(facts.get("bytes")), "", "the files"],
    ]
    known = [row for row in rows if UNKNOWN not in row]
    heads = ["", "`model.onnx`", "`model.int8.onnx`", "difference", "measured on"]
    table = [heads, ["---"] * len(heads), *known]
    images = facts.get("calibration/images")
    ranges = "" if images is None else f" The ranges of its activations come from {images:,.0f} training images."
    return [
        "## In 8-bit integers",
        "`model.int8.onnx` is the same network for onnxruntime, with the same input and output. Inside, weights have "
        f"7 bits and activations 8; 8-bit weights would overflow on some processors.{ranges}",
        "\n".join(f"| {' | '.join(row)} |" for row in table),
        *([f"**{warning('This model', facts)}**"] if loses_much(facts) else []),
    ]


def _accuracies(facts: Facts, split: str) -> list[str]:
    accuracy, lost = facts.get(f"{split}/accuracy"), facts.get(f"{split}/difference")
    if accuracy is None or lost is None:
        return [UNKNOWN]
    images = facts.get(f"{split}/images")
    where = IMAGES[split] if images is None else f"{images:,.0f} {IMAGES[split]}"
    return [f"{accuracy - lost:.2f} %", f"{accuracy:.2f} %", difference_text(facts, split), where]


def _ms(value: float | None) -> str:
    return UNKNOWN if value is None else f"{value:.3g} ms"


def _times(facts: Facts) -> str:
    ms, float_ms = facts.get("latency/ms"), facts.get("latency/float_ms")
    return f"{ms / float_ms:.2f} times" if ms is not None and float_ms else UNKNOWN


def _size(value: float | None) -> str:
    return UNKNOWN if value is None else f"{show_quantity(value)}B"
