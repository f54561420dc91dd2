from __future__ import annotations

from pathlib import Path

import pytest

from supernetic import catalog
from supernetic.lab import estimate
from supernetic.lab.estimate import Speed, estimate_seconds
from supernetic.lab.measures.histogram import Histogram
from supernetic.lab.trainings import Training

SPACE = "nasbench201:cells=1,channels=4,resolution=8"


def seconds(
    steps: int = 100, batch_size: int = 10, sampler: str = "uniform", n: int = 100, valid: int = 50, space: str = SPACE
) -> tuple[float, float]:
    recipe = {"length": f"{steps} steps", "batch_size": batch_size, "sampler": {"name": sampler}}
    training = Training({"space": space, "data": "embedded", "recipe": recipe, "device": "cpu"}, Path("nowhere"))
    work = [(training, catalog.space(space))]
    return estimate_seconds(work, work, Histogram(n=n, valid=valid))


def test_time_follows_the_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(estimate, "_speed", lambda *_: Speed(0.001, 0.003))
    trained, scored = seconds()
    assert trained > 0
    assert scored > 0
    assert seconds(steps=300)[0] == pytest.approx(3 * trained)
    assert seconds(batch_size=20)[0] == pytest.approx(2 * trained)
    assert seconds(sampler="strict_fair")[0] == pytest.approx(5 * trained)  # a path for each operation
    assert seconds(valid=150)[1] == pytest.approx(3 * scored)
    assert seconds(n=200)[1] > 1.5 * scored
    larger = seconds(space=SPACE.replace("channels=4", "channels=8"))
    assert larger[0] > 2 * trained


def test_networks_that_begin_alike_cost_less(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(estimate, "_speed", lambda *_: Speed(0.001, 0.003))
    few, many = seconds(n=20)[1] / 20, seconds(n=4000)[1] / 4000
    assert many < few


def test_the_speed_is_measured() -> None:
    trained, scored = seconds(steps=1)
    assert 0 < trained < 60
    assert 0 < scored < 600
