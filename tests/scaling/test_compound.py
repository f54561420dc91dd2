from math import log

import numpy as np
import pytest

from supernetic.costs import cost
from supernetic.errors import BudgetError
from supernetic.scaling.compound import at_width, compound
from supernetic.spaces.efficientnet import EfficientNet
from supernetic.spaces.macro import Macro
from supernetic.strategy import Scaling, scale

NETWORK = Macro(channels=8, head=160).blueprint((1, 2, 1, 2, 0, 1, 2, 1))


def macs(scaling: Scaling) -> int:
    return cost(scale(NETWORK, scaling)).macs


def test_compound_by_brute_force() -> None:
    wanted = 3.1 * cost(NETWORK).macs
    tried = [Scaling(1.2**x, 1.1**x, 1.15**x) for x in np.arange(0, 4, 0.02)]
    assert abs(macs(compound(NETWORK, wanted)) - wanted) <= min(abs(macs(s) - wanted) for s in tried)


def test_the_three_factors_keep_their_proportion() -> None:
    b0 = EfficientNet().blueprint((0,))
    found = compound(b0, 2 * cost(b0).macs, "efficientnet")
    assert cost(scale(b0, found)).macs == pytest.approx(2 * cost(b0).macs, rel=0.06)
    assert log(found.width) / log(found.depth) == pytest.approx(log(1.1) / log(1.2))
    assert isinstance(found.resolution, float)
    assert log(found.resolution) / log(found.depth) == pytest.approx(log(1.15) / log(1.2))


@pytest.mark.parametrize("growth", [0.7, 2.6])
def test_a_width_by_brute_force(growth: float) -> None:
    wanted = growth * cost(NETWORK).macs
    tried = [abs(macs(Scaling(1.2, w, 36)) - wanted) for w in np.arange(0.2, 2.5, 0.01)]
    found = at_width(NETWORK, wanted, 1.2, 36)
    assert (found.depth, found.resolution) == (1.2, 36)
    assert abs(macs(found) - wanted) <= min(tried)


def test_too_large() -> None:
    with pytest.raises(BudgetError, match="the MACs to scale to must be at most"):
        at_width(NETWORK, 1e15, 1.0, 32)
