from __future__ import annotations

from dataclasses import replace

import pytest

from supernetic.datasets import load
from supernetic.errors import InputError
from supernetic.jobs.select.plan import (
    FORWARD_SHARE,
    START_S,
    WORKER_SLOWDOWN,
    WORKER_START_S,
    Pace,
    estimate,
    time_steps,
)
from supernetic.jobs.select.request import SelectRequest
from supernetic.jobs.select.trainings import RATES, RECIPE
from supernetic.model_names import parse_models
from supernetic.selection.subsets import SubsetSchedule

SUBSETS = SubsetSchedule((100, 200, 400), (2, 1, 1))


def test_the_time_is_that_of_all_steps() -> None:
    pace = Pace(0.01, 0.001)
    steps = 15 * 18  # 90 images in batches of 5
    assert pace.seconds(RECIPE, 100, 50) == pytest.approx(
        START_S + steps * (0.01 + 5 * 0.001) + FORWARD_SHARE * 50 * 0.001
    )
    one = {n: pace.seconds(RECIPE, n, 50) for n in SUBSETS.sizes}
    whole = 2 * one[100] + (1 + len(RATES) - 1) * one[200] + one[400]
    assert estimate(SUBSETS, {"a": pace}, RECIPE, 50, 1) == pytest.approx(WORKER_START_S + WORKER_SLOWDOWN * whole)
    assert estimate(SUBSETS, {"a": pace, "b": pace}, RECIPE, 50, 2) == pytest.approx(
        WORKER_START_S + WORKER_SLOWDOWN * whole
    )
    assert estimate(SUBSETS, {"a": pace}, RECIPE, 50, 99) == pytest.approx(WORKER_START_S + WORKER_SLOWDOWN * one[400])


def test_paces_are_measured() -> None:
    data = load("embedded", limit=600, resolution=8)
    paces = time_steps(parse_models("mlp:width=8,depth=1", 10, 1, 8), data, replace(RECIPE, warmup="5 steps"), SUBSETS)
    (pace,) = paces.values()
    assert pace.step >= 0
    assert pace.image > 0


@pytest.mark.parametrize("minutes", [0, -1, float("inf"), float("nan")])
def test_no_time_is_refused(minutes: float) -> None:
    with pytest.raises(InputError, match="more than 0 and finite"):
        SelectRequest(minutes=minutes)
    SelectRequest(minutes=None)
