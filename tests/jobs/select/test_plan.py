from __future__ import annotations

from dataclasses import replace

import pytest

from supernetic.datasets import load
from supernetic.errors import InputError
from supernetic.jobs.select.plan import (
    FORWARD_SHARE,
    PROCESS_START_S,
    START_S,
    WORKER_SLOWDOWN,
    WORKER_START_S,
    Pace,
    estimate,
    time_steps,
)
from supernetic.jobs.select.request import SelectRequest
from supernetic.jobs.select.settled import SettledRecipe
from supernetic.jobs.select.trainings import RATES, RECIPE
from supernetic.model_names import parse_models
from supernetic.selection.subsets import SubsetSchedule

SUBSETS = SubsetSchedule((100, 200, 400), (2, 1, 1))
USUAL = SettledRecipe()


def test_the_time_is_that_of_all_steps() -> None:
    pace = Pace(0.01, 0.001)
    steps = 15 * 18  # 90 images in batches of 5
    assert pace.seconds(USUAL, 100, 50) == pytest.approx(
        START_S + steps * (0.01 + 5 * 0.001) + FORWARD_SHARE * 50 * 0.001
    )
    one = {n: pace.seconds(USUAL, n, 50) for n in SUBSETS.sizes}
    whole = 2 * one[100] + (1 + len(RATES) - 1) * one[200] + one[400]
    assert estimate(SUBSETS, {"a": pace}, USUAL, 50, 1) == pytest.approx(WORKER_START_S + WORKER_SLOWDOWN * whole)
    assert estimate(SUBSETS, {"a": pace, "b": pace}, USUAL, 50, 2) == pytest.approx(
        WORKER_START_S + WORKER_SLOWDOWN * whole
    )
    assert estimate(SUBSETS, {"a": pace}, USUAL, 50, 99) == pytest.approx(WORKER_START_S + WORKER_SLOWDOWN * one[400])


def test_a_kept_batch_and_rate_take_fewer_steps_and_no_trials() -> None:
    pace, kept = Pace(0.01, 0.001), SettledRecipe(RECIPE, (3e-4,), min_batches=1)
    assert pace.seconds(kept, 100, 0) == pytest.approx(START_S + 15 * (0.01 + 90 * 0.001))
    whole = sum(k * pace.seconds(kept, n, 50) for n, k in zip(SUBSETS.sizes, SUBSETS.seeds, strict=True))
    assert estimate(SUBSETS, {"a": pace}, kept, 50, 1) == pytest.approx(WORKER_START_S + WORKER_SLOWDOWN * whole)
    two = replace(kept, processes=2)
    assert pace.seconds(two, 100, 0) == pytest.approx(START_S + PROCESS_START_S + 15 * (0.01 + 45 * 0.001))


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
