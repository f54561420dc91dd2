from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from supernetic import catalog
from supernetic.benchmarks.transnas import load
from supernetic.costs.live_layers import without_dead

PUBLISHED = Path(__file__).parents[3] / "shared/data/tnb101_micro_scores.npz"


def test_known_facts() -> None:
    table = load()
    assert len(table) == 2128 == len(set(table))
    column = table["valid_acc"]
    assert (column.split, column.is_test, column.unit) == ("valid", False, "%")
    assert table[("valid_acc")].values[list(table).index((2, 3, 2, 3, 2, 3))] == pytest.approx(53.8366, abs=1e-4)
    assert catalog.table("transnas-micro") is table


def test_its_cells_are_those_without_dead_operations() -> None:
    table = load()
    small = catalog.space("transnas-micro:cells=1,channels=4,resolution=32")
    for arch in list(table)[::40]:
        blueprint = small.blueprint(arch)
        assert without_dead(blueprint) == blueprint or not any(arch)


@pytest.mark.skipif(not PUBLISHED.exists(), reason="needs ../shared/data/tnb101_micro_scores.npz")
def test_accuracies_are_the_published_ones() -> None:
    table = load()
    with np.load(PUBLISHED) as published:
        assert np.array_equal(table.archs, published["ops"])
        assert table["valid_acc"].values == pytest.approx(published["valid_acc"].astype(float), abs=1e-4)
