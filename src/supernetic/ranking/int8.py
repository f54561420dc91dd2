"""What a model loses in 8-bit integers: facts, and sentences for the card, the report and the command's last lines.

Facts are one table of numbers. For each SPLIT, `valid` or `test`, both networks saw the same images:

    SPLIT/accuracy                 of the int8 file, in percent
    SPLIT/difference, low, high    from the float network in points, with its 95 % interval over images
    SPLIT/images                   how many there were
    latency/ms, latency/float_ms   of one image, through onnxruntime with one thread
    calibration/images             training images that the ranges of activations come from
    bytes, float_bytes             sizes of the files
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
import numpy.typing as npt

from ..objective import show_quantity
from .verdict import paired_interval

Bools = npt.NDArray[np.bool_]
Facts = Mapping[str, float | None]

LARGEST_LOSS = 1.0  # points on validation images; a model that loses more is not recommended in int8
IMAGES = {"test": "test images", "valid": "validation images"}  # the one to be spoken of first


def difference(split: str, quantised: Bools, floats: Bools) -> dict[str, float | None]:
    """Compare a quantised network with the float one over the same images.

    Args:
        split: Where the images are from.
        quantised: For each image, whether the quantised network is right.
        floats: The same for the float network.

    Returns:
        Facts about this split.
    """
    low, high = paired_interval(quantised, floats)
    return {
        f"{split}/accuracy": 100 * float(quantised.mean()),
        f"{split}/difference": 100 * float(quantised.mean() - floats.mean()),
        f"{split}/low": 100 * low,
        f"{split}/high": 100 * high,
        f"{split}/images": len(floats),
    }


def loses_much(facts: Facts) -> bool:
    """Whether a quantised network should not be used: it loses points on validation images, and not by chance."""
    lost, high = facts.get("valid/difference"), facts.get("valid/high")
    return lost is not None and lost < -LARGEST_LOSS and high is not None and high < 0


def accuracy_text(facts: Facts) -> str:
    """Such as `90.05 % of the test images right, -0.15 points [-0.42, +0.12] from float`."""
    split = next((s for s in IMAGES if facts.get(f"{s}/accuracy") is not None), "")
    if not split:
        return ""
    right = f"{facts[f'{split}/accuracy']:.2f} % of the {IMAGES[split]} right"
    return f"{right}, {difference_text(facts, split)} from float"


def difference_text(facts: Facts, split: str) -> str:
    """Such as `-0.15 points [-0.42, +0.12]`; empty if it was not measured."""
    value, low, high = (facts.get(f"{split}/{name}") for name in ("difference", "low", "high"))
    if value is None:
        return ""
    bounds = "" if low is None or high is None else f" [{low:+.2f}, {high:+.2f}]"
    return f"{value:+.2f} points{bounds}"


def int8_sentences(name: str, facts: Facts) -> list[str]:
    """Say what a model is in int8.

    Args:
        name: The model's name.
        facts: What was measured.

    Returns:
        A sentence with accuracy, latency and size against those of the float model; a warning if it loses much.
    """
    sentences = [f"{name} in int8: {', '.join(_parts(facts))}."]
    if loses_much(facts):
        sentences.append(warning(name, facts))
    return sentences


def warning(name: str, facts: Facts) -> str:
    """Advice against a quantised network that loses much."""
    lost = -(facts.get("valid/difference") or 0.0)
    return (
        f"{name} loses {lost:.2f} points on validation images in int8, more than {LARGEST_LOSS:g}: "
        "use its float files instead."
    )


def _parts(facts: Facts) -> Iterator[str]:
    if text := accuracy_text(facts):
        yield text
    ms, float_ms = facts.get("latency/ms"), facts.get("latency/float_ms")
    if ms is not None and float_ms:
        yield f"{ms:.3g} ms an image ({ms / float_ms:.2f} times float's)"
    size, float_size = facts.get("bytes"), facts.get("float_bytes")
    if size is not None and float_size:
        yield f"{show_quantity(size)}B ({size / float_size:.2f} times)"
