"""The page of a detection job: how good the detector is, class by class, and what it finds in test images."""

from __future__ import annotations

import json
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any

from ..errors import RunError
from ..objective import show_quantity
from ..runs.directory import read_records, read_settings
from ..runs.files import DETECT, DETECTOR, METRICS, REPORT, SHOWN_IMAGES
from . import svg as plots
from .rendering import fill, flat, write_page
from .series_plots import style_of

Record = dict[str, Any]
METRIC_NAMES = {
    "ap": "AP (mean over overlaps of .50 to .95)",
    "ap50": "AP50 (overlap of at least one half)",
    "ap75": "AP75",
    "ap_small": "AP of boxes below 32 x 32 pixels",
    "ap_medium": "AP of boxes up to 96 x 96",
    "ap_large": "AP of larger boxes",
    "ar100": "recall with up to 100 boxes (mean over overlaps)",
}
WORST = 4  # images at the end of those shown that have most mistakes
PARTS = {"body": "backbone", "pyramid": "feature pyramid", "heads": "heads", "all": "all"}
FILES = {DETECT: "all numbers", DETECTOR: "the detector, for supernetic predict"}


def write_detect(run: str | Path) -> Path:
    """Write `report.html` of a detection job, finished or not, from its files alone.

    Args:
        run: The run directory.

    Returns:
        The page.
    """
    path = Path(run)
    settings = read_settings(path)
    record = _json(path / DETECT) or {}
    shown = _json(path / SHOWN_IMAGES) or []
    try:
        values = page(settings, record, shown, read_records(path / METRICS), path.resolve().name)
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        raise RunError(f"{path} cannot be reported: {type(error).__name__}: {error}") from None
    file = path / REPORT
    write_page(file, fill("detect.html.j2", values))
    return file


def _json(file: Path) -> Any:
    if not file.exists():
        return None
    try:
        return json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise RunError(f"{file} cannot be read: {error}") from None


def page(settings: Record, record: Record, shown: Sequence[Record], metrics: Sequence[Record], place: str) -> Record:
    """All that the template shows."""
    data, classes = settings["data"], settings["data"]["classes"]
    return {
        "title": f"Objects in {data['name']}",
        "place": place,
        "answer": _answer(settings, record),
        "lead": _lead(settings),
        "notes": record.get("notes", []),
        "legend": [(style_of(i), name) for i, name in enumerate(classes)],
        "metrics": _metrics(record),
        "by_class": _by_class(record),
        "pictures": [_picture(p, classes) for p in shown],
        "threshold": record.get("threshold"),
        "worst": len(shown) - WORST,
        "curve": _curve(metrics),
        "costs": _costs(record),
        "cuts": record.get("backbone", {}).get("cuts", []),
        "settings": list(flat({k: settings[k] for k in ("image_size", "channels", "seed", "recipe")})),
        "anchors": _anchors(record),
        "files": list(FILES.items()) if record else [],
    }


def _answer(settings: Record, record: Record) -> str:
    name = settings["backbone"]["name"]
    if not record:
        return f"A RetinaNet on {name} is being trained."
    half, whole = record["test"]["ap50"], record["test"]["ap"]
    if half is None or whole is None:
        return f"A RetinaNet on {name} was trained; the test images have no boxes to measure it by."
    return f"A RetinaNet on {name} reaches AP50 {half:.3f} and AP {whole:.3f} on the test images."


def _lead(settings: Record) -> str:
    images, boxes = settings["data"]["images"], settings["data"]["boxes"]
    kind = "weights that were learnt before" if settings["backbone"]["pretrained"] else "fresh weights"
    return (
        f"The backbone began with {kind}. {images['train']:,} images with {boxes['train']:,} boxes trained it, "
        f"{images['valid']:,} validated it, and the {images['test']:,} test images were used once, at the end."
    )


def _metrics(record: Record) -> list[tuple[str, str, str]]:
    if not record:
        return []
    return [(name, _number(record["test"][k]), _number(record["valid"][k])) for k, name in METRIC_NAMES.items()]


def _by_class(record: Record) -> list[tuple[str, str, str, str]]:
    found = record.get("by_class", {}).items()
    return [(name, _number(c["ap50"]), _number(c["ap"]), f"{round(c['boxes']):,}") for name, c in found]


def _number(value: float | None) -> str:
    return "no boxes" if value is None else f"{value:.3f}"


def _costs(record: Record) -> list[tuple[str, str]]:
    if not record:
        return []
    rows = [(f"MACs, {name}", show_quantity(record["macs"][k])) for k, name in PARTS.items()]
    return [*rows, ("parameters", show_quantity(record["params"]))]


def _anchors(record: Record) -> str:
    if not record:
        return ""
    sizes = "; ".join(" and ".join(f"{v:g}" for v in level) for level in record["anchors"]["sizes"])
    ratios = ", ".join(f"{v:g}" for v in record["anchors"]["ratios"])
    return f"Anchors, fitted to the training boxes: {sizes} pixels by level; heights over widths {ratios}."


def _curve(metrics: Sequence[Record]) -> str:
    if len(metrics) < 2:
        return ""
    steps = [int(m["step"]) for m in metrics]
    series = [
        plots.Line("classes", steps, [float(m["classes"]) for m in metrics], "first"),
        plots.Line("boxes", steps, [float(m["boxes"]) for m in metrics], "second"),
    ]
    return plots.lines(series, "step", "training loss", "training loss of classes and boxes")


def _picture(picture: Record, classes: Sequence[str]) -> tuple[str, str]:
    """A test image with its boxes as SVG, and the words under it. Every text and number is checked or escaped."""
    width, height = int(picture["width"]), int(picture["height"])
    jpeg = str(picture["jpeg"])
    if not jpeg.replace("+", "").replace("/", "").rstrip("=").isalnum():
        raise ValueError("an image must be base64")
    unit = max(width, height) / 320
    marks = [_rect(b, "missed", f"missed: {classes[b['label']]}", unit) for b in picture["missed"]]
    for b in picture["found"]:
        verdict = "" if b["right"] else ", wrong"
        style = f"{style_of(b['label'])}{'' if b['right'] else ' wrong'}"
        marks.append(_rect(b, style, f"{classes[b['label']]}, score {float(b['score']):.2f}{verdict}", unit))
    right = sum(bool(b["right"]) for b in picture["found"])
    wrong, missed = len(picture["found"]) - right, len(picture["missed"])
    svg = (
        f'<svg class="photo" viewBox="0 0 {width} {height}" role="img" aria-label="{escape(str(picture["name"]))}">'
        f'<image width="{width}" height="{height}" href="data:image/jpeg;base64,{jpeg}"/>{"".join(marks)}</svg>'
    )
    return svg, f"{picture['name']}: {right} right, {wrong} wrong, {missed} missed"


def _rect(box: Record, style: str, tip: str, unit: float) -> str:
    left, top, right, bottom = map(float, box["box"])
    return (
        f'<rect class="box {style}" x="{left:g}" y="{top:g}" width="{max(0.0, right - left):g}" '
        f'height="{max(0.0, bottom - top):g}" stroke-width="{2 * unit:g}" tabindex="0" data-tip="{escape(tip)}"/>'
    )
