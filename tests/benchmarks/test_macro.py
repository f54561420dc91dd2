from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from supernetic.benchmarks.macro import load
from supernetic.costs import costs_of

PUBLISHED = Path(__file__).parents[3] / "shared/data/nasbench_macro.npz"


def test_known_facts() -> None:
    table = load()
    assert len(table) == 6561 == table.space.size
    mean = table["mean_acc"].values
    best = table.space.format(table.space.check(table.archs[mean.argmax()]))
    assert (best, round(float(mean.max()), 3)) == ("22212202", 93.127)
    assert len(table.unique()) == 3969


def test_everything_is_test_accuracy() -> None:
    for column in load().columns.values():
        assert column.is_test
        assert (column.dataset, column.epochs, column.unit) == ("CIFAR-10", 50, "%")
    assert load()["acc_s2"].seed == "2"


def test_encodings_of_a_network_repeat_its_numbers() -> None:
    table = load()
    group = table.networks()
    first = np.unique(group, return_index=True)[1]
    assert (table["mean_acc"].values == table["mean_acc"].values[first][group]).all()


@pytest.mark.skipif(not PUBLISHED.exists(), reason="needs ../shared/data/nasbench_macro.npz")
def test_bundled_table_equals_the_published_one() -> None:
    table = load()
    with np.load(PUBLISHED) as published:
        assert (table.archs == published["ops"]).all()
        np.testing.assert_allclose(table["mean_acc"].values, published["mean_acc"], atol=2e-5)
        np.testing.assert_allclose(table["std"].values, published["std"], atol=1e-5)
        np.testing.assert_allclose(table["acc_s1"].values, published["test_acc"][:, 1], atol=1e-5)
        assert (costs_of(table.space, table.archs, "params") == published["params"]).all()
