from pathlib import Path
from typing import Any

import pytest

from supernetic.tracking import Row
from supernetic.tracking.tensorboard import MOST_OPEN, TensorBoard

events = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")


def scalars(folder: Path, name: str) -> list[tuple[int, float]]:
    found: Any = events.EventAccumulator(str(folder)).Reload().Scalars(name)
    return sorted((s.step, round(s.value, 4)) for s in found)  # files of one second are read in no certain order


def test_every_training_has_a_folder(tmp_path: Path) -> None:
    tracker = TensorBoard()
    tracker.begin(tmp_path, {}, "")
    tracker.log("supernet", [Row(1, {"loss": 2.5}), Row(2, {"loss": 2.25})])
    for i in range(MOST_OPEN + 2):  # more than are open at a time
        tracker.log(f"networks/{i}", [Row(10, {"valid/accuracy": i / 100})])
    tracker.log("supernet", [Row(3, {"loss": 2.0})])
    assert len(tracker.writers) == MOST_OPEN
    tracker.finish({"networks/model-1/macs": 5.0})
    tracker.close()
    assert scalars(tmp_path / "tensorboard/supernet", "loss") == [(1, 2.5), (2, 2.25), (3, 2.0)]
    assert scalars(tmp_path / "tensorboard/networks/9", "valid/accuracy") == [(10, 0.09)]
    assert scalars(tmp_path / "tensorboard/result", "networks/model-1/macs") == [(0, 5.0)]
