"""Anchors are fitted to boxes."""

import numpy as np
import pytest

from supernetic.detection.anchors import Anchors, fit_anchors


def test_overlaps_by_hand() -> None:
    anchors = Anchors(((10.0,), (20.0,)), (1.0,))
    sides = np.array([[10.0, 10.0], [20.0, 10.0], [40.0, 40.0]])
    assert anchors.overlaps(sides) == pytest.approx([1.0, 0.5, 0.25])
    assert Anchors(((10.0,),), (4.0,)).shapes().tolist() == [[5.0, 20.0]]


def test_small_boxes_get_small_anchors_and_large_ones_more_levels() -> None:
    rng = np.random.default_rng(0)
    labels = np.zeros(200, np.int64)
    small = fit_anchors(rng.uniform(10, 30, (200, 2)), labels)
    large = fit_anchors(rng.uniform(30, 500, (200, 2)), labels)
    assert min(map(min, small.sizes)) < min(map(min, large.sizes))
    assert len(large.sizes) > len(small.sizes)
    assert small.strides[:3] == (8, 16, 32)


def test_every_class_counts_the_same() -> None:
    sides = np.concatenate([np.full((990, 2), 100.0), np.full((10, 2), 9.0)])
    labels = np.repeat([0, 1], [990, 10])
    overlaps = fit_anchors(sides, labels).overlaps(sides)
    assert overlaps[-1] > 0.6
    assert overlaps[0] > 0.6


def test_proportions_are_those_of_the_boxes() -> None:
    sides = np.stack([np.full(99, 40.0), np.linspace(60, 100, 99)], 1)
    ratios = fit_anchors(sides, np.zeros(99, np.int64)).ratios
    assert 1.5 < ratios[0] < ratios[1] == 2.0 < ratios[2] < 2.5
