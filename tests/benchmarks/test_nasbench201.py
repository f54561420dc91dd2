from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from supernetic.benchmarks.nasbench201 import function_of, load
from supernetic.costs import costs_of
from supernetic.spaces.nasbench201 import EDGES, NASBench201

PUBLISHED = Path(__file__).parents[3] / "shared/data/nasbench201.npz"
SPACE = NASBench201()


def test_known_facts() -> None:
    table = load()
    assert len(table) == 15_625 == len(set(table))
    valid, test = table["c10_valid_200"].values, table["c10_test_200"].values
    assert (int(valid.argmax()), float(valid.max())) == (6111, 91.6067)
    assert test.max() == test[13714] == test[6111] == 94.37
    assert int(table["c100_test_200"].values.argmax()) == 9930
    assert table["c100_test_200"].values.max() == pytest.approx(73.51, abs=0.005)
    best = table.archs[13714:13715]
    assert round(int(costs_of(table.space, best)[0]) / 1e6, 3) == 153.273
    assert round(int(costs_of(table.space, best, "params")[0]) / 1e6, 3) == 1.073


def test_every_accuracy_says_where_it_comes_from() -> None:
    table = load()
    column = table["in16_valtest_200"]
    assert (column.dataset, column.split, column.epochs, column.seed, column.unit) == (
        "ImageNet16-120", "valid+test", 200, "mean", "%",
    )  # fmt: skip
    assert table["c10_valid_200_s888"].seed == "888"
    assert table["c10_valid_12"].epochs == 12
    for name, column in table.columns.items():
        assert column.is_test == ("test" in name), name
        assert column.unit in ("%", "ms", "s")
        assert column.unit != "%" or (column.dataset and column.split and column.epochs and column.seed)


def test_missing_seeds_are_nan_and_the_mean_is_theirs() -> None:
    table = load()
    seeds = np.array([table[f"c10_valid_200_s{s}"].values for s in (777, 888, 999)])
    assert np.isnan(seeds[2]).sum() == 7456
    assert not np.isnan(seeds[:2]).any()
    assert np.nanmean(seeds, axis=0) == pytest.approx(table["c10_valid_200"].values, abs=1e-4)


def test_latencies() -> None:
    table = load()
    names = [n for n in table.columns if n.startswith("lat_ms_")]
    assert len(names) == 27
    assert all((table[n].values > 0).all() and table[n].unit == "ms" for n in names)


@pytest.mark.skipif(not PUBLISHED.exists(), reason="needs ../shared/data/nasbench201.npz")
def test_bundled_table_equals_the_published_one() -> None:
    table = load()
    with np.load(PUBLISHED) as published:
        genes = np.stack([published[f"op_{i}_{j}"] for i, j in EDGES], axis=1)
        assert (table.archs == genes).all()
        for row in (0, 1234, 15_624):
            assert SPACE.parse(str(published["arch_str"][row])) == tuple(genes[row])
        names = [n for n in published.files if n.split("_")[0] in ("c10", "c100", "in16")]
        assert set(names) == {n for n, c in table.columns.items() if c.unit == "%"}
        for name in names:
            np.testing.assert_allclose(table[name].values, published[name], atol=6e-5)
        assert costs_of(SPACE, table.archs, "params") / 1e6 == pytest.approx(published["params_m"])


def test_equal_functions() -> None:
    def f(text: str) -> object:
        return function_of(SPACE, SPACE.parse(text))

    # a path that ends in `none` does not matter, nor does anything on it
    dead = "|nor_conv_3x3~0|+|none~0|none~1|+|nor_conv_1x1~0|none~1|avg_pool_3x3~2|"
    plain = "|none~0|+|none~0|none~1|+|nor_conv_1x1~0|none~1|none~2|"
    assert f(dead) == f(plain)
    # skips pass nodes on, and the order of a sum is free
    first = "|nor_conv_3x3~0|+|none~0|skip_connect~1|+|skip_connect~0|none~1|skip_connect~2|"
    second = "|nor_conv_3x3~0|+|none~0|none~1|+|skip_connect~0|skip_connect~1|none~2|"
    assert f(first) == f(second)
    # two equal terms are not one
    double = "|nor_conv_3x3~0|+|skip_connect~0|none~1|+|skip_connect~0|none~1|skip_connect~2|"
    assert f(double) != f("|none~0|+|none~0|none~1|+|skip_connect~0|none~1|none~2|")
    assert f("|skip_connect~0|+|none~0|none~1|+|none~0|nor_conv_3x3~1|none~2|") != f(plain)


def test_functional_classes() -> None:
    table = load()
    merged = table.unique()
    assert len(merged) == 4930
    group = table.networks()
    counts = np.bincount(group)
    largest = int(counts.argmax())
    rows = np.flatnonzero(group == largest)
    assert merged["c10_test_200"].values[largest] == pytest.approx(table["c10_test_200"].values[rows].mean())
    assert len(table.restrict(["none", "skip_connect"]).unique()) <= 729
