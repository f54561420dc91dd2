"""What a tested network does right and wrong, class by class, from what the step `test` stored.

result.models["model-1"].diagnostics.confusion
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np

from .arrays import Bools, Ints
from .classification import (
    Bin,
    ClassFigures,
    balanced_accuracy,
    calibration_error,
    class_figures,
    confusion_matrix,
    macro_f1,
    reliability,
)
from .errors import RunError, UnknownNameError
from .runs.directory import read_settings
from .runs.files import PREDICTIONS, SETTINGS
from .runs.predictions import Prediction, Shares, class_names, read_predictions
from .text import columns

SHOWN_CLASSES = 30  # in a table for people; of more, the worst
SHOWN_PAIRS = 10  # of classes that are confused


@dataclass(frozen=True)
class Mistake:
    """A test image that was taken for another class.

    Args:
        image: Its number in the test split, from 0.
        label: Its class.
        predicted: The class that it was taken for.
        confidence: The probability of that class, in percent.
    """

    image: int
    label: str
    predicted: str
    confidence: float


@dataclass(frozen=True)
class Confusion:
    """How many images of a class are taken for another one, and their share of the class in percent."""

    label: str
    predicted: str
    images: int
    share: float


@dataclass(frozen=True, eq=False)
class Diagnostics:
    """How a network did on the test images. All shares are in percent.

    Args:
        name: Of the network.
        classes: Names of the classes.
        labels: The class of each test image.
        prediction: What the network says of it.
    """

    name: str
    classes: tuple[str, ...]
    labels: Ints
    prediction: Prediction

    @property
    def predicted(self) -> Ints:
        """The predicted class of each test image."""
        return self.prediction.predicted

    @property
    def confidence(self) -> Shares:
        """The probability of that class, from 0 to 1."""
        return self.prediction.confidence

    @cached_property
    def right(self) -> Bools:
        """Which test images are classified correctly."""
        right: Bools = self.predicted == self.labels
        return right

    @cached_property
    def confusion(self) -> Ints:
        """Numbers of images: classes x predicted classes."""
        return confusion_matrix(self.labels, self.predicted, len(self.classes))

    @cached_property
    def figures(self) -> ClassFigures:
        """Support, precision, recall and F1 as arrays, in the order of the classes."""
        return class_figures(self.labels, self.predicted, len(self.classes))

    @property
    def per_class(self) -> list[dict[str, Any]]:
        """A record of each class; None for what cannot be said, such as the precision of a class never predicted."""
        f = self.figures
        return [
            {
                "class": name,
                "support": int(f.support[i]),
                "precision": _known(f.precision[i]),
                "recall": _known(f.recall[i]),
                "f1": _known(f.f1[i]),
            }
            for i, name in enumerate(self.classes)
        ]

    @property
    def accuracy(self) -> float:
        """The share of test images that are classified correctly."""
        return 100 * float(self.right.mean())

    @property
    def f1(self) -> float:
        """The mean F1 over classes."""
        return macro_f1(self.figures)

    @property
    def balanced_accuracy(self) -> float:
        """The mean recall over classes."""
        return balanced_accuracy(self.figures)

    @property
    def temperature(self) -> float | None:
        """What logits are divided by for calibrated probabilities; None if it was not fitted."""
        return self.prediction.temperature

    def reliability(self, *, calibrated: bool = False) -> list[Bin]:
        """Accuracy by confidence.

        Args:
            calibrated: Whether confidences are taken at the temperature.

        Returns:
            Ten ranges of confidence. Without a temperature, calibrated ones are refused.
        """
        if not calibrated:
            return reliability(self.confidence, self.right)
        if self.prediction.calibrated is None:
            raise RunError(f"no temperature was fitted for {self.name}: it is not handed over, or no images were left")
        return reliability(self.prediction.calibrated, self.right)

    @property
    def calibration_error(self) -> float:
        """The expected calibration error, in points."""
        return calibration_error(self.reliability())

    @property
    def calibrated_error(self) -> float | None:
        """The same at the temperature; None if there is none."""
        return None if self.temperature is None else calibration_error(self.reliability(calibrated=True))

    def mistakes(self, n: int | None = None) -> list[Mistake]:
        """The surest mistakes first.

        Args:
            n: How many; all by default.

        Returns:
            At most so many.
        """
        return [self._mistake(i) for i in surest_mistakes(self.labels, self.prediction, n)]

    def _mistake(self, i: int) -> Mistake:
        label, predicted = self.classes[self.labels[i]], self.classes[self.predicted[i]]
        return Mistake(i, label, predicted, 100 * float(self.confidence[i]))

    def confused(self, n: int | None = None) -> list[Confusion]:
        """Pairs of classes that are confused, the most frequent first.

        Args:
            n: How many; all by default.

        Returns:
            At most so many.
        """
        wrong, classes = ~self.right, len(self.classes)
        cells, counts = np.unique(self.labels[wrong] * classes + self.predicted[wrong], return_counts=True)
        order = sorted(range(len(cells)), key=lambda k: (-counts[k], cells[k]))[:n]
        pairs = [(int(cells[k]) // classes, int(cells[k]) % classes, int(counts[k])) for k in order]
        support = self.figures.support
        return [Confusion(self.classes[a], self.classes[b], c, 100 * c / int(support[a])) for a, b, c in pairs]

    def lines(self) -> list[str]:
        """A summary for the terminal; names of classes are data, and may not command it."""
        return ["".join(c if c.isprintable() else "?" for c in line) for line in self._lines()]

    def _lines(self) -> Iterator[str]:
        temperature = self.calibrated_error
        calibrated = "" if temperature is None else f", {temperature:.1f} at temperature {self.temperature:.3g}"
        yield (
            f"{self.name} on {len(self.labels):,} test images: accuracy {self.accuracy:.2f} %, "
            f"balanced accuracy {self.balanced_accuracy:.2f} %, macro F1 {self.f1:.2f} %"
        )
        yield f"expected calibration error {self.calibration_error:.1f} points{calibrated}"
        yield ""
        records = sorted(self.per_class, key=lambda r: (r["f1"] is None, r["f1"]))
        shown = records[:SHOWN_CLASSES]
        heads = ["images", "precision", "recall", "F1", "class"]
        rows = [[f"{r['support']:,}", *map(_shown, _shares(r)), r["class"]] for r in shown]
        yield from columns([heads, *rows])
        if len(records) > len(shown):
            yield f"... and {len(records) - len(shown)} classes with a higher F1"
        pairs = self.confused(SHOWN_PAIRS)
        if pairs:
            yield ""
            yield "most often confused:"
            yield from (f"  {c.label} taken for {c.predicted}: {c.images:,} ({c.share:.0f} %)" for c in pairs)

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def to_json(self) -> dict[str, Any]:
        """Plain records: figures, those of each class, calibration, and the pairs of classes that are confused."""
        return {
            "network": self.name,
            "images": len(self.labels),
            **{k: _known(getattr(self, k)) for k in ("accuracy", "balanced_accuracy", "f1", "calibration_error")},
            "calibrated_error": self.calibrated_error,
            "temperature": self.temperature,
            "per_class": self.per_class,
            "confused": [asdict(c) for c in self.confused()],
            "reliability": [{k: _known(v) for k, v in asdict(b).items()} for b in self.reliability()],
        }


def surest_mistakes(labels: Ints, prediction: Prediction, n: int | None = None) -> list[int]:
    """Numbers of the images that are classified wrongly, those with the highest confidence first."""
    wrong = np.flatnonzero(prediction.predicted != labels)
    order = np.argsort(-prediction.confidence[wrong], kind="stable")[:n]
    return [int(i) for i in wrong[order]]


class AllDiagnostics(dict[str, Diagnostics]):
    """Diagnostics by the network's name; the error for an unknown name lists those that exist."""

    def __missing__(self, name: str) -> Diagnostics:
        raise UnknownNameError("tested network", name, self)


