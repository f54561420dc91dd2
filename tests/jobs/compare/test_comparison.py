from __future__ import annotations

from typing import Any

import pytest

from supernetic.datasets import load
from supernetic.jobs.compare.comparison import Comparison
from supernetic.spaces.macro import Macro
from supernetic.training.recipe import Recipe
from supernetic.training.schedule import plan_of

SPACE = Macro(channels=4, resolution=8, in_channels=1, head=16)


def comparison(**recipe: Any) -> Comparison:
    unused: Any = None
    return Comparison(
        space=SPACE, dataset=load(limit=300, resolution=8), loading={}, recipe=Recipe(batch_size=16, **recipe),
        retrain="scratch", score="", workers=1, seed=0, supernet=None, scorer=unused, candidates=unused,
    )  # fmt: skip


def rates(made: Comparison, steps: int, **part: Any) -> list[float]:
    recipe = made.training(SPACE.blueprint((0,) * 8), steps, **part).recipe
    schedule = plan_of(recipe, 10)
    return [schedule.lr(step) for step in range(schedule.steps)]


def test_a_schedule_in_parts_is_the_schedule() -> None:
    made = comparison(lr=0.4, lr_end=0.1, schedule="linear", length="10 epochs")
    parts = [rate for k in range(4) for rate in rates(made, 25, part=(k / 4, (k + 1) / 4))]
    assert parts == pytest.approx(rates(made, 100))


def test_only_the_first_part_has_a_warm_up() -> None:
    made = comparison(lr=0.4, schedule="linear", length="10 epochs", warmup="1 epoch")
    assert rates(made, 50, part=(0.0, 0.5))[0] < 0.1
    assert rates(made, 50, part=(0.5, 1.0))[0] == pytest.approx(0.2)


def test_other_lengths_stretch_the_recipe() -> None:
    made = comparison(lr=0.4, schedule="linear", length="10 epochs", warmup="1 epoch")
    assert len(rates(made, 30)) == 30
    assert rates(made, 30)[2] == pytest.approx(0.4)


def test_every_further_training_has_batches_of_its_own() -> None:
    made, network = comparison(), SPACE.blueprint((0,) * 8)
    seeds = [made.training(network, 50, earlier=n).seed for n in range(4)]
    assert seeds[0] == made.seed
    assert len(set(seeds)) == 4
    assert seeds == [made.training(network, 20, part=(0.5, 1.0), earlier=n).seed for n in range(4)]
