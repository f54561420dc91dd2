from __future__ import annotations

from dataclasses import replace
from math import isnan

import numpy as np
import pytest

from supernetic.calibration import cross_entropy, temperature
from supernetic.datasets import Dataset, load
from supernetic.errors import InputError
from supernetic.evaluators.standalone import StandaloneEvaluator
from supernetic.evaluators.subset_training import SubsetTrainingEvaluator
from supernetic.networks.training import logits_of
from supernetic.selection.subsets import take_subset
from supernetic.spaces.macro import Macro
from supernetic.training.recipe import Recipe

SPACE = Macro(channels=4, resolution=8, classes=10, in_channels=1, head=16)
RECIPE = Recipe(length="3 steps", batch_size=16, optimiser="adam", lr=0.01, smoothing=0.999)
ARCHS = [(1, 0, 1, 0, 0, 1, 0, 0), (0,) * 8]
CALIBRATED = "valid/calibrated_cross_entropy"


@pytest.fixture(scope="module")
def data() -> Dataset:
    return load("embedded", limit=500, resolution=8)


def test_it_trains_on_the_subset_and_scores_on_valid(data: Dataset) -> None:
    evaluate = SubsetTrainingEvaluator(SPACE, data, RECIPE, size=100)
    assert (evaluate.metrics[0], evaluate.test) == (CALIBRATED, frozenset())
    small = take_subset(data, 100, 0, "valid")
    network = StandaloneEvaluator(SPACE, small, RECIPE).train(ARCHS[0]).eval()
    z = {split: logits_of(network, 8, small, split) for split in ("calibrate", "valid")}
    t = temperature(z["calibrate"], small.labels[small.splits["calibrate"]])
    want = cross_entropy(z["valid"], data.labels[data.splits["valid"]], t)
    found = evaluate(ARCHS)
    assert found[0][CALIBRATED] == pytest.approx(want, rel=1e-5)
    assert evaluate(ARCHS[::-1]) == found[::-1]


def test_test_images_cannot_change_a_score(data: Dataset) -> None:
    images = data.images.copy()
    images[data.splits["test"]] = 0
    scores = [SubsetTrainingEvaluator(SPACE, d, RECIPE, 60)(ARCHS[:1]) for d in (data, replace(data, images=images))]
    assert scores[0] == scores[1]


def test_seeds_are_averaged(data: Dataset) -> None:
    both = SubsetTrainingEvaluator(SPACE, data, RECIPE, 60, seeds=2)
    parts = [one(ARCHS[:1])[0][CALIBRATED] for one in both._evaluators]
    assert both(ARCHS[:1])[0][CALIBRATED] == pytest.approx(np.mean(parts))
    assert parts[0] != parts[1]


def test_what_diverges_is_nan(data: Dataset) -> None:
    wild = replace(RECIPE, optimiser="sgd", lr=1e30, schedule="constant")
    assert isnan(SubsetTrainingEvaluator(SPACE, data, wild, 60)(ARCHS[:1])[0][CALIBRATED])


def test_sizes_that_there_are_not_are_refused(data: Dataset) -> None:
    with pytest.raises(InputError, match=r"20 to \d+ images, got 5000"):
        SubsetTrainingEvaluator(SPACE, data, RECIPE, 5000)
    with pytest.raises(InputError, match="seeds must be at least 1, got 0"):
        SubsetTrainingEvaluator(SPACE, data, RECIPE, 60, seeds=0)
