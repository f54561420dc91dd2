import tomllib
from dataclasses import replace

import pytest
import tomli_w

from supernetic.errors import InputError
from supernetic.jobs.scale.plan import MIN_STEPS, PAPER_SIZES, ScalePlan, evaluations, make_plan, search_of
from supernetic.jobs.speed import Speed

SPEED = Speed(supernet_step=0.4, evaluation=0.3, network_step=0.1, largest_step=0.4, start=3.0, measuring=10.0)
COSTS = [1e6, 2e6, 4e6, 8e6, 1e6, 2e6, 4e6, 8e6, 2e6, 4e6, 8e6]


def made(minutes: float | None, speed: Speed = SPEED) -> ScalePlan:
    return make_plan(
        speed, minutes, COSTS, (2e6, 8e6), stages=3, supernet_steps=3000, network_steps=1000, models=4, workers=2
    )


@pytest.mark.parametrize("minutes", [5, 10, 60])
def test_fills_the_time(minutes: float) -> None:
    plan = made(minutes)
    assert 0.6 * 60 * minutes < sum(plan.seconds.values()) + SPEED.measuring <= 60 * minutes
    assert plan.supernet_steps >= MIN_STEPS["train"]
    assert plan.network_steps >= MIN_STEPS["compare"]
    assert "in all about" in plan.lines()[-1]


def test_a_plan_is_read_back_from_the_file_of_its_run() -> None:
    """All of it, but for seconds, which are kept to a tenth."""
    plan = made(None)
    again = ScalePlan.from_settings(tomllib.loads(tomli_w.dumps(plan.to_settings())))
    assert replace(again, seconds={}) == replace(plan, seconds={})
    assert again.seconds == pytest.approx(plan.seconds, abs=0.05)
    assert list(again.seconds) == ["train", "search", "compare", "export"]
    assert ScalePlan.from_settings(again.to_settings()) == again


def test_without_a_limit_the_paper_has_its_say() -> None:
    plan = made(None)
    assert (plan.supernet_steps, plan.network_steps) == (3000, 1000)
    assert {k: getattr(plan, k) for k in PAPER_SIZES} == PAPER_SIZES


def test_too_short() -> None:
    with pytest.raises(InputError, match=r"--minutes 1 is too short for 60 steps .* it takes about"):
        made(1)


@pytest.mark.parametrize("most", [60, 200, 1000, 5000, 40_000])
def test_searches_keep_within_their_evaluations(most: int) -> None:
    sizes = search_of(3, most)
    assert evaluations(3, **sizes) <= max(most, 150) * 1.1
    assert all(sizes[k] <= PAPER_SIZES[k] for k in PAPER_SIZES)


def test_the_papers_own_search() -> None:
    """8 rounds of 50 x 40 families of 3, and the grids."""
    assert evaluations(3, **PAPER_SIZES) == 3 * (20 * 12 + 8 * (2000 + 12))
    assert search_of(3, 10**6) == PAPER_SIZES
