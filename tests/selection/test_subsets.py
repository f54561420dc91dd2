from __future__ import annotations

import numpy as np
import pytest

from supernetic.datasets import Dataset, load
from supernetic.errors import InputError
from supernetic.selection.subsets import (
    SubsetSchedule,
    auto_sizes,
    available_rows,
    make_schedule,
    order,
    parse_sizes,
    parts,
    take_subset,
)


@pytest.fixture(scope="module")
def data() -> Dataset:
    return load("embedded", limit=1500, resolution=8)


def rows_of(part: Dataset, split: str) -> set[int]:
    """Which images of the source a split has."""
    return {int(r) for r in part.rows[part.splits[split]]}


@pytest.mark.parametrize("stratified", [False, True])
@pytest.mark.parametrize("on", ["test", "valid"])
def test_subsets_are_nested_in_both_parts_and_nothing_leaks(data: Dataset, on: str, stratified: bool) -> None:
    sizes = (50, 100, 333, 1000)
    for seed in (0, 1):
        subset_trainings = [take_subset(data, n, seed, on, stratified=stratified) for n in sizes]
        scored = rows_of(data, on)
        for n, small, large in zip(sizes, subset_trainings, subset_trainings[1:], strict=False):
            for split in ("train", "calibrate"):
                assert rows_of(small, split) < rows_of(large, split)
            assert len(rows_of(small, "calibrate")) == n // 10
            assert len(rows_of(small, "train")) == n - n // 10
        largest = subset_trainings[-1]
        assert rows_of(largest, on) == scored
        seen = rows_of(largest, "train"), rows_of(largest, "calibrate"), scored
        assert len(set().union(*seen)) == sum(map(len, seen)) == len(largest.images)
        if on == "valid":
            assert not set().union(*seen) & rows_of(data, "test")
    assert rows_of(take_subset(data, 100, 0), "train") != rows_of(take_subset(data, 100, 1), "train")


def test_pixels_and_labels_follow_their_rows(data: Dataset) -> None:
    part = take_subset(data, 60, 3)
    at = np.searchsorted(data.rows, part.rows)
    np.testing.assert_array_equal(part.images, data.images[at])
    np.testing.assert_array_equal(part.labels, data.labels[at])
    assert part.moments != data.moments  # normalised by what it may see


def test_stratified_subsets_have_all_classes_in_proportion(data: Dataset) -> None:
    rows = available_rows(data, "test")
    share = np.bincount(data.labels[rows]) / len(rows)
    for n in (50, 100, 400):
        counts = np.bincount(data.labels[order(rows, data.labels, 0, stratified=True)[:n]], minlength=10)
        assert np.abs(counts - n * share).max() <= 2
    plain = np.bincount(data.labels[order(rows, data.labels, 0)[:400]], minlength=10)
    assert np.abs(plain - 400 * share).max() > 2


def test_parts_are_a_partition() -> None:
    train, calibrate = parts(np.arange(100, 137), 33)
    assert calibrate.tolist() == [109, 119, 129]
    assert sorted([*train, *calibrate]) == list(range(100, 133))


def test_automatic_sizes_double_up_to_all_there_are() -> None:
    assert auto_sizes(8000, 10) == (250, 500, 1000, 2000, 4000, 8000)
    assert auto_sizes(50_000, 10)[-3:] == (16_000, 32_000, 50_000)
    assert auto_sizes(60_000, 10)[-2:] == (32_000, 60_000)
    assert auto_sizes(100, 10) == (100,)


def test_a_schedule_from_text(data: Dataset) -> None:
    subsets = make_schedule("400,100,200,50,800", 2, data)
    assert (subsets.sizes, subsets.seeds) == ((50, 100, 200, 400, 800), (4, 4, 2, 2, 2))
    assert subsets.middle == 200
    assert SubsetSchedule((100, 200, 400, 800), (1,) * 4).middle == 400
    assert subsets.subset_trainings()[:3] == [(800, 0), (800, 1), (400, 0)]
    assert len(subsets.subset_trainings()) == 14
    assert make_schedule("auto", 1, data).sizes == (250, 500, len(available_rows(data, "test")))


@pytest.mark.parametrize(
    ("sizes", "seeds", "on", "said"),
    [
        ("many", 1, "test", "auto or numbers of images such as 250,500,1000, got 'many'"),
        ("10,50", 1, "test", "20 images or more"),
        ("50,99999", 1, "test", "images to learn from, got a size of 99999"),
        ("50", 0, "test", "seeds must be at least 1, got 0"),
        ("50", 1, "train", "unknown split to score on 'train'"),
    ],
)
def test_what_is_no_schedule_is_refused(data: Dataset, sizes: str, seeds: int, on: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        make_schedule(sizes, seeds, data, on)


def test_sizes_need_seeds() -> None:
    with pytest.raises(InputError, match="every size needs at least one seed"):
        SubsetSchedule((50, 100), (1,))
    assert parse_sizes("100,50,100") == (50, 100)
