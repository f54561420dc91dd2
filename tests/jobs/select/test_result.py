from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from supernetic.jobs.select.job import select


def test_the_record_says_what_the_tables_say(finished: Path) -> None:
    record = json.loads((finished / "select.json").read_text())
    assert record["models"] == ["logistic", "mlp:width=8,depth=1", "convnet:width=2,depth=1"]
    assert (record["sizes"], record["seeds"]) == ([40, 80, 160, 320], [2, 2, 1, 1])
    last = {m: v[-1] for m, v in record["table"]["calibrated_cross_entropy"].items()}
    assert record["decision"]["model"] == min(last, key=lambda m: last[m])
    assert record["profiles"]["logistic"]["error"]["mean"] == record["table"]["error"]["logistic"]
    assert record["profiles"]["logistic"]["error"]["sd"][3] is None
    assert set(record["rates"]) == set(record["models"])
    assert record["costs"]["logistic"] == [7840, 7850]


def test_a_model_that_fails_is_left_out_and_named(asked: dict[str, Any], finished: Path, tmp_path: Path) -> None:
    """One training of a copy of the run is made to have diverged."""
    import shutil

    shutil.copytree(finished, tmp_path / "run")
    images = {p.parent: np.load(p)["scores"].shape for p in tmp_path.glob("run/trainings/*/images.npz")}
    assert len(set(images.values())) == 1
    record = json.loads((finished / "select.json").read_text())
    head, *lines = (finished / "trainings.csv").read_text().splitlines()
    at = head.split(",").index("temperature")
    wanted = next(line for line in lines if line.startswith("logistic,320"))
    for path in images:
        result = json.loads((path / "result.json").read_text())
        if f"{result.get('temperature'):.6g}" == wanted.split(",")[at]:
            (path / "result.json").write_text('{"reason": "it was struck by lightning"}')
    for done in ("trainings.csv", "select.json", "result.json"):
        (tmp_path / "run" / done).unlink()
    result = select(**asked, workers=1, out=tmp_path / "run")
    assert "logistic" in record["models"]
    assert "logistic" not in result.models
    assert any("logistic, 320 images, seed 0: it was struck by lightning" in n for n in result.notes)
    assert "struck by lightning" in (tmp_path / "run/report.html").read_text()
