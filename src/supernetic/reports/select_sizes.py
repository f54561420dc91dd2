"""Model-size curves: the members of one family against their parameters, a line for each number of images.

Paper: "Small Data, Big Decisions", section 1: whether larger models are worse on little data, and whether
calibration changes that.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import nan
from typing import Any

from ..objective import show_quantity
from .series_plots import Plot, Series, categories, style_of

MIN_MEMBERS = 2  # of a family that has a curve


@dataclass(frozen=True)
class SizeCurves:
    """Of one family: names by parameters, and a plot per metric."""

    family: str
    members: tuple[str, ...]
    plots: tuple[Plot, ...]


def size_curves(record: Mapping[str, Any], labels: Mapping[str, str]) -> list[SizeCurves]:
    """The curves of all families that have several members.

    Args:
        record: The content of `select.json`.
        labels: The label of each metric.

    Returns:
        The curves, family by family.
    """
    families: dict[str, list[str]] = {}
    for model in record["profiles"]:
        families.setdefault(family_of(model), []).append(model)
    return [_curves(record, f, m, labels) for f, m in families.items() if len(m) >= MIN_MEMBERS]


def family_of(model: str) -> str:
    """What stands before a model's settings: `mlp` of `mlp:width=64`; a model of a space or a file is its own."""
    return model if "/" in model or ".py" in model else model.partition(":")[0]


def _curves(record: Mapping[str, Any], family: str, models: list[str], labels: Mapping[str, str]) -> SizeCurves:
    members = sorted(models, key=lambda m: int(record["costs"][m][1]))
    places = [show_quantity(record["costs"][m][1]) for m in members]
    plots = []
    for metric, label in labels.items():
        series = []
        for k, n in enumerate(record["sizes"]):
            of = [record["profiles"][m][metric] for m in members]
            sds = [nan if p["sd"][k] is None else p["sd"][k] for p in of]
            series.append(Series(f"{n:,} images", style_of(k), [p["mean"][k] for p in of], sds))
        plots.append(Plot(f"{label}, against parameters", categories(series, places, label, zero=False)))
    return SizeCurves(family, tuple(members), tuple(plots))
