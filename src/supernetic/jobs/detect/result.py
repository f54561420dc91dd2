"""The plan and the result of `detect`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...errors import RunError
from ...objective import show_quantity
from ...result import Result
from ...runs.directory import read_records
from ...runs.files import DETECT, DETECTOR, EXPORTED, REPORT, TIMINGS
from ...text import duration


@dataclass(frozen=True)
class DetectPlan(Result):
    """What a detection job will do."""

    head: tuple[str, ...]
    steps: int = 0  # 0: as many as the minutes allow
    limit: float = 0.0  # seconds for everything; 0: none
    spent: float = 0.0  # seconds until the first step

    def to_settings(self) -> dict[str, Any]:
        """A table for `run.toml`."""
        return {"steps": self.steps, "limit": self.limit, "spent": round(self.spent, 2)}

    def lines(self) -> list[str]:
        """A summary for people."""
        length = f"{self.steps:,} steps" if self.steps else f"as long as {duration(self.limit)} allow"
        return [*self.head, f"train for {length}, then validate, test and export"]


@dataclass(frozen=True)
class DetectResult(Result):
    """What came of a detection job, or what would be done: a dry run has no directory."""

    data: str
    backbone: str
    run: str | None
    page: str | None
    detector: str | None  # the directory for `predict`
    classes: tuple[str, ...]
    steps: int
    threshold: float | None
    valid: dict[str, float | None]  # COCO's metrics
    test: dict[str, float | None]
    by_class: dict[str, dict[str, float | None]]  # on test images
    macs: dict[str, int]  # of the body, the pyramid, the heads, and in all
    params: int
    onnx: str  # why there is no ONNX file; empty if there is one
    seconds: float
    notes: tuple[str, ...]
    planned: tuple[str, ...] = ()

    def lines(self) -> list[str]:
        """A summary for people."""
        if self.run is None:
            return [*self.planned, "dry run: nothing was written"]
        width = max(map(len, self.classes))
        rows = [
            f"  {name:{width}}  AP {_shown(c['ap'])}  AP50 {_shown(c['ap50'])}" for name, c in self.by_class.items()
        ]
        return [
            f"{self.backbone} finds {', '.join(self.classes)} in {self.data}: {self.steps:,} steps, "
            f"{show_quantity(self.macs['all'])} MACs, {show_quantity(self.params)} parameters",
            f"test images: AP {_shown(self.test['ap'])}, AP50 {_shown(self.test['ap50'])}, AP75 "
            f"{_shown(self.test['ap75'])}; validation images: AP {_shown(self.valid['ap'])}, AP50 "
            f"{_shown(self.valid['ap50'])}",
            *rows,
            *(f"note: {n}" for n in self.notes),
            *([f"note: there is no ONNX file: {self.onnx}"] if self.onnx else []),
            f"it took {duration(self.seconds)}; the page is {self.page}; find boxes with: supernetic predict "
            f"{self.detector} IMAGES",
        ]


def _shown(value: float | None) -> str:
    return "unknown" if value is None else f"{value:.3f}"


def read_result(path: Path) -> DetectResult:
    """Read the result of a finished run; one that is not finished is refused."""
    try:
        record: Mapping[str, Any] = json.loads((path / DETECT).read_text(encoding="utf-8"))
        exported = json.loads((path / EXPORTED).read_text(encoding="utf-8"))
        return DetectResult(
            data=record["data"]["name"],
            backbone=record["backbone"]["name"],
            run=str(path),
            page=str(path / REPORT),
            detector=str(path / DETECTOR),
            classes=tuple(record["data"]["classes"]),
            steps=record["steps"],
            threshold=record["threshold"],
            valid=record["valid"],
            test=record["test"],
            by_class=record["by_class"],
            macs=record["macs"],
            params=record["params"],
            onnx=exported["onnx"].get("missing", ""),
            seconds=sum(r["seconds"] for r in read_records(path / TIMINGS) if r["task"] != "updates"),
            notes=tuple(record["notes"]),
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise RunError(f"{path} is not finished: {error}; `supernetic resume {path}` goes on") from None
