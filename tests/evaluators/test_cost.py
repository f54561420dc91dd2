from __future__ import annotations

import numpy as np

from supernetic.costs import cost
from supernetic.evaluators import CostEvaluator
from supernetic.evaluators.cost import COSTS
from supernetic.spaces.macro import Macro


def test_costs_are_the_blueprints() -> None:
    space = Macro()
    evaluate = CostEvaluator(space, COSTS)
    archs = [tuple(a) for a in space.sample(np.random.default_rng(0), 20).tolist()]
    for arch, record in zip(archs, evaluate(archs), strict=True):
        expected = cost(space.blueprint(arch))
        assert record == {"cost/macs": expected.macs, "cost/params": expected.params, "cost/peak": expected.peak}
        assert all(type(v) is float for v in record.values())
    assert evaluate.metrics == COSTS
    assert not evaluate.test
    assert evaluate([]) == []
