from __future__ import annotations

from typing import Any

import pytest

from supernetic.errors import InputError
from supernetic.lab.measures.measure import MEASURE_CLASSES, Measure, read_measure
from supernetic.lab.measures.ranking import Ranking


def test_settings_are_fields() -> None:
    made = read_measure({"kind": "ranking", "truth": "mean_acc", "sizes": [5, 10], "valid": 100})
    assert made == Ranking(truth="mean_acc", sizes=(5, 10), valid=100)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"kind": "rnking"}, "did you mean 'ranking'"),
        ({"kind": "ranking"}, "needs truth"),
        ({"kind": "ranking", "truth": 3}, "truth must be text"),
        ({"kind": "ranking", "truth": "a", "sizes": [1.5]}, "list of whole numbers"),
        ({"kind": "ranking", "truth": "a", "trains": False}, "unknown setting of the measure ranking 'trains'"),
    ],
)
def test_bad_settings_are_refused(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        read_measure(settings)


def test_every_kind_exists() -> None:
    for kind in MEASURE_CLASSES:
        truth = {"truth": "mean_acc"} if kind in ("ranking", "usage") else {}
        columns = {"columns": ["mean_acc", "params"]} if kind == "columns" else {}
        assert isinstance(read_measure({"kind": kind, **truth, **columns}), Measure)
