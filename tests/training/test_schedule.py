from math import cos, pi

import pytest

from supernetic.errors import InputError
from supernetic.training.recipe import Recipe
from supernetic.training.schedule import plan_of


def test_cosine_between_its_ends() -> None:
    plan = plan_of(Recipe(lr=0.025, lr_end=1e-5, length="100 steps"), 7)
    assert plan.lr(0) == 0.025
    assert plan.lr(50) == pytest.approx((0.025 + 1e-5) / 2)
    assert plan.lr(25) == pytest.approx(1e-5 + (0.025 - 1e-5) * (1 + cos(pi / 4)) / 2)
    assert 1e-5 < plan.lr(99) < 2e-5


def test_warm_up_is_linear_and_meets_the_schedule() -> None:
    plan = plan_of(Recipe(lr=0.8, length="20 epochs", warmup="5 epochs"), 10)
    assert (plan.steps, plan.warmup) == (200, 50)
    assert [plan.lr(s) for s in (0, 24, 49)] == pytest.approx([0.016, 0.4, 0.8])
    assert plan.lr(50) == 0.8
    assert plan.lr(125) == pytest.approx(0.4)


def test_linear_step_and_constant() -> None:
    linear = plan_of(Recipe(lr=0.5, schedule="linear", length="10 steps"), 1)
    assert [linear.lr(s) for s in (0, 5, 9)] == pytest.approx([0.5, 0.25, 0.05])
    every = plan_of(Recipe(lr=1, schedule="step", decay_factor=0.97, decay_every="2.4 epochs", length="9 epochs"), 10)
    assert [every.lr(s) for s in (0, 23, 24, 47, 48)] == pytest.approx([1, 1, 0.97, 0.97, 0.97**2])
    at = plan_of(Recipe(lr=0.01, schedule="step", decay_at=("8 epochs", "11 epochs"), length="12 epochs"), 10)
    assert [at.lr(s) for s in (79, 80, 109, 110)] == pytest.approx([0.01, 0.001, 0.001, 0.0001])
    constant = plan_of(Recipe(lr=0.1, schedule="constant", length="10 steps", warmup="2 steps"), 1)
    assert [constant.lr(s) for s in (0, 1, 2, 9)] == pytest.approx([0.05, 0.1, 0.1, 0.1])


def test_an_epoch_has_fewer_steps_when_each_takes_several_batches() -> None:
    plan = plan_of(Recipe(length="250 epochs", warmup="500 steps"), 195, 5)
    assert (plan.steps, plan.warmup, plan.batches) == (9750, 500, 5)


def test_refusals() -> None:
    with pytest.raises(InputError, match="warm-up of 30 steps is longer than the training of 20"):
        plan_of(Recipe(length="20 steps", warmup="30 steps"), 1)
    with pytest.raises(InputError, match="at least one step"):
        plan_of(Recipe(length="0.1 epochs"), 1)
