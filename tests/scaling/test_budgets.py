import numpy as np
import pytest

from supernetic import catalog
from supernetic.costs import costs_of
from supernetic.errors import BudgetError, InputError
from supernetic.scaling.budgets import Budgets, budgets_for, round_number
from supernetic.spaces.scalenet import ScaleNetBase


@pytest.mark.parametrize(
    ("settings", "mean", "unit", "base"),
    [
        ({}, 318.8, 50, 300),
        ({"released": True}, 409.8, 50, 400),
        ({"width": 0.5}, 102.7, 20, 100),
    ],
    ids=["table 1", "released", "half width"],
)
def test_published_spaces(settings: dict[str, float], mean: float, unit: float, base: float) -> None:
    made = budgets_for(ScaleNetBase(**settings))  # type: ignore[arg-type]
    assert made.paths == 100_000
    assert made.mean is not None
    assert made.mean / 1e6 == pytest.approx(mean, abs=1)
    assert (made.unit, made.base) == (unit * 1e6, base * 1e6)
    assert made.targets == tuple(2**j * base * 1e6 for j in range(4))


def test_the_papers_own_choice_and_the_released_tolerances() -> None:
    made = budgets_for(ScaleNetBase(), 5, 350e6)
    assert made.targets == (350e6, 700e6, 1400e6, 2800e6, 5600e6, 11200e6)
    assert made.unit == 50e6  # err_scale
    assert (made.window.low, made.window.high) == (325e6, 375e6)  # err_base on either side
    archs, _ = made.sampler(ScaleNetBase()).sample(np.random.default_rng(0), 100)
    macs = costs_of(ScaleNetBase(), archs)
    assert macs.min() >= 325e6
    assert macs.max() <= 375e6


def test_small_images_have_a_small_unit() -> None:
    made = budgets_for(ScaleNetBase(resolution=32, width=0.25, classes=10), 2)
    assert made.unit == 100e3
    assert made.base == 800e3
    assert "nearest multiple of 100K is 800K: budgets 800K, 1.6M, 3.2M" in str(made)


def test_round_numbers() -> None:
    assert [round_number(v) for v in (53e6, 68e6, 17e6, 1.3, 8.0, 0.24)] == [50e6, 50e6, 20e6, 1, 10, 0.2]


def test_refusals() -> None:
    with pytest.raises(BudgetError, match=r"scalenet-base: no architecture has .*run from"):
        budgets_for(ScaleNetBase(), base=5e9)
    with pytest.raises(InputError, match=r"positive number of MACs, got -1"):
        budgets_for(ScaleNetBase(), base=-1)
    with pytest.raises(InputError, match=r"scaling stages must lie in 1\.\.8, got 0"):
        Budgets(1e6, 1e5, 0)
    with pytest.raises(InputError, match="nasbench201 cannot be scaled"):
        budgets_for(catalog.space("nasbench201"))
    with pytest.raises(InputError, match="number of paths must be at least 1, got 0"):
        budgets_for(ScaleNetBase(), paths=0)
