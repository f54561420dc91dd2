from __future__ import annotations

from math import log

import pytest

from supernetic.selection.decision import decide

from .conftest import Make

CROSSING = {"small": (0.6, 1.0), "large": (0.3, 6.0), "poor": (1.2, 2.0)}


def test_the_best_at_the_largest_rung_is_taken(make: Make) -> None:
    d = decide(make(CROSSING, noise=0.002))
    assert (d.model, d.open) == ("large", ())
    assert d.sure > 0.99
    assert [r.model for r in d.rivals] == ["small", "poor"]
    assert d.rivals[0].difference == pytest.approx(0.3 - 5 * 800**-0.5, abs=0.02)
    assert d.rivals[0].low < d.rivals[0].difference < d.rivals[0].high
    assert (d.stable_from, d.stable_by_error) == (400, 400)
    assert d.significant_from == 400


def test_what_noise_could_turn_round_is_not_significant(make: Make) -> None:
    d = decide(make({"a": (0.5, 4.0), "b": (0.501, 4.0), "c": (2.0, 4.0)}, noise=0.05))
    assert sorted((d.model, *d.open)) == ["a", "b"]
    assert d.significant_from is None
    assert 0.2 < d.sure < 0.98


def test_with_one_seed_nothing_is_significant(make: Make) -> None:
    d = decide(make(CROSSING, seeds=(1, 1, 1, 1), noise=0))
    assert (d.model, d.open, d.significant_from) == ("large", ("small", "poor"), None)


def test_curves_foretell_what_more_data_is_worth(make: Make) -> None:
    d = decide(make(CROSSING, noise=0.002))
    worth = {(w.model, w.times): w for w in d.worth}
    truth = 0.3 + 6 * 1600**-0.5
    twice = worth["large", 2]
    assert twice.size == 1600
    assert twice.low < truth < twice.high
    assert twice.gain_low < 6 * (800**-0.5 - 1600**-0.5) < twice.gain_high
    assert worth["large", 4].best > 0.95
    assert [c.held for c in d.checks] == [True] * 3


def test_description_lengths_weigh_the_whole_profile(make: Make) -> None:
    p = make(CROSSING, noise=0, spread=1e-6)
    d = decide(p)
    lengths = {x.model: x.total for x in d.lengths}
    large = [0.3 + 6 * n**-0.5 for n in (100, 200, 400)]
    assert lengths["large"] == pytest.approx(100 * log(10) + 100 * large[0] + 200 * large[1] + 400 * large[2], rel=1e-4)
    assert [x.total for x in d.lengths] == sorted(lengths.values())
    assert d.lengths[0].labels == 800
