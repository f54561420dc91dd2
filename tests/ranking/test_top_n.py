from __future__ import annotations

from math import isnan

import numpy as np
import pytest

from supernetic.benchmarks import nasbench201
from supernetic.benchmarks.table import Table
from supernetic.ranking.correlation import tau
from supernetic.ranking.top_n import Group, best_first, random_group, tau_a, top_groups, top_share, usage

OPERATIONS = ("none", "skip_connect", "nor_conv_1x1", "nor_conv_3x3", "avg_pool_3x3")


def test_groups_hold_the_best_by_truth() -> None:
    truth = np.arange(100.0)
    score = np.random.default_rng(0).normal(size=100)
    ten, all_ = top_groups(score, truth, [10, 500])
    assert (ten.n, all_.n) == (10, 100)
    assert ten.mean_score == pytest.approx(score[90:].mean())
    assert ten.tau == pytest.approx(tau(score[90:], truth[90:]))
    assert ten.interval[0] <= ten.tau <= ten.interval[1]


def test_sizes_are_cut_to_the_subset() -> None:
    truth = np.arange(64.0)
    assert [g.n for g in top_groups(truth, truth)] == [10, 25, 50, 64]
    assert random_group(truth, truth, np.random.default_rng(0)).n == 64


def test_random_group_is_drawn_without_replacement() -> None:
    truth = np.arange(2000.0)
    group = random_group(truth, truth, np.random.default_rng(0))
    assert group.n == 1000
    assert group.tau == 1.0  # a network drawn twice would tie with itself


def test_top_share_rounds_up() -> None:
    truth = np.arange(15.0)
    assert top_share(truth, truth, 0.1).n == 2


def test_equal_truths_are_taken_in_a_fixed_order() -> None:
    assert best_first(np.array([1.0, 2.0, 2.0, 0.0])).tolist() == [1, 2, 0, 3]


def test_tau_a_is_minus_one_when_the_best_score_highest() -> None:
    def series(means: list[float]) -> list[Group]:
        return [Group(n, 0, (0, 0), m) for n, m in zip((10, 25, 50, 150, 250, 500), means, strict=True)]

    assert tau_a(series([6, 5, 4, 3, 2, 1])) == -1
    assert tau_a(series([1, 2, 3, 4, 5, 6])) == 1
    assert tau_a(series([6, 5, 4, 3, 1, 2])) == pytest.approx(-13 / 15)
    assert isnan(tau_a(series([6, 5, 4, 3, 1, 2])[:1]))


def test_usage_counts_networks_and_share_counts_operations() -> None:
    # the example of "Single-path ranking correlations": 3 of 10 networks use an operation, 4 times in all
    archs = np.zeros((10, 6), dtype=np.int8)
    archs[0, 0] = archs[0, 1] = archs[1, 0] = archs[2, 5] = 4
    counted = usage(archs, OPERATIONS)
    assert counted.usage["avg_pool_3x3"] == pytest.approx(0.3)
    assert counted.share_by_operations["avg_pool_3x3"] == pytest.approx(0.08)
    assert counted.share["avg_pool_3x3"] == pytest.approx(4 / 60)
    assert sum(counted.share.values()) == pytest.approx(1)
    assert sum(counted.share_by_operations.values()) == pytest.approx(1.2)


def best(table: Table, n: int) -> np.ndarray:
    return table.archs[best_first(table["c10_valid_200"].values)[:n]]


def test_figure_3_of_paper_002() -> None:
    table = nasbench201.load()
    ten = usage(best(table, 10), OPERATIONS)
    assert list(ten.usage.values()) == pytest.approx([0.1, 1.0, 0.9, 1.0, 0.1])
    assert list(ten.share.values()) == pytest.approx([0.017, 0.167, 0.217, 0.583, 0.017], abs=5e-4)
    many = usage(best(table, 500), OPERATIONS)
    assert list(many.usage.values()) == pytest.approx([0.55, 0.986, 0.74, 1.0, 0.34])
    assert list(many.share.values()) == pytest.approx([0.113, 0.262, 0.19, 0.374, 0.061], abs=5e-4)
    assert sorted(many.share, key=lambda op: -many.share[op]) == [
        "nor_conv_3x3", "skip_connect", "nor_conv_1x1", "none", "avg_pool_3x3",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("masked", "expected"),
    [
        ("skip_connect", {"none": 0.61, "nor_conv_1x1": 0.906, "nor_conv_3x3": 1.0, "avg_pool_3x3": 0.55}),
        ("nor_conv_3x3", {"none": 0.734, "skip_connect": 0.91, "nor_conv_1x1": 1.0, "avg_pool_3x3": 0.69}),
    ],
)
def test_figure_3_with_an_operation_masked(masked: str, expected: dict[str, float]) -> None:
    table = nasbench201.load().restrict([masked])
    names = [str(o) for o in table.space.choices[0].options]
    assert usage(best(table, 500), names).usage == pytest.approx(expected)


def test_whole_space_uses_all_operations_alike() -> None:
    table = nasbench201.load()
    counted = usage(table.archs, OPERATIONS)
    assert list(counted.usage.values()) == pytest.approx([1 - 0.8**6] * 5)
    assert list(counted.share.values()) == pytest.approx([0.2] * 5)
    masked = table.restrict(["none"])
    assert list(usage(masked.archs, OPERATIONS[1:]).usage.values()) == pytest.approx([1 - 0.75**6] * 4)


def test_gap_between_the_best_and_the_tenth() -> None:
    table = nasbench201.load()
    for masked, gap in (([], 0.183), (["skip_connect"], 0.294)):
        values = np.sort(table.restrict(masked)["c10_valid_200"].values)
        assert values[-1] - values[-10] == pytest.approx(gap, abs=5e-4)
