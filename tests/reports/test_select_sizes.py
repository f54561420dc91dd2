from __future__ import annotations

from typing import Any

import pytest

from supernetic.reports.select_sizes import family_of, size_curves

LABELS = {"calibrated_cross_entropy": "calibrated cross-entropy, nats"}


def record(costs: dict[str, int]) -> dict[str, Any]:
    """Two sizes; the score of a model is its place in the order given."""
    return {
        "sizes": [50, 1000],
        "costs": {m: [1, n] for m, n in costs.items()},
        "profiles": {
            m: {"calibrated_cross_entropy": {"mean": [2.0 + i, 1.0 + i], "sd": [0.1, None]}}
            for i, m in enumerate(costs)
        },
    }


@pytest.mark.parametrize(
    ("model", "family"),
    [("mlp:width=8,depth=1", "mlp"), ("logistic", "logistic"), ("a/b.py:wide", "a/b.py:wide"), ("s:c=1/x", "s:c=1/x")],
)
def test_families(model: str, family: str) -> None:
    assert family_of(model) == family


def test_members_stand_in_the_order_of_their_parameters() -> None:
    found = size_curves(record({"mlp:width=9": 9000, "logistic": 10, "mlp:width=<3>": 3000}), LABELS)
    assert [(c.family, c.members) for c in found] == [("mlp", ("mlp:width=<3>", "mlp:width=9"))]
    (plot,) = found[0].plots
    assert plot.svg.index(">3K<") < plot.svg.index(">9K<")
    assert plot.svg.count('class="series') == 2
    assert "1,000 images, 3K\ncalibrated cross-entropy, nats 3.000" in plot.svg
    assert "50 images, 9K\ncalibrated cross-entropy, nats 2.000 ± 0.100" in plot.svg


def test_families_of_one_have_no_curve() -> None:
    assert size_curves(record({"mlp": 5, "resnet": 6}), LABELS) == []