def read_diagnostics(run: str | Path) -> AllDiagnostics:
    """Diagnostics of all networks that a run tested, by name; none if it has tested none yet."""
    path = Path(run)
    return diagnostics_of(path, read_settings(path))


def network_diagnostics(run: str | Path, name: str) -> Diagnostics:
    """Diagnostics of one network; a run without any is refused."""
    found = read_diagnostics(run)
    if not found:
        raise RunError(f"{run} has no diagnostics: the step `test` writes {PREDICTIONS}, and that file is not there")
    return found[name]


def diagnostics_of(path: Path, settings: Mapping[str, Any]) -> AllDiagnostics:
    """The same, with the run's settings at hand."""
    if not (path / PREDICTIONS).exists():
        return AllDiagnostics()
    classes = class_names(settings, path / SETTINGS)
    found = read_predictions(path, len(classes))
    if found is None:
        return AllDiagnostics()
    return AllDiagnostics({name: Diagnostics(name, classes, found.labels, p) for name, p in found.networks.items()})


def _known(value: float) -> float | None:
    return float(value) if isfinite(value) else None


def _shares(record: Mapping[str, Any]) -> list[float | None]:
    return [record["precision"], record["recall"], record["f1"]]


def _shown(value: float | None) -> str:
    return "-" if value is None else f"{value:.1f} %"
