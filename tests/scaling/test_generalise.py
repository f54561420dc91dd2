from math import isnan

import numpy as np
import pytest

from supernetic.errors import InputError, UnknownNameError
from supernetic.scaling.generalise import (
    DEFAULT_FAMILY,
    FAMILIES,
    LAST_SEARCHED_STAGE,
    TABLE_3,
    compare,
    fit,
    generalise,
    left_out_error,
    table_3_error,
)
from supernetic.strategy import ceil_of

SEARCHED_ROWS = TABLE_3[1 : LAST_SEARCHED_STAGE + 1]


def test_table_3_in_pixels() -> None:
    assert [ceil_of(224 * r) for _, _, r in TABLE_3] == [224, 256, 304, 354, 458, 533]


@pytest.mark.parametrize(
    ("family", "stage_4", "stage_5"),
    [
        ("linear", (1.640, 1.469, 1.740), (1.800, 1.586, 1.925)),
        ("squared", (1.724, 1.703, 1.866), (1.979, 2.084, 2.193)),
        ("exponential", (1.709, 1.512, 1.832), (1.954, 1.677, 2.132)),
        ("growth", (1.720, 1.809, 1.882), (1.980, 2.556, 2.257)),
        ("power", (1.716, 1.686, 1.837), (1.943, 2.036, 2.110)),
        ("stretched", (1.739, 1.729, 1.874), (2.020, 2.212, 2.227)),
    ],
)
def test_extrapolations_of_table_3(family: str, stage_4: tuple[float, ...], stage_5: tuple[float, ...]) -> None:
    growth = generalise(SEARCHED_ROWS, family)
    assert growth(4) == pytest.approx(stage_4, abs=6e-4)
    assert growth(5) == pytest.approx(stage_5, abs=6e-4)
    assert growth(0) == (1, 1, 1)


@pytest.mark.parametrize(
    ("family", "percent"),
    [
        ("exponential", 6.6),
        ("half", 7.0),
        ("one-and-a-half", 7.5),
        ("double", 8.1),
        ("line", 8.3),
        ("free-exponential", 8.6),
        ("linear", 10.4),
        ("power", 11.5),
        ("squared", 12.1),
        ("growth", 22.8),
    ],
)
def test_no_family_reproduces_stages_4_and_5(family: str, percent: float) -> None:
    assert 100 * table_3_error(family) == pytest.approx(percent, abs=0.06)
    assert table_3_error(family) >= table_3_error(DEFAULT_FAMILY)


def test_one_parameter_fits_by_brute_force() -> None:
    """The least squares of a one-parameter family over a fine grid."""
    values, j = np.array([1.08, 1.36, 1.48]), np.arange(1, 4)
    a = np.linspace(1, 1.5, 500_001)
    best = a[np.argmin(((a[:, None] ** j - values) ** 2).sum(axis=1))]
    assert 1 + fit("exponential", values.tolist()).parameters[0] == pytest.approx(best, abs=2e-6)


def test_linear_and_squared_in_closed_form() -> None:
    y = [1.08, 1.36, 1.48]
    assert fit("linear", y).parameters[0] == pytest.approx((0.08 + 2 * 0.36 + 3 * 0.48) / 14)
    flat = fit("squared", [1.3, 1.4, 1.45])  # bends downwards: a0 stays positive
    assert 0 < flat.parameters[0] < 1e-6
    assert flat.parameters[1] == pytest.approx((0.3 + 2 * 0.4 + 3 * 0.45) / 14, rel=1e-4)


@pytest.mark.parametrize("family", FAMILIES)
def test_recovers_itself(family: str) -> None:
    made = FAMILIES[family]
    truth = np.array([0.12, 0.9][: len(made.start)])
    y = made.value(np.arange(1.0, 5.0), truth)
    found = fit(family, y.tolist())
    assert found.residual < 1e-6
    assert found(6) == pytest.approx(float(made.value(np.array([6.0]), truth)[0]), rel=1e-4)


def test_the_true_family_wins_by_the_stage_left_out() -> None:
    rows = [(1 + 0.1 * j, 1 + 0.2 * j, 1 + 0.05 * j) for j in range(1, 5)]
    best = compare(rows)
    assert best[0].left_out < 1e-6
    assert best[0](6) == pytest.approx((1.6, 2.2, 1.3), abs=1e-4)
    assert left_out_error(rows, "exponential") > 0.01
    errors = [g.left_out for g in best]
    assert errors == sorted(errors)


def test_left_out_error_by_hand() -> None:
    """Linear through two stages: the one left predicts the other."""
    assert left_out_error([(1.1, 1.1, 1.1), (1.4, 1.4, 1.4)], "linear") == pytest.approx(
        np.sqrt(((1.2 / 1.1 - 1) ** 2 + (1.2 / 1.4 - 1) ** 2) / 2), rel=1e-6
    )
    assert isnan(left_out_error([(1.1, 1.1, 1.1), (1.4, 1.4, 1.4)], "squared"))


def test_few_stages() -> None:
    families = {g.family for g in compare([(1.1, 1.1, 1.1)])}
    assert families == {"exponential", "linear", "half", "one-and-a-half", "double"}


def test_refusals() -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'exponential'"):
        fit("exponental", [1.1])
    with pytest.raises(InputError, match="needs at least 2 stages, got 1"):
        fit("squared", [1.1])
    with pytest.raises(InputError, match="positive factor for each of 2 stages"):
        fit("linear", [1.1, -2.0])
    with pytest.raises(InputError, match="a strategy must have the factors depth, width, resolution"):
        generalise([(1.1, 1.2)])
