from __future__ import annotations

import json

import numpy as np
import pytest
from scipy.stats import kendalltau

from supernetic.errors import InputError
from supernetic.ranking.robustness import SUBNET_COUNT, robustness, subnets
from supernetic.spaces.macro import Macro


def test_subnets_are_the_papers_number_and_the_same_for_every_supernet() -> None:
    archs = subnets(Macro())
    assert archs.shape == (SUBNET_COUNT, 8) == (1024, 8)
    assert np.array_equal(archs, subnets(Macro()))


def test_pairs_differ_in_one_thing_only() -> None:
    rng = np.random.default_rng(0)
    truth = rng.normal(size=200)
    scores = {(seed, step): truth + rng.normal(size=200) * 30 / step for seed in (0, 1) for step in (30, 360)}
    result = robustness(scores)
    assert [(a.first, a.second) for a in result.between_seeds] == [((0, 30), (1, 30)), ((0, 360), (1, 360))]
    assert [(a.first, a.second) for a in result.early_and_late] == [((0, 30), (0, 360)), ((1, 30), (1, 360))]
    # There are no ties, so scipy's tau-b is ours.
    for a in (*result.between_seeds, *result.early_and_late):
        assert a.tau == pytest.approx(kendalltau(scores[a.first], scores[a.second]).statistic)
        assert a.interval[0] < a.tau < a.interval[1]
    assert result.between_seeds[0].tau < result.between_seeds[1].tau
    assert json.loads(json.dumps(result.to_json()))["between_seeds"][0]["n"] == 200


def test_nothing_to_compare_is_refused() -> None:
    with pytest.raises(InputError, match="two seeds at one step"):
        robustness({(0, 30): [1.0, 2.0], (1, 360): [2.0, 1.0]})
    with pytest.raises(InputError, match="same sub-networks"):
        robustness({(0, 30): [1.0, 2.0], (1, 30): [2.0, 1.0, 3.0]})
