from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from supernetic.datasets import Dataset, load
from supernetic.datasets.balance import balanced_order, choose_balance, class_weights
from supernetic.datasets.batches import Batches
from supernetic.errors import InputError

LABELS = np.array([0] * 60 + [1] * 30 + [3] * 10)


def unequal(ratio: int) -> Dataset:
    """The embedded images, of whose first class only every so many trains."""
    data = load("embedded", limit=600)
    train = data.splits["train"]
    first = train[data.labels[train] == 0]
    gone = np.setdiff1d(first, first[::ratio])
    spare = np.sort(np.concatenate([data.splits["calibrate"], gone]))
    return replace(data, splits={**data.splits, "train": np.setdiff1d(train, gone), "calibrate": spare})


def test_weights_let_every_class_count_alike_with_a_mean_of_one() -> None:
    weights = class_weights(LABELS, 4)
    counts = np.bincount(LABELS, minlength=4)
    assert (weights * counts)[[0, 1, 3]] == pytest.approx([100 / 3] * 3)
    assert weights[2] == 0
    assert weights[LABELS].mean() == pytest.approx(1)


def test_an_image_counts_at_most_ten_times_as_much_as_one_of_the_largest_class() -> None:
    labels = np.array([0] * 500 + [1] * 50 + [2])
    weights = class_weights(labels, 3)
    assert weights / weights[0] == pytest.approx([1, 10, 10])
    assert weights[labels].mean() == pytest.approx(1)
    drawn = balanced_order(np.arange(551), labels, np.random.default_rng(0))
    assert len(drawn) == 551
    assert 5 <= (drawn == 550).sum() <= 6  # not 184 times


def test_a_balanced_epoch_is_as_long_and_has_equally_many_of_each_class() -> None:
    rows = np.arange(1000, 1100)
    drawn = balanced_order(rows, LABELS, np.random.default_rng(0))
    assert len(drawn) == 100
    counts = np.bincount(LABELS[drawn - 1000], minlength=4)
    assert counts[2] == 0
    assert set(counts[[0, 1, 3]]) <= {33, 34}
    small = np.bincount(drawn[LABELS[drawn - 1000] == 3] - 1090)
    assert small.max() - small.min() <= 1  # each image of the smallest class comes about equally often
    assert len(set(drawn[LABELS[drawn - 1000] == 0])) == counts[0]  # none of the largest class comes twice


def test_balanced_batches_are_a_function_of_seed_and_step() -> None:
    data = unequal(8)
    one, other = (Batches(data, batch_size=32, seed=3, balanced=True) for _ in range(2))
    late = [other.batch(step) for step in (7, 20)]
    early = [one.batch(step) for step in range(21)]
    for (x, y), (x2, y2) in zip((early[7], early[20]), late, strict=True):
        assert x.equal(x2)
        assert y.equal(y2)
    labels = np.concatenate([y.numpy() for _, y in early[: one.steps_per_epoch]])
    plain = Batches(data, batch_size=32, seed=3)
    unbalanced = np.concatenate([plain.batch(s)[1].numpy() for s in range(one.steps_per_epoch)])
    assert (labels == 0).mean() > 0.07 > 0.03 > (unbalanced == 0).mean()


def test_processes_share_a_balanced_batch() -> None:
    data = unequal(8)
    whole = Batches(data, batch_size=32, balanced=True).batch(5)[1]
    parts = [Batches(data, batch_size=32, rank=r, world=2, balanced=True).batch(5)[1] for r in (0, 1)]
    assert whole.tolist() == [*parts[0].tolist(), *parts[1].tolist()]


def test_auto_balances_only_what_is_clearly_unequal_and_says_so() -> None:
    assert choose_balance("auto", unequal(1), classes_alike=True) == ("none", ())
    assert choose_balance("auto", unequal(2), classes_alike=True) == ("none", ())
    way, (note,) = choose_balance("auto", unequal(8), classes_alike=True)
    assert way == "sampling"
    smallest = min(unequal(8).counts("train"))
    assert f"'t-shirt' has {smallest}" in note


def test_auto_does_not_lower_the_accuracy_that_counts() -> None:
    way, (note,) = choose_balance("auto", unequal(8))
    assert way == "none"
    assert "--balance sampling if small classes matter as much" in note


@pytest.mark.parametrize("way", ["none", "weights", "sampling"])
def test_what_is_asked_for_is_done_without_a_word(way: str) -> None:
    assert choose_balance(way, unequal(8)) == (way, ())


def test_a_recipe_comes_before_auto() -> None:
    assert choose_balance("auto", unequal(8), "weights") == ("weights", ())
    assert choose_balance("none", unequal(8), "sampling") == ("none", ())


def test_an_unknown_way_is_refused() -> None:
    with pytest.raises(InputError, match="way to balance classes"):
        choose_balance("half", unequal(1))
