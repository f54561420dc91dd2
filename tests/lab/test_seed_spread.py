from __future__ import annotations

from math import isnan

import numpy as np
import pytest
from scipy import stats

from supernetic.lab.seed_spread import contrast, spread

RNG = np.random.default_rng(0)


def grid(variants: int, seeds: int) -> dict[str, dict[int, float]]:
    return {f"v{i}": {s: float(RNG.normal(i, 1)) for s in range(seeds)} for i in range(variants)}


def test_two_variants_give_the_paired_t_interval() -> None:
    values = grid(2, 4)
    found = contrast(values, "v1", "v0")
    a, b = ([*values[v].values()] for v in ("v1", "v0"))
    low, high = stats.ttest_rel(a, b).confidence_interval(0.95)
    assert (found.low, found.high) == pytest.approx((low, high))
    assert found.value == pytest.approx(np.mean(a) - np.mean(b))
    assert found.n == 4


def test_several_variants_share_their_noise() -> None:
    """Against the residuals of a least-squares fit of variant + seed."""
    values = grid(5, 3)
    y = np.array([[*v.values()] for v in values.values()])
    design = np.zeros((15, 8))
    for row, (i, s) in enumerate(np.ndindex(5, 3)):
        design[row, i] = design[row, 5 + s] = 1
    fitted = design @ np.linalg.lstsq(design, y.ravel(), rcond=None)[0]
    noise = ((y.ravel() - fitted) ** 2).sum() / (4 * 2)
    reach = stats.t.ppf(0.975, 8) * np.sqrt(noise * 2 / 3)
    found = contrast(values, "v3", "v1")
    assert found.high - found.value == pytest.approx(reach)


def test_intervals_cover_what_they_should() -> None:
    rng = np.random.default_rng(1)
    hits = 0
    for _ in range(400):
        seeds = rng.normal(0, 1, 2)
        values = {f"v{i}": {s: i + seeds[s] + rng.normal(0, 0.3) for s in range(2)} for i in range(4)}
        found = contrast(values, "v2", "v1")
        hits += found.low <= 1 <= found.high
    assert 0.91 <= hits / 400 <= 0.985


def test_the_spread_of_one_variant() -> None:
    values = {"a": {0: 1.0, 1: 3.0}, "b": {0: 5.0, 1: 5.0}}
    found = spread(values, "a")
    assert (found.n, found.mean) == (2, 2.0)
    assert found.sd == pytest.approx(np.sqrt(2))
    assert found.high - 2 == pytest.approx(stats.t.ppf(0.975, 2) * np.sqrt(2 / 2 / 2))  # squares 2 + 0, freedom 2


def test_one_seed_has_no_interval_and_gaps_are_left_out() -> None:
    alone = contrast({"a": {0: 1.0}, "b": {0: 2.0}}, "a", "b")
    assert (alone.n, alone.value) == (1, -1.0)
    assert isnan(alone.low)
    gaps = {"a": {0: 1.0, 1: 2.0, 2: float("nan")}, "b": {0: 0.0, 1: 0.0, 2: 0.0}, "c": {0: 1.0}}
    assert (contrast(gaps, "a", "b").n, contrast(gaps, "a", "b").value) == (2, 1.5)
    assert contrast(gaps, "a", "missing").n == 0
    assert isnan(spread(gaps, "missing").mean)
