from __future__ import annotations

import dataclasses
import tomllib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
import tomli_w
import torch

from supernetic.datasets import load
from supernetic.errors import InputError
from supernetic.evaluators.supernet import SupernetEvaluator
from supernetic.jobs.search.plan import MAX_RECIPE_LENGTHS, MIN_STEPS, SearchPlan, make_plan
from supernetic.jobs.search.request import SearchRequest
from supernetic.jobs.speed import Speed, measure
from supernetic.jobs.time_plan import EXPORT_S, NETWORK_RECIPE, PLANNED_SHARE, REPORT_S, rescale_recipe
from supernetic.jobs.train.prepare import DEFAULT_RECIPE
from supernetic.samplers.strict_fair import StrictFair
from supernetic.searchers.nsga2 import NSGA2
from supernetic.spaces.macro import Macro
from supernetic.supernets.supernet import Supernet
from supernetic.training.recipe import Recipe, recipe
from supernetic.training.schedule import plan_of

SPEED = Speed(supernet_step=0.5, evaluation=0.4, network_step=0.1, largest_step=0.3, start=4.0)
ASKED: dict[str, Any] = {"supernet_steps": 1000, "network_steps": 1500, "networks": 8, "models": 3, "workers": 2}


def planned(minutes: float | None, speed: Speed = SPEED, **asked: Any) -> SearchPlan:
    return make_plan(speed, minutes, **{**ASKED, **asked})


def test_without_minutes_the_recipes_decide() -> None:
    plan = planned(None)
    assert (plan.supernet_steps, plan.network_steps, plan.networks) == (1000, 1500, 8)
    assert (plan.population, plan.generations, plan.evaluations) == (50, 18, 1000)
    assert plan.seconds["train"] == pytest.approx(500)
    assert plan.seconds["search"] == pytest.approx(400)
    assert plan.seconds["compare"] == pytest.approx(1500 * 0.5 + 4)  # .3 + .1 + .1 beside .1 five times
    assert plan.seconds["export"] == pytest.approx(3 * EXPORT_S + REPORT_S)


@pytest.mark.parametrize("minutes", [6, 10, 30, 60, 90])
@pytest.mark.parametrize("networks", [2, 8, 13])
@pytest.mark.parametrize("slower", [0.2, 1, 2])
def test_the_time_is_used_and_kept_to(minutes: float, networks: int, slower: float) -> None:
    speed = Speed(0.5 * slower, 0.05 * slower, 0.1 * slower, 0.3 * slower, 4)
    plan = planned(minutes, speed, networks=networks, spent=20)
    used = sum(plan.seconds.values()) + 20
    at_most = [plan.supernet_steps == MAX_RECIPE_LENGTHS * 1000, plan.network_steps == MAX_RECIPE_LENGTHS * 1500]
    assert used <= PLANNED_SHARE * 60 * minutes + 1
    assert used >= 0.85 * 60 * minutes or any(at_most)
    assert plan.supernet_steps >= MIN_STEPS["train"]
    assert plan.network_steps >= MIN_STEPS["compare"]
    assert plan.evaluations <= 1000


def test_shares() -> None:
    seconds = planned(60).seconds
    free = PLANNED_SHARE * 3600 - 4 - 3 * EXPORT_S - REPORT_S
    assert seconds["train"] == pytest.approx(free * 45 / 95, rel=0.01)
    assert seconds["compare"] - 4 == pytest.approx(free * 40 / 95, rel=0.01)
    assert free * 10 / 95 * 0.9 < seconds["search"] <= free * 10 / 95


def test_more_time_never_means_less_of_anything() -> None:
    before = planned(5)
    for minutes in (6, 8, 15, 40, 100, 300, 3000):
        plan = planned(minutes)
        assert plan.supernet_steps >= before.supernet_steps
        assert plan.network_steps >= before.network_steps
        assert plan.evaluations >= before.evaluations * 0.9  # whole generations
        before = plan
    assert (before.supernet_steps, before.network_steps, before.evaluations) == (10_000, 15_000, 1000)


