from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from supernetic.datasets.dataset import SPLITS, Indices
from supernetic.datasets.splits import split, subset
from supernetic.errors import InputError

SHARES = {"valid": 0.1, "calibrate": 0.05, "test": 0.15}


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(1, 40), min_size=2, max_size=5), st.integers(0, 5), st.booleans())
def test_every_image_is_in_exactly_one_split_and_every_class_is_trained_on(
    sizes: list[int], seed: int, has_test: bool
) -> None:
    labels = np.random.default_rng(seed).permutation(np.repeat(np.arange(len(sizes)), sizes))
    rows = np.arange(len(labels))
    parts = {"train": rows[:: 2 if has_test else 1]}
    if has_test:
        parts["test"] = rows[1::2]
    made = split(labels, parts, SHARES, seed)
    assert tuple(made) == SPLITS
    assert np.array_equal(np.sort(np.concatenate(list(made.values()))), rows)
    assert set(labels[made["train"]]) == set(labels[parts["train"]])
    if has_test:
        assert np.array_equal(made["test"], parts["test"])


def test_shares_hold_in_each_class_and_the_seed_decides() -> None:
    labels = np.repeat(np.arange(3), (1000, 200, 40))
    given: dict[str, Indices] = {"train": np.arange(len(labels))}
    made = split(labels, given, SHARES, 0)
    assert np.bincount(labels[made["valid"]]).tolist() == [100, 20, 4]
    assert np.bincount(labels[made["calibrate"]]).tolist() == [50, 10, 2]
    assert np.bincount(labels[made["test"]]).tolist() == [150, 30, 6]
    assert all(np.array_equal(made[s], split(labels, given, SHARES, 0)[s]) for s in SPLITS)
    assert not np.array_equal(made["valid"], split(labels, given, SHARES, 1)["valid"])


def test_a_number_of_images_instead_of_a_share() -> None:
    labels = np.repeat(np.arange(2), 500)
    made = split(labels, {"train": np.arange(1000)}, {"valid": 100, "calibrate": 0, "test": 0}, 0)
    assert [len(made[s]) for s in SPLITS] == [900, 100, 0, 0]


def test_small_classes_serve_training_first() -> None:
    labels = np.repeat(np.arange(4), (1, 2, 3, 4))
    made = split(labels, {"train": np.arange(10)}, SHARES, 0)
    counts = {s: np.bincount(labels[made[s]], minlength=4).tolist() for s in SPLITS}
    assert counts == {"train": [1, 1, 1, 1], "valid": [0, 1, 1, 1], "test": [0, 0, 1, 1], "calibrate": [0, 0, 0, 1]}


@pytest.mark.parametrize("shares", [{**SHARES, "valid": 0.8}, {**SHARES, "valid": -0.1}, {**SHARES, "valid": 1000}])
def test_impossible_shares(shares: dict[str, float]) -> None:
    with pytest.raises(InputError, match="valid"):
        split(np.zeros(10, dtype=np.int64), {"train": np.arange(10)}, shares, 0)


def test_a_subset_keeps_proportions_and_grows() -> None:
    labels = np.random.default_rng(0).permutation(np.repeat(np.arange(3), (600, 300, 100)))
    given = {"train": np.arange(800), "test": np.arange(800, 1000)}
    small, large = subset(labels, given, 100, 0), subset(labels, given, 200, 0)
    assert sum(map(len, small.values())) == 100
    assert sum(map(len, large.values())) == 200
    for name in given:
        whole = np.bincount(labels[given[name]])
        assert np.abs(np.bincount(labels[large[name]], minlength=3) - whole / 5).max() <= 2
        assert set(small[name]) <= set(large[name]) <= set(given[name])
    assert subset(labels, given, 1000, 0)["train"] is given["train"]
    with pytest.raises(InputError, match="a limit of 5 images is below 6"):
        subset(labels, given, 5, 0)
