from __future__ import annotations

import dataclasses
import tomllib
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import tomli_w
import torch

from supernetic.datasets import load
from supernetic.errors import InputError
from supernetic.evaluators.supernet import SupernetEvaluator
from supernetic.hardware import CPU, Hardware
from supernetic.jobs.search.plan import (
    MAX_NETWORKS,
    MIN_FINISH_S,
    MIN_RACE_S,
    MIN_SUPERNET_STEPS,
    ROUND_SHARES,
    SUPERNET_SHARE,
    TEACHER_SHARE,
    SearchPlan,
    plan_by_recipes,
    plan_by_time,
    race_sizes,
)
from supernetic.jobs.search.request import SearchRequest
from supernetic.jobs.search.score import MAX_REFERENCES
from supernetic.jobs.speed import Speed, measure, step_seconds, together_seconds
from supernetic.jobs.time_plan import EXPORT_S, NETWORK_RECIPE, PLANNED_SHARE, REPORT_S, rescale_recipe
from supernetic.jobs.train.prepare import DEFAULT_RECIPE
from supernetic.samplers.strict_fair import StrictFair
from supernetic.searchers.nsga2 import NSGA2
from supernetic.spaces.macro import Macro
from supernetic.supernets.supernet import Supernet
from supernetic.text import duration
from supernetic.training.recipe import Recipe, recipe
from supernetic.training.schedule import plan_of

SPEED = Speed(supernet_step=0.5, evaluation=0.4, network_step=0.1, largest_step=0.3, start=4.0)
ASKED: dict[str, Any] = {"supernet_steps": 1000, "network_steps": 1500, "networks": 8, "models": 3, "workers": 2}


def by_recipes(**asked: Any) -> SearchPlan:
    return plan_by_recipes(SPEED, **{**ASKED, **asked})


def by_time(minutes: float, speed: Speed = SPEED, **asked: Any) -> SearchPlan:
    return plan_by_time(speed, minutes, **{"models": 3, "workers": 2, **asked})


# --- without a time limit ---------------------------------------------------------------------------------------------


def test_without_minutes_the_recipes_decide() -> None:
    plan = by_recipes()
    assert (plan.supernet_steps, plan.network_steps, plan.networks) == (1000, 1500, 8)
    assert (plan.population, plan.generations, plan.evaluations) == (50, 20, 1000)
    assert (plan.rounds, plan.sizes, plan.finish, plan.limit) == ((), (), 0, 0)  # all are trained alike, and no further
    assert plan.seconds["train"] == pytest.approx(500)
    assert plan.seconds["search"] == pytest.approx((1000 + MAX_REFERENCES) * 0.4)
    assert plan.seconds["compare"] == pytest.approx(1500 * 0.5 + 4)  # .3 + .1 + .1 beside .1 five times
    assert plan.seconds["export"] == pytest.approx(3 * EXPORT_S + REPORT_S)


def test_nothing_is_retrained() -> None:
    plan = by_recipes(networks=0)
    assert plan.network_steps == 0
    assert plan.seconds["compare"] == 0
    assert not any("networks for" in line for line in plan.lines())


def test_what_was_asked_for_is_taken() -> None:
    plan = by_recipes(requested={"train": 37, "compare": 9, "search": 20})
    assert (plan.supernet_steps, plan.network_steps, plan.evaluations) == (37, 9, 20)
    own = by_recipes(sizes=(70, 120))
    assert (own.population, own.generations) == (70, 120)
    assert "search: 8,400 networks, 70 a generation" in own.lines()[1]


def test_workers_share_the_trainings() -> None:
    alone = by_recipes(networks=1, workers=4)
    assert alone.seconds["compare"] == pytest.approx(1500 * 0.3 + 4)
    spans = [by_recipes(workers=n).seconds["compare"] for n in (1, 2, 4, 8, 9)]
    assert spans[0] > spans[1] > spans[2] >= spans[3] == spans[4]  # no network is trained by two


@pytest.mark.parametrize("room", [*range(1, 60), 100, 999, 1000, 1001, 3969])
def test_no_more_evaluations_than_there_are_networks(room: int) -> None:
    for plan in (by_recipes(room=room), by_time(60, room=room), by_time(600, room=room)):
        assert 1 <= plan.evaluations <= room
        NSGA2(population=plan.population, generations=plan.generations)
    assert by_recipes(room=room).evaluations >= min(room, 1000) * 0.8
    assert by_time(60, room=room).networks <= room


