from __future__ import annotations

from fractions import Fraction
from math import inf

import pytest

from supernetic.errors import InputError, UnknownNameError
from supernetic.lab.accounting import (
    BUDGETS_M_MACS,
    EPOCHS_BY_METHOD,
    SearchCost,
    break_even,
    in_v100_days,
    search_costs,
)
from supernetic.scaling.compound import grid_cases


def figure(records: list[SearchCost], method: str, what: str, unit: str) -> SearchCost:
    (record,) = [r for r in records if (r.method, r.what, r.unit) == (method, what, unit)]
    return record


# method, what, unit, printed, recomputed, tolerance of the recomputed
FIGURES = [
    ("MnasNet", "training", "epochs", 1_600_000, 1_600_000, 0),
    ("ProxylessNAS", "training", "epochs", 20_000, 20_000, 0),
    ("OFA", "training", "epochs", 3_590, 3_590, 0),
    ("AttentiveNAS", "training", "epochs", 1_440, 1_440, 0),
    ("EfficientNet", "grid cases", "cases", 10_285, 10_285, 0),
    ("EfficientNet", "search", "days", 1714, 1714.2, 0.05),
    ("EfficientNet-X", "grid cases", "cases", 10_591, 10_591, 0),
    ("EfficientNet-X", "search", "days", 1756, 1765.2, 0.05),  # digits swapped in the paper
    ("EfficientNet-B0", "search", "days", 3792, 3791.7, 0.05),
    ("BigNAS", "training", "hours", 23_040, 23_040, 0),
    ("BigNAS", "training", "days", 960, 960, 0),
    ("BigNAS", "search", "days", 268, 268.5, 0.05),
    ("BigNAS", "total", "days", 1228, 1228.5, 0.05),
    ("BigNAS", "total / ScaleNet's", "times", 2.53, 2.53, 0.005),
    ("FBNetV2", "total", "hours", 39_182, 39_364, 0.5),  # the paper's sum of budgets is wrong here
    ("FBNetV2", "total", "days", 1633, 1640.2, 0.05),
    ("OFA", "large model", "hours", 20_667, 20_666.7, 0.05),
    ("OFA", "scaled models", "hours", 15_000, 15_000, 0),
    ("OFA", "total", "hours", 35_667, 35_666.7, 0.05),
    ("OFA", "total", "days", 1486, 1486.1, 0.05),
    ("MnasNet", "total", "hours", 5_077_706, 5_077_706, 0.5),
    ("MnasNet", "total", "days", 211_571, 211_571, 0.5),
    ("ScaleNet", "training", "days", 379, 379, 0),
    ("ScaleNet", "search", "days", 106, 106, 0),
    ("ScaleNet", "total", "days", 485, 485, 0),
    ("ScaleNet", "with retraining", "days", 765, 765, 0),
]


@pytest.mark.parametrize(("method", "what", "unit", "printed", "recomputed", "tolerance"), FIGURES)
def test_figures(method: str, what: str, unit: str, printed: float, recomputed: float, tolerance: float) -> None:
    record = figure(search_costs(), method, what, unit)
    assert record.printed == printed
    assert record.recomputed == pytest.approx(recomputed, abs=tolerance)
    assert record.paper == ("AttentiveNAS" if unit == "epochs" else "ScaleNet")


def test_every_figure_is_tested() -> None:
    assert {(r.method, r.what, r.unit) for r in search_costs()} == {f[:3] for f in FIGURES}


def test_the_paper_is_recomputed_but_for_the_figures_with_a_reason() -> None:
    off = [r for r in search_costs() if r.printed is not None and abs(r.printed / r.recomputed - 1) > 2e-3]
    assert {r.method for r in off} == {"EfficientNet-X", "FBNetV2"}
    assert all(r.note for r in off)


def test_printed_sum_of_fbnetv2() -> None:
    (wrong,) = [r.recomputed for r in search_costs(budgets=[21_550]) if r.method == "FBNetV2" and r.unit == "hours"]
    assert wrong == pytest.approx(39_182, abs=0.5)


