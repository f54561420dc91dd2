"""The curves of a network's training: loss and validation accuracy over all of its rounds, from the run's files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import Any

from ..numerals import LARGEST
from .directory import read_records
from .files import METRICS, NETWORK_TRAININGS, RESULT
from .records import read_json

ACCURACY, IMAGES = "valid/accuracy", "valid/images"  # of a record in the middle of a training

Points = tuple[tuple[int, float], ...]  # steps and values


@dataclass(frozen=True)
class TrainingCurve:
    """A network's training over all of its rounds; steps are counted from the first.

    Args:
        losses: Mean training losses.
        accuracies: Validation accuracies in percent: on a part of the images on the way, on all of them at the end of
            each round.
        ends: The last step of each round.
        images: The least number of validation images at a point; 0 if there is none on the way.
    """

    losses: Points
    accuracies: Points
    ends: tuple[int, ...]
    images: int = 0


def training_curve(run: Path, keys: Sequence[str]) -> TrainingCurve:
    """Read the curves of a network.

    Args:
        run: The run directory.
        keys: The directories of its trainings, in their order.

    Returns:
        The curves; those of a training that is missing are left out.
    """
    losses: list[tuple[int, float]] = []
    accuracies: list[tuple[int, float]] = []
    ends: list[int] = []
    images: list[int] = []
    for key in keys:
        before, path = ends[-1] if ends else 0, run / NETWORK_TRAININGS / key
        records = [r for r in read_records(path / METRICS) if _is_number(r.get("step"))]
        losses += [(before + int(r["step"]), float(r["loss"])) for r in records if _is_number(r.get("loss"))]
        on_the_way = [r for r in records if _is_number(r.get(ACCURACY))]
        accuracies += [(before + int(r["step"]), float(r[ACCURACY])) for r in on_the_way]
        images += [int(r[IMAGES]) for r in on_the_way if _is_number(r.get(IMAGES))]
        end = before + max((int(r["step"]) for r in records), default=0)
        accuracies += [(end, a)] if (a := _final(path / RESULT)) is not None and end > before else []
        ends.append(end)
    return TrainingCurve(tuple(losses), tuple(accuracies), tuple(ends), min(images, default=0))


def _final(file: Path) -> float | None:
    """Validation accuracy at the end of a training."""
    record = read_json(file) if file.exists() else {}
    metrics = record.get("metrics") if isinstance(record, dict) else None
    value = metrics.get(ACCURACY) if isinstance(metrics, dict) else None
    return float(value) if value is not None and _is_number(value) else None


def _is_number(value: Any) -> bool:
    known = isinstance(value, int | float) and not isinstance(value, bool)
    return known and abs(value) <= LARGEST and isfinite(value)