def test_a_part_that_needs_more_than_its_share_takes_it_from_the_others() -> None:
    dear = Speed(0.5, 5.0, 0.1, 0.3)  # 40 evaluations take 200 of about 256 s
    plan = planned(7, dear)
    assert plan.evaluations == pytest.approx(40, abs=10)
    assert plan.supernet_steps >= MIN_STEPS["train"]
    assert plan.network_steps >= MIN_STEPS["compare"]
    assert sum(plan.seconds.values()) <= 7 * 60


def test_too_few_minutes_are_refused_with_how_many_it_takes() -> None:
    with pytest.raises(InputError) as caught:
        planned(1)
    message = str(caught.value)
    assert message == (
        "--minutes 1 is too short for 100 steps of the supernet, 40 evaluations and 8 trainings of 60 steps: "
        "it takes about 2.5"
    )
    assert planned(2.5).supernet_steps >= MIN_STEPS["train"]
    for minutes in (0, -3, float("nan"), float("inf")):
        with pytest.raises(InputError, match="minutes must be more than 0 and finite, got"):
            SearchRequest(minutes=minutes)


@pytest.mark.parametrize("room", [*range(1, 60), 100, 999, 1000, 1001, 3969])
def test_no_more_evaluations_than_there_are_networks(room: int) -> None:
    for minutes in (None, 60):
        plan = planned(minutes, room=room)
        assert plan.evaluations <= max(room, 2)
        assert plan.evaluations >= min(room, 1000) * 0.8 or minutes
        NSGA2(population=plan.population, generations=plan.generations)
    saved = planned(60, room=12).seconds
    assert saved["search"] < 6
    assert saved["train"] > planned(60).seconds["train"]


def test_nothing_is_retrained() -> None:
    plan = planned(10, networks=0)
    assert plan.network_steps == 0
    assert plan.seconds["compare"] == 0
    assert plan.supernet_steps > planned(10).supernet_steps
    assert not any("networks for" in line for line in plan.lines())


def test_what_was_asked_for_is_taken_and_the_rest_fitted_around_it() -> None:
    asked = {"train": 37, "search": None, "compare": None}
    free, plan = planned(30), planned(30, requested=asked)
    assert plan.supernet_steps == 37
    assert plan.network_steps > free.network_steps
    assert sum(plan.seconds.values()) == pytest.approx(sum(free.seconds.values()), rel=0.02)
    own = planned(None, requested={"compare": 9, "search": 20})
    assert (own.supernet_steps, own.network_steps, own.evaluations) == (1000, 9, 20)
    with pytest.raises(InputError, match=r"too short for 10000 steps of the supernet, .* it takes about 89.5"):
        planned(30, requested={"train": 10_000})


def test_measuring_takes_its_part_of_the_time() -> None:
    slow = dataclasses.replace(SPEED, measuring=60.0)
    assert planned(10, slow) == planned(10, spent=60.0)
    assert planned(10, slow).supernet_steps < planned(10).supernet_steps


def test_workers_share_the_trainings() -> None:
    def steps(workers: int) -> int:
        return planned(30, workers=workers).network_steps

    assert steps(1) < steps(2) < steps(4)
    assert steps(8) == steps(9)  # no network is trained by two
    alone = planned(None, networks=1, workers=4)
    assert alone.seconds["compare"] == pytest.approx(1500 * 0.3 + 4)


def test_a_plan_is_told_and_kept() -> None:
    plan = planned(60)
    again = SearchPlan.from_settings(tomllib.loads(tomli_w.dumps(plan.to_settings())))
    assert dataclasses.replace(again, seconds={}) == dataclasses.replace(plan, seconds={})
    assert again.seconds == pytest.approx(plan.seconds, abs=0.05)
    lines = plan.lines()
    assert lines[0] == f"train the supernet: {plan.supernet_steps:,} steps, about 27 min"
    assert lines[2] == f"train 8 networks for {plan.network_steps:,} steps each, 2 at a time, about 24 min"
    assert lines[-1] == "in all about 57 min"