# --- within a time limit ----------------------------------------------------------------------------------------------

MINUTES = (0.2, 0.5, 1, 2, 3, 5, 8, 15, 30, 60, 100, 300, 3000)


@pytest.mark.parametrize("minutes", [6, 10, 30, 60, 90, 480])
@pytest.mark.parametrize("slower", [0.05, 0.2, 1, 3])
@pytest.mark.parametrize("workers", [1, 2, 4, 16])
@pytest.mark.parametrize("supernet", [False, True])
def test_the_time_is_used_and_kept_to(minutes: float, slower: float, workers: int, supernet: bool) -> None:
    speed = Speed(0.5 * slower, 0.05 * slower, 0.1 * slower, 0.3 * slower, 4, test=slower, measuring=5)
    plan = by_time(minutes, speed, workers=workers, supernet=supernet, spent=20)
    used = sum(plan.seconds.values()) + 25
    assert used <= 60 * minutes
    assert used == pytest.approx(PLANNED_SHARE * 60 * minutes)
    assert all(s >= 0 for s in plan.seconds.values())
    race = sum(n * s for n, s in zip(plan.sizes, plan.rounds, strict=True)) / workers
    assert race <= plan.seconds["compare"]
    assert plan.finish <= plan.seconds["finish"]
    assert plan.finish > race or supernet  # the model that is handed over gets most of it
    assert (plan.supernet_steps > 0) == supernet
    assert plan.evaluations <= 1000


def test_a_teacher_has_part_of_the_time_of_the_winner() -> None:
    without, taught = (by_time(60, teacher=teacher) for teacher in (False, True))
    assert without.teacher == 0
    assert "teacher" not in without.to_settings()
    assert taught.teacher == pytest.approx(TEACHER_SHARE * without.finish)
    assert taught.teacher + taught.finish == pytest.approx(without.finish)
    assert sum(taught.seconds.values()) == pytest.approx(sum(without.seconds.values()))
    assert SearchPlan.from_settings(taught.to_settings()).teacher == pytest.approx(taught.teacher, abs=0.1)
    assert any("train a larger network as a teacher, about" in line for line in taught.lines())
    assert not any("teacher" in line for line in without.lines())
    assert by_time(0.2, teacher=True).teacher == 0  # nothing races, and one network has all of the time


def test_of_a_longer_time_the_race_takes_a_smaller_share() -> None:
    def share(minutes: float) -> float:
        plan = by_time(minutes, models=1)
        return sum(n * s for n, s in zip(plan.sizes, plan.rounds, strict=True)) / 2 / (60 * minutes)

    assert share(4) == pytest.approx(0.2 * PLANNED_SHARE, rel=0.1)
    assert share(4) > share(20) > share(60) > share(600) > 0


@pytest.mark.parametrize("minutes", [0.01, 0.2, 1])
@pytest.mark.parametrize("slower", [1, 50])
@pytest.mark.parametrize("workers", [1, 2, 16])
def test_a_search_of_seconds_gets_a_plan_too(minutes: float, slower: float, workers: int) -> None:
    speed = Speed(0.5 * slower, 0.4 * slower, 0.1 * slower, 0.3 * slower, 4, measuring=2)
    plan = by_time(minutes, speed, workers=workers, spent=5)
    assert plan.networks >= 1
    assert plan.evaluations >= 1
    assert plan.finish >= MIN_FINISH_S
    assert all(s >= 0 for s in (*plan.seconds.values(), *plan.rounds, plan.cheaper))
    assert any(line.startswith("train the recommended model to the end") for line in plan.lines())


@pytest.mark.parametrize("minutes", [0, -3, float("nan"), float("inf")])
def test_a_time_that_is_none_is_refused(minutes: float) -> None:
    with pytest.raises(InputError, match="minutes must be more than 0 and finite, got"):
        SearchRequest(minutes=minutes)