def test_grid_cases_by_rational_arithmetic() -> None:
    steps = [Fraction(n, 100) for n in range(100, 201)]
    squares = [w * w * r * r for w in steps for r in steps]
    low, high = Fraction(19, 10), Fraction(21, 10)
    candidates = [s for s in squares if s <= high]
    count = sum(low <= d * s <= high for d in steps for s in candidates)
    assert grid_cases(exact=True) == count == 10_286
    assert grid_cases() == 10_285


def test_break_even() -> None:
    assert break_even() == pytest.approx((1440 - 590) / 75)
    for n in (11, 12):  # on either side of 11.3
        epochs = {r.method: r.recomputed for r in search_costs(deployments=n) if r.unit == "epochs"}
        assert (epochs["AttentiveNAS"] < epochs["OFA"]) == (n > break_even())
    assert break_even("OFA", "AttentiveNAS") == inf
    assert break_even("MnasNet", "ProxylessNAS") == inf
    assert break_even("ProxylessNAS", "MnasNet") == 0
    with pytest.raises(UnknownNameError, match="did you mean 'OFA'"):
        break_even("AttentiveNAS", "OFAA")


def test_other_inputs_have_no_printed_figure() -> None:
    records = search_costs(deployments=10, budgets=(350, 800, 1500))
    assert figure(records, "OFA", "training", "epochs").recomputed == EPOCHS_BY_METHOD["OFA"].once + 750
    assert figure(records, "OFA", "training", "epochs").printed is None
    assert figure(records, "AttentiveNAS", "training", "epochs").printed == 1_440  # the same for any N
    assert figure(records, "OFA", "scaled models", "hours").recomputed == 75 * 10 * 2
    assert figure(records, "BigNAS", "training", "days").recomputed == pytest.approx(96 * 1.5)
    assert figure(records, "MnasNet", "total", "hours").recomputed == pytest.approx(91_000 * 2650 / 388)
    assert figure(records, "FBNetV2", "total", "hours").printed is None
    assert search_costs(budgets=BUDGETS_M_MACS[::-1]) == search_costs()


def test_device_speeds() -> None:
    assert in_v100_days(10, "TPUv3") == pytest.approx(27)
    assert in_v100_days(10, "TPUv2") == in_v100_days(10, "V100") == 10
    assert in_v100_days(10, "V100", {"V100": 2}) == 10
    assert in_v100_days(10, "TPUv2", {"V100": 2}) == 5
    records = search_costs()
    bignas, ours = figure(records, "BigNAS", "total", "days"), figure(records, "ScaleNet", "total", "days")
    assert bignas.v100_days is not None
    assert ours.v100_days is not None
    assert bignas.v100_days / ours.v100_days == pytest.approx(2.7 * 2.533, abs=0.005)
    hours = figure(records, "OFA", "total", "hours")
    assert hours.v100_days == pytest.approx(hours.recomputed / 24)
    assert all((r.v100_days is None) == (r.unit in ("epochs", "cases", "times")) for r in records)
    slower = figure(search_costs(speeds={"TPUv3": 2}), "BigNAS", "total", "days")
    assert slower.v100_days == pytest.approx(2 * bignas.recomputed)


def test_bad_input() -> None:
    with pytest.raises(InputError, match="deployments must be at least 1, got 0"):
        search_costs(deployments=0)
    for budgets in ([], [350, 0], [350, inf]):
        with pytest.raises(InputError, match="budgets must be positive"):
            search_costs(budgets=budgets)
    with pytest.raises(UnknownNameError, match="did you mean 'TPUv3'"):
        search_costs(speeds={"TPU3": 2.7})
    with pytest.raises(InputError, match="speed of TPUv3 must be a positive number, got -1"):
        in_v100_days(1, "V100", {"TPUv3": -1})
