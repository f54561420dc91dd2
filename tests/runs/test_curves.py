from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from supernetic.runs.curves import training_curve


def training(run: Path, key: str, records: list[dict[str, Any]], accuracy: float | None) -> None:
    path = run / "networks" / key
    path.mkdir(parents=True)
    (path / "metrics.jsonl").write_text("".join(json.dumps(r) + "\n" for r in records))
    (path / "result.json").write_text(json.dumps({"metrics": {"valid/accuracy": accuracy}}))


def test_a_curve_spans_all_rounds(tmp_path: Path) -> None:
    first = [
        {"task": "network", "step": 5, "loss": 2.0, "lr": 0.1},
        {"task": "network", "step": 7, "valid/accuracy": 30.0, "valid/images": 200},
        {"task": "network", "step": 10, "loss": 1.5, "lr": 0.1},
    ]
    second = [{"task": "network", "step": s, "loss": 1.0 / s, "lr": 0.1} for s in (10, 20)]
    second.insert(1, {"task": "network", "step": 13, "valid/accuracy": 50.0, "valid/images": 150})
    training(tmp_path, "one", first, 40.0)
    training(tmp_path, "two", second, 60.0)
    curve = training_curve(tmp_path, ("one", "two"))
    assert curve.losses == ((5, 2.0), (10, 1.5), (20, 0.1), (30, 0.05))
    assert curve.accuracies == ((7, 30.0), (10, 40.0), (23, 50.0), (30, 60.0))
    assert curve.ends == (10, 30)
    assert curve.images == 150


def test_what_is_missing_or_no_number_is_left_out(tmp_path: Path) -> None:
    records: list[dict[str, Any]] = [
        {"step": "x", "loss": 1.0},
        {"step": 4, "loss": None},
        {"step": 8, "valid/accuracy": True},
    ]
    training(tmp_path, "odd", records, None)
    curve = training_curve(tmp_path, ("odd", "gone"))
    assert (curve.losses, curve.accuracies, curve.ends, curve.images) == ((), (), (8, 8), 0)