@pytest.mark.parametrize("workers", [1, 2, 4])
def test_more_time_never_means_less_of_anything(workers: int) -> None:
    before = by_time(MINUTES[0], workers=workers)
    for minutes in MINUTES[1:]:
        plan = by_time(minutes, workers=workers)
        assert plan.networks >= before.networks
        assert len(plan.sizes) >= len(before.sizes)
        assert plan.finish >= before.finish
        assert plan.evaluations >= before.evaluations * 0.9  # whole generations
        before = plan
    assert (before.networks // workers * workers, before.evaluations) == (MAX_NETWORKS // workers * workers, 1000)


def test_a_supernet_has_its_share_or_what_was_asked_for() -> None:
    free = PLANNED_SHARE * 3600 - 3 * EXPORT_S - REPORT_S
    shared = by_time(60, supernet=True)
    assert shared.seconds["train"] == pytest.approx(SUPERNET_SHARE * free, rel=0.01)
    assert shared.finish < by_time(60).finish
    asked = by_time(60, supernet=True, requested={"train": 37})
    assert asked.supernet_steps == 37
    assert shared.finish < asked.finish
    assert by_time(1, supernet=True).supernet_steps >= MIN_SUPERNET_STEPS


@pytest.mark.parametrize(
    ("asked", "population", "generations"),
    [
        ({"searcher": (6, 4)}, 6, 4),
        ({"searcher": (6, 4), "requested": {"search": 12}}, 6, 4),
        ({"searcher": (6, None), "requested": {"search": 60}}, 6, 10),
        ({"searcher": (None, 4), "requested": {"search": 60}}, 15, 4),
    ],
)
def test_sizes_of_the_searcher_are_kept(asked: dict[str, Any], population: int, generations: int) -> None:
    plan = by_time(30, **asked)
    assert (plan.population, plan.generations) == (population, generations)
    assert plan.seconds["search"] >= population * generations * SPEED.evaluation


def test_as_many_evaluations_as_were_asked_for() -> None:
    assert by_time(30, requested={"search": 60}).evaluations == 60


def test_measuring_takes_its_part_of_the_time() -> None:
    slow = dataclasses.replace(SPEED, measuring=60.0)
    assert by_time(10, slow) == by_time(10, spent=60.0)
    assert by_time(10, slow).finish < by_time(10).finish


@pytest.mark.parametrize("workers", [1, 2, 3, 4, 16])
@pytest.mark.parametrize("seconds", [0, 23.9, 24, 60, 200, 500, 2000, 1e5])
def test_rounds_of_a_race(workers: int, seconds: float) -> None:
    sizes = race_sizes(seconds, workers)
    assert len(sizes) <= len(ROUND_SHARES)
    if seconds < MIN_RACE_S:
        assert sizes == (1,)
        return
    assert all(2 <= n <= MAX_NETWORKS for n in sizes)
    assert all(a > b for a, b in pairwise(sizes))
    if sizes[0] > workers:  # nobody waits
        assert not any(n % workers for n in sizes if n > 2)
    assert race_sizes(seconds, workers, room=1, controls=1)[0] <= 2


def test_shares_of_the_rounds_are_whole() -> None:
    assert [sum(shares) for shares in ROUND_SHARES] == pytest.approx([1] * len(ROUND_SHARES))


# --- both -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("minutes", [None, 0.2, 1, 60])
def test_a_plan_is_kept_in_a_file(minutes: float | None) -> None:
    plan = by_recipes() if minutes is None else by_time(minutes, supernet=minutes == 60)
    plan = dataclasses.replace(plan, augment="light+flip", augment_reason="As requested.")
    again = SearchPlan.from_settings(tomllib.loads(tomli_w.dumps(plan.to_settings())))
    rounded: dict[str, Any] = {"seconds": {}, "rounds": (), "cheaper": 0, "finish": 0}
    assert dataclasses.replace(again, **rounded) == dataclasses.replace(plan, **rounded)
    assert again.seconds == pytest.approx(plan.seconds, abs=0.05)
    assert again.rounds == pytest.approx(plan.rounds, abs=0.005)
    assert (again.cheaper, again.finish) == pytest.approx((plan.cheaper, plan.finish), abs=0.05)
    assert SearchPlan.from_settings(again.to_settings()) == again


def test_a_plan_is_told() -> None:
    plan = by_recipes()
    assert plan.lines() == [
        "train the supernet: 1,000 steps, about 8 min",
        "search: 1,000 networks, 50 a generation, about 7 min",
        "train 8 networks for 1,500 steps each, 2 at a time, about 13 min",
        f"test every network, about {duration(0)}",
        f"export 3 models and report, about {duration(3 * EXPORT_S + REPORT_S)}",
        f"in all about {duration(sum(plan.seconds.values()))}",
    ]
    plan = dataclasses.replace(by_time(60, models=1), augment="light", augment_reason="As requested.")
    lines = plan.lines()
    assert lines[0] == "training images vary by light. As requested."
    assert lines[1].startswith(f"search: {plan.evaluations:,} networks, {plan.population} a generation, about ")
    first, *further = [f"{n} for {s:.3g} s each" for n, s in zip(plan.sizes, plan.rounds, strict=True)]
    assert lines[2].startswith(f"train networks alike, 2 at a time: {first}, then {', '.join(further)}, about ")
    assert lines[3].startswith("train the recommended model to the end, about ")
    assert lines[-2].startswith("export 1 model and report")
    assert lines[-1] == "in all about 58 min"
    assert not any("supernet" in line for line in lines)


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
    again = Recipe(batch_size=32, lr=1e6)
    speed = measure(supernet.space, supernet, dataset, hot, again, evaluate, archs, largest=(2,) * 8, seconds=0.05)
    assert speed.evaluation > 0
    assert speed.network_step > 0
    assert speed.largest_step > 0
    assert speed.supernet_step > 0
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

    def map_in_workers(work: Callable[..., Any], items: Sequence[Any], workers: int, **_: Any) -> list[Any]:
        seen.extend((workers, item) for item in items)
        work(items[0], lambda *_: None)
        return [([0.1, 0.5], 0.01, 0.0), ([0.3, 0.7], 0.03, 0.0), ([0.2, 0.6], 0.02, 0.0)]

    monkeypatch.setattr("supernetic.parallel.workers.map_in_workers", map_in_workers)
    dataset = load(limit=200, resolution=8)
    supernet = Supernet(Macro(channels=4, resolution=8, in_channels=1, head=16), seed=0)
    evaluate = SupernetEvaluator(supernet, dataset, ["valid/cross_entropy"], images=32)
    train, retrain = Recipe(batch_size=16, sampler=StrictFair()), Recipe(batch_size=16)
    archs = [(0,) * 8, (2,) * 8, (1,) * 8]
    space = supernet.space
    speed = measure(space, supernet, dataset, train, retrain, evaluate, archs, workers=3, seconds=0.02)
    assert speed.test == pytest.approx(0.03 * len(dataset.splits["test"]))
    without = measure(space, None, dataset, train, retrain, evaluate, archs, workers=3, seconds=0.02)
    assert without.supernet_step == 0
    assert without.evaluation > 0
    assert [speed.network_step, speed.largest_step] == pytest.approx([0.2, 0.6])
    assert [workers for workers, _ in seen] == [3] * 6
    (typical, largest), taken, _, where, classifies = seen[0][1]
    assert classifies
    assert where == CPU
    assert (typical, largest, taken) == (
        supernet.space.blueprint(archs[2]),
        supernet.space.blueprint(archs[1]),
        retrain,
    )


def test_networks_are_timed_alone_and_by_two_processes() -> None:
    space = Macro(channels=4, resolution=8, in_channels=1, head=16)
    networks = [space.blueprint(arch) for arch in ((0,) * 8, (2,) * 8, (1,) * 8)]
    recipe = Recipe(batch_size=16, lr=1e6, augment="shift")
    alone = step_seconds(networks, recipe, 2, seconds=0.05)
    assert len(alone) == 3
    assert all(0 < s < 60 for s in alone)
    assert 0 < together_seconds(networks[1], recipe, Hardware(processes=2), seconds=0.05) < 60


@pytest.mark.parametrize(
    ("entry", "value", "named"),
    [
        ("supernet_steps", "many", "supernet_steps: Input should be a valid integer"),
        ("population", -3, "population must be 0 or more and finite, got -3"),
        ("finish", float("inf"), "finish must be 0 or more and finite, got inf"),
        ("rounds", [1.0, float("nan")], "rounds must be 0 or more and finite"),
        ("seconds", {"train": "long"}, "seconds.train: Input should be a valid number"),
        ("colour", "red", "colour: Unexpected keyword argument"),
    ],
)
def test_a_plan_that_somebody_changed_is_refused_by_name(entry: str, value: Any, named: str) -> None:
    plan = SearchPlan(100, 4, 2, 3, 50, 1, 2, rounds=(1.0,), sizes=(3,), seconds={"train": 1.0})
    table = tomllib.loads(tomli_w.dumps(plan.to_settings()))
    assert SearchPlan.from_settings(table) == plan
    with pytest.raises(ValueError, match=named):
        SearchPlan.from_settings({**table, entry: value})
