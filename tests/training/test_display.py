import sys
from dataclasses import replace
from pathlib import Path

import pytest

from supernetic.errors import InputError
from supernetic.training.display import tensorboard
from supernetic.training.loop import Progress

STEPS = [Progress(s, 3, 2.5 - s / 10, 0.05, 1234.5, 3.0 - s) for s in (1, 2, 3)]


def test_tensorboard_names_its_extra(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", None)
    with pytest.raises(InputError, match=r"supernetic\[tracking\]"):
        list(tensorboard(STEPS, tmp_path))


def test_tensorboard_can_read_what_is_written(tmp_path: Path) -> None:
    events = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    assert list(tensorboard(STEPS, tmp_path)) == STEPS
    seen = events.EventAccumulator(str(tmp_path)).Reload()
    for name, values in (("loss", [2.4, 2.3, 2.2]), ("lr", [0.05] * 3), ("images_per_s", [1234.5] * 3)):
        scalars = seen.Scalars(name)
        assert [s.step for s in scalars] == [1, 2, 3]
        assert [s.value for s in scalars] == pytest.approx(values)


def test_tensorboard_forgets_steps_that_are_taken_again(tmp_path: Path) -> None:
    events = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    interrupted = tensorboard(STEPS, tmp_path)
    assert [next(interrupted).step for _ in range(2)] == [1, 2]
    interrupted.close()  # type: ignore[attr-defined]
    list(tensorboard([replace(p, loss=9.0) for p in STEPS[1:]], tmp_path))
    scalars = events.EventAccumulator(str(tmp_path)).Reload().Scalars("loss")
    assert [(s.step, round(s.value, 4)) for s in scalars] == [(1, 2.4), (2, 9.0), (3, 9.0)]
