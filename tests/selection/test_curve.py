from __future__ import annotations

import numpy as np
import pytest

from supernetic.selection.curve import fit_curve

SIZES = [250, 500, 1000, 2000, 4000]
N = np.array(SIZES)


@pytest.mark.parametrize(("a", "b", "c"), [(0.2, 20.0, 0.7), (0.0, 3.0, 0.3), (0.5, 500.0, 1.2)])
def test_a_power_law_is_found_again(a: float, b: float, c: float) -> None:
    curve = fit_curve(SIZES, a + b * N**-c)
    for n in (*SIZES, 8000, 32_000):
        assert curve(n) == pytest.approx(a + b * n**-c, rel=0.02)


def test_many_profiles_are_fitted_at_once_and_never_fall_below_zero() -> None:
    rng = np.random.default_rng(0)
    rows = 0.1 + 10 * N**-0.6 + 0.01 * rng.standard_normal((20, 5))
    curve = fit_curve(SIZES, rows)
    alone = [float(fit_curve(SIZES, row)(9000)) for row in rows]
    np.testing.assert_allclose(curve(9000), alone)
    assert (curve(1e9) >= 0).all()
    assert (curve.b >= 0).all()


def test_a_profile_that_rises_stays_level() -> None:
    curve = fit_curve(SIZES, np.linspace(0.3, 0.5, 5))
    assert curve(100_000) == pytest.approx(0.4)


def test_certain_sizes_weigh_more() -> None:
    y = np.array([1.0, 0.8, 0.64, 0.512, 0.9])  # the last is off
    trusting = fit_curve(SIZES, y, np.array([1, 1, 1, 1, 1e-6]))
    assert trusting(4000) < fit_curve(SIZES, y)(4000)
    assert trusting(4000) == pytest.approx(0.8**4, abs=0.02)
