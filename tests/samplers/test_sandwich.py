import numpy as np
import pytest

from supernetic.catalog import space
from supernetic.errors import InputError
from supernetic.samplers.attentive import Attentive
from supernetic.samplers.extremes import extremes
from supernetic.samplers.sandwich import Sandwich
from supernetic.samplers.step import Draw
from supernetic.samplers.strict_fair import StrictFair


def test_order_targets_and_noise() -> None:
    made = space("attentive")
    step = Sandwich()(made, Draw(np.random.default_rng(0)))
    smallest, largest = extremes(made)
    assert [p.arch for p in step.paths][::3] == [largest, smallest]
    assert [p.target for p in step.paths] == ["label", "teacher", "teacher", "teacher"]
    assert [p.regularise for p in step.paths] == [True, False, False, False]
    assert step.reduction == "sum"
    assert not step.fresh_batch
    assert step.paths[1].arch != step.paths[2].arch


def test_nesting() -> None:
    made = space("macro")
    draw = Draw(np.random.default_rng(0))
    assert len(Sandwich(n=1, between=StrictFair())(made, draw).paths) == 5
    assert len(Sandwich(n=3, between=Attentive(k=2, rows=500))(made, draw).paths) == 5
    assert len(Sandwich(n=0)(made, draw).paths) == 2


def test_refuses_a_negative_number() -> None:
    with pytest.raises(InputError, match="must not be negative, got -1"):
        Sandwich(n=-1)
