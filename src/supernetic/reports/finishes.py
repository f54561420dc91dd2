"""How a model was trained after its search: the same sentence on the page, on the model card and in summaries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..ranking.trust import wilson
from ..runs.records import MetricValues, NetworkRecord

VALID, TEST = "valid/accuracy", "test/accuracy"


def finish_sentences(networks: Sequence[NetworkRecord], trust: Mapping[str, Any]) -> list[str]:
    """Say how networks were trained further after their run was finished.

    Args:
        networks: The records of a run.
        trust: The facts of `trust.json`, for the number of test images.

    Returns:
        A sentence or two for each network that was.
    """
    return [finish_sentence(n, trust.get("test_images")) for n in networks if n.finishes]


def finish_sentence(network: NetworkRecord, test_images: int | None) -> str:
    """Say how long a network was trained in all, and its accuracy before and after each finish.

    Args:
        network: Its record, with at least one finish.
        test_images: Their number, for an interval; None if it is not known.

    Returns:
        The sentences.
    """
    first = network.finishes[0].before_steps
    parts = ["the supernet's weights" if first is None else f"{first:,} steps"]
    parts += [f"{f.steps:,} more" + (f" by the recipe {f.recipe!r}" if f.recipe else "") for f in network.finishes]
    total = "" if network.steps is None else f", {network.steps:,} steps in all"
    return (
        f"After the search {network.name} was trained further: {', then '.join(parts)}{total}. "
        f"Test accuracy {_course(network, TEST)}{_interval(network, test_images)}{_gain(network)}; "
        f"validation accuracy {_course(network, VALID)}."
    )


def _course(network: NetworkRecord, metric: str) -> str:
    """The values of a metric, before each finish and now."""
    now: MetricValues = {**(network.trained or {}), **(network.test or {})}
    values = [*(f.before.get(metric) for f in network.finishes), now.get(metric)]
    return ", then ".join(f"{v:.2f} %" if v is not None else "unknown" for v in values)


def _interval(network: NetworkRecord, test_images: int | None) -> str:
    value = (network.test or {}).get(TEST)
    if value is None or not test_images:
        return ""
    low, high = wilson(value / 100, test_images)
    return f" [{100 * low:.1f}, {100 * high:.1f}]"


def _gain(network: NetworkRecord) -> str:
    """What the last finish gained on the same test images."""
    if network.finishes[-1].difference is None:
        return ""
    value, low, high = network.finishes[-1].difference
    return f" (a difference of {value:+.2f} points [{low:+.2f}, {high:+.2f}])"
