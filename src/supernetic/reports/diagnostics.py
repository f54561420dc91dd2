"""What tested networks get right and wrong, for the page: figures, confusions, calibration, mistakes, curves.

Everything comes from files of the run. Texts are escaped by the template; numbers and SVG are made here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from math import isfinite, sqrt
from pathlib import Path
from typing import Any

from .. import metrics
from ..classification import Bin
from ..diagnostics import Confusion, Diagnostics, diagnostics_of
from ..runs.curves import TrainingCurve, training_curve
from ..runs.predictions import read_mistakes
from ..runs.records import NetworkRecord
from ..runs.view import RunView
from . import svg as plots

MATRIX_CLASSES = 30  # of which a matrix is drawn; of more, pairs are listed
LISTED_PAIRS = 12  # of classes that are confused
LISTED_CLASSES = 12  # that are shown at once; all others are folded
GALLERY = 24  # mistakes of a model
MOST_SHADE = 85  # percent of the full colour, so that numbers stay readable
CURVE_POINTS = 200  # points of a curve that are drawn, at most
FEW_IMAGES = 10  # of a bar, below which it says little
SIDE = 340  # of the reliability diagram

Row = list[str]


@dataclass(frozen=True)
class Cell:
    """A cell of a confusion matrix: its number, how strongly it is coloured in percent, and what it says."""

    text: str
    shade: int
    right: bool
    tip: str


@dataclass(frozen=True)
class Picture:
    """A mistake in the gallery."""

    png: str
    label: str
    predicted: str
    confidence: str


@dataclass(frozen=True)
class NetworkPage:
    """What the page shows of one network; what there is not is empty."""

    name: str
    chosen: bool
    recommended: bool
    facts: list[tuple[str, str]]
    classes: tuple[str, ...]
    matrix: list[tuple[str, list[Cell]]]
    pairs: list[Confusion]
    rows: list[Row]  # the classes with the lowest F1 first
    more_rows: list[Row]
    reliability: str
    calibration: str
    gallery: list[Picture]
    mistakes: int
    curves: list[tuple[str, str]]


def network_pages(path: Path, settings: Mapping[str, Any], networks: Sequence[NetworkRecord]) -> list[NetworkPage]:
    """What the page shows of each tested network.

    Args:
        path: The run directory.
        settings: Its settings, which name the classes.
        networks: Its records.

    Returns:
        The recommended model first, then the others that are handed over, then the rest; empty before the test.
    """
    found = diagnostics_of(path, settings)
    pictures = read_mistakes(path) if found else {}
    tested = sorted((n for n in networks if n.name in found), key=lambda n: (not n.recommended, not n.chosen))
    return [_page(path, n, found[n.name], pictures if n.chosen else {}) for n in tested]


def deciding_columns(run: RunView) -> dict[str, list[str]]:
    """Columns of the table of models for the metric that decides, if it is not accuracy."""
    decides = run.trust.get("decides")
    if not isinstance(decides, str):
        return {}
    tested = decides.replace("valid/", "test/")
    return {
        metrics.label(decides): [_percent(m.trained.get(decides)) for m in run.models],
        metrics.label(tested): [_percent(m.test.get(tested)) for m in run.models],
    }


def _page(path: Path, record: NetworkRecord, d: Diagnostics, pictures: Mapping[int, str]) -> NetworkPage:
    small = len(d.classes) <= MATRIX_CLASSES
    rows = _rows(d)
    shown = [m for m in d.mistakes(GALLERY) if m.image in pictures]
    return NetworkPage(
        name=record.name,
        chosen=record.chosen,
        recommended=bool(record.recommended),
        facts=_facts(d),
        classes=d.classes,
        matrix=_matrix(d) if small and record.chosen else [],
        pairs=d.confused(LISTED_PAIRS),
        rows=rows[:LISTED_CLASSES],
        more_rows=rows[LISTED_CLASSES:],
        reliability=_diagram(d) if record.chosen else "",
        calibration=_calibration(d),
        gallery=[
            Picture(pictures[m.image], m.label, m.predicted, f"{m.confidence:.0f}\N{NO-BREAK SPACE}%") for m in shown
        ],
        mistakes=int((~d.right).sum()),
        curves=_curves(training_curve(path, record.trainings)) if record.chosen else [],
    )


def _facts(d: Diagnostics) -> list[tuple[str, str]]:
    return [
        ("accuracy", f"{d.accuracy:.2f} %"),
        ("balanced accuracy", f"{d.balanced_accuracy:.2f} %"),
        ("macro F1", f"{d.f1:.2f} %"),
        ("calibration error", f"{d.calibration_error:.1f} points"),
    ]


# --- classes ----------------------------------------------------------------------------------------------------------


def _matrix(d: Diagnostics) -> list[tuple[str, list[Cell]]]:
    """A row of cells for every class; colours are shares of the row, stretched for mistakes, most of which are few."""
    confusion = d.confusion
    rows = []
    for i, label in enumerate(d.classes):
        total = int(confusion[i].sum())
        cells = []
        for j, predicted in enumerate(d.classes):
            n = int(confusion[i, j])
            share = n / total if total else 0.0
            shade = round(MOST_SHADE * (share if i == j else sqrt(share)))
            what = "recognised" if i == j else f"taken for {predicted}"
            tip = f"{label}, {what}\n{n:,} of {total:,} ({100 * share:.0f} %)" if n else ""
            cells.append(Cell(f"{n}" if n else "", shade, i == j, tip))
        rows.append((label, cells))
    return rows


def _rows(d: Diagnostics) -> list[Row]:
    """Class, images, precision, recall and F1, the lowest F1 first; classes without images last."""
    records = sorted(d.per_class, key=lambda r: (r["f1"] is None, r["f1"]))
    return [
        [r["class"], f"{r['support']:,}", *(_percent(r[k]) for k in ("precision", "recall", "f1"))] for r in records
    ]


def _percent(value: float | None) -> str:
    return "-" if value is None else f"{value:.1f} %"


# --- calibration ------------------------------------------------------------------------------------------------------


def _calibration(d: Diagnostics) -> str:
    mean = 100 * float(d.confidence.mean())
    much = "more" if mean > d.accuracy else "less"
    text = (
        f"Mean confidence is {mean:.1f} %, accuracy {d.accuracy:.1f} %: the network is {much} sure than it should be. "
        f"The expected calibration error is {d.calibration_error:.1f} points"
    )
    if d.calibrated_error is None:
        return f"{text}."
    return (
        f"{text}, and {d.calibrated_error:.1f} if logits are divided by the temperature {d.temperature:.3g}, which was "
        "fitted on other images."
    )


def _diagram(d: Diagnostics) -> str:
    """Accuracy by confidence: bars; at the temperature: a line; the diagonal is perfect calibration."""
    scale = plots.Axis("confidence, %", 0, 100, (0, 20, 40, 60, 80, 100), plots.plain)
    up = plots.Axis("accuracy, %", 0, 100, (0, 20, 40, 60, 80, 100), plots.plain)
    frame = plots.Frame(scale, up, width=SIDE, height=SIDE)
    bars = "".join(_bar(frame, b) for b in d.reliability() if b.images)
    diagonal = (
        f'<line class="zero" x1="{frame.px(0):g}" y1="{frame.py(0):g}" x2="{frame.px(100):g}" y2="{frame.py(100):g}"/>'
    )
    line = ""
    if d.temperature is not None:
        known = [b for b in d.reliability(calibrated=True) if b.images]
        series = plots.Line("at the temperature", [b.confidence for b in known], [b.accuracy for b in known], "warm")
        line = plots.line(frame, series, "confidence", "accuracy")
    return frame.svg(bars + diagonal + line, f"accuracy by confidence of {d.name}")


def _bar(frame: plots.Frame, b: Bin) -> str:
    left, right, top = frame.px(b.low), frame.px(b.high), frame.py(b.accuracy)
    tip = f"{b.images:,} images, confidence {b.low:.0f} to {b.high:.0f} %\n{b.accuracy:.1f} % right"
    style = "bar few" if b.images < FEW_IMAGES else "bar"
    return (
        f'<rect class="{style}" x="{left + 1:g}" width="{right - left - 2:g}" y="{top:g}" '
        f'height="{max(0.5, frame.py(0) - top):g}" data-tip="{escape(tip)}"/>'
    )


# --- curves -----------------------------------------------------------------------------------------------------------


def _curves(curve: TrainingCurve) -> list[tuple[str, str]]:
    """(caption, plot) of validation accuracy and training loss over all rounds."""
    found = []
    rounds = " Dashed lines mark where one training ended and the next began." if len(curve.ends) > 1 else ""
    if len(curve.accuracies) > 1:
        part = f" on {curve.images:,} images or more on the way, on all at the end" if curve.images else ""
        found.append((f"Validation accuracy{part}.{rounds}", _plot(curve.accuracies, curve.ends, "accuracy, %")))
    if len(curve.losses) > 1:
        found.append((f"Training loss.{rounds}", _plot(curve.losses, curve.ends, "training loss")))
    return found


def _plot(points: Sequence[tuple[int, float]], ends: Sequence[int], label: str) -> str:
    every = -(-len(points) // CURVE_POINTS)
    kept = [p for i, p in enumerate(points) if (i % every == 0 or i == len(points) - 1) and isfinite(p[1])]
    xs, ys = [x for x, _ in kept], [y for _, y in kept]
    frame = plots.Frame(
        plots.axis([0, *xs], "step", n=4, pad=0.02), plots.axis(ys, label, n=3, pad=0.06), width=420, height=240
    )
    marks = "".join(
        f'<line class="zero" x1="{frame.px(x):g}" x2="{frame.px(x):g}" y1="{plots.TOP}" '
        f'y2="{frame.height - plots.BOTTOM}"/>'
        for x in ends[:-1]
    )
    return frame.svg(marks + plots.line(frame, plots.Line("", xs, ys, "first"), "step", label), f"{label} over steps")