def test_a_recipe_in_other_steps() -> None:
    own = Recipe(
        length="30 epochs", warmup="3 epochs", schedule="step", decay_at=("15 epochs",), decay_every="50 steps"
    )
    short = rescale_recipe(own, plan_of(own, 10), 30)
    assert (short.length, short.warmup, short.decay_every, short.decay_at) == (
        "30 steps", "3 steps", "5 steps", ("15 steps",),
    )  # fmt: skip
    assert rescale_recipe(own, plan_of(own, 10), 3000).warmup == "300 steps"
    plain = Recipe(length="20 epochs")
    assert rescale_recipe(plain, plan_of(plain, 7), 11) == Recipe(length="11 steps")
    for table in (DEFAULT_RECIPE, NETWORK_RECIPE):
        made = recipe(table)
        assert plan_of(rescale_recipe(made, plan_of(made, 53), 100), 53).steps == 100


def test_measuring_changes_nothing() -> None:
    dataset = load(limit=200, resolution=8)
    supernet = Supernet(Macro(channels=4, resolution=8, in_channels=1, head=16), seed=0)
    before = {name: tensor.clone() for name, tensor in supernet.state_dict().items()}
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    threads = torch.get_num_threads()
    evaluate = SupernetEvaluator(supernet, dataset, ["valid/cross_entropy"], images=32)
    archs = [tuple(a) for a in supernet.space.sample(np.random.default_rng(0), 8).tolist()]
    hot = Recipe(batch_size=32, lr=1e6, sampler=StrictFair(), warmup="5 steps", length="10 steps")
    speed = measure(
        supernet, dataset, hot, Recipe(batch_size=32, lr=1e6), evaluate, archs, largest=(2,) * 8, seconds=0.05
    )
    assert 0 < speed.evaluation < 1
    assert 0 < speed.network_step < 1
    assert 0 < speed.largest_step < 1
    assert 0 < speed.supernet_step < 1
    assert speed.measuring > 0.2
    assert torch.equal(torch.rand(3), expected)
    assert torch.get_num_threads() == threads
    assert supernet.training
    for name, tensor in supernet.state_dict().items():
        assert torch.equal(tensor, before[name]), name
        assert tensor.grad is None
    assert all(p.grad is None for p in supernet.parameters())


def test_networks_are_timed_with_all_workers_at_work(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Any] = []

    def map_in_workers(work: Callable[..., Any], items: Sequence[Any], workers: int) -> list[Any]:
        seen.extend((workers, item) for item in items)
        work(items[0], lambda *_: None)
        return [([0.1, 0.5], 0.0), ([0.3, 0.7], 0.0), ([0.2, 0.6], 0.0)]

    monkeypatch.setattr("supernetic.parallel.workers.map_in_workers", map_in_workers)
    dataset = load(limit=200, resolution=8)
    supernet = Supernet(Macro(channels=4, resolution=8, in_channels=1, head=16), seed=0)
    evaluate = SupernetEvaluator(supernet, dataset, ["valid/cross_entropy"], images=32)
    train, retrain = Recipe(batch_size=16, sampler=StrictFair()), Recipe(batch_size=16)
    archs = [(0,) * 8, (2,) * 8, (1,) * 8]
    speed = measure(supernet, dataset, train, retrain, evaluate, archs, workers=3, seconds=0.02)
    assert [speed.network_step, speed.largest_step] == pytest.approx([0.2, 0.6])
    assert [workers for workers, _ in seen] == [3, 3, 3]
    (typical, largest), taken, _ = seen[0][1]
    assert (typical, largest, taken) == (
        supernet.space.blueprint(archs[2]),
        supernet.space.blueprint(archs[1]),
        retrain,
    )
