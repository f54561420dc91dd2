from __future__ import annotations

from pathlib import Path

import pytest
from scipy import stats

from supernetic.costs import cost
from supernetic.lab.measures.measure import trained_space
from supernetic.lab.measures.order import Order
from supernetic.ranking.robustness import subnets
from supernetic.spaces.macro import Macro


def test_correlations_with_macs(run: Path) -> None:
    measure = Order(n=12, valid=20, score="valid/cross_entropy")
    found = measure(run, Macro(), lambda *_: None)
    space = trained_space(run)
    archs = subnets(space, n=12)
    scores = measure.scores(run, archs, lambda *_: None)
    macs = [cost(space.blueprint(tuple(a))).macs for a in archs.tolist()]
    assert found.values["pearson"] == pytest.approx(stats.pearsonr(scores, macs).statistic)
    assert found.values["spearman"] == pytest.approx(stats.spearmanr(scores, macs).statistic)
    alike = sum((scores[i] - scores[j]) * (macs[i] - macs[j]) > 0 for i in range(12) for j in range(i))
    assert found.values["tau_scalenet"] == pytest.approx(abs(2 * alike - 66) / 66)
    assert found.values["mean"] == pytest.approx(scores.mean())
    assert set(found.values) == set(measure.check(space))
