from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from supernetic.blueprint import Blueprint
from supernetic.costs.macs import cost
from supernetic.datasets import Dataset, load
from supernetic.errors import InputError
from supernetic.jobs.compare.steps import network_recipe
from supernetic.jobs.search.choose_augment import MAX_STEPS, choose_augment
from supernetic.networks.augmentation import AugmentDecision

RECIPE = network_recipe(None)


@pytest.fixture(scope="module")
def images() -> Dataset:
    return load(limit=300)


@pytest.mark.parametrize("requested", ["none", "light", "light+flip"])
def test_what_was_requested_is_not_measured(images: Dataset, requested: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("supernetic.networks.augmentation.mirror_test", lambda *_: pytest.fail("measured"))
    assert choose_augment(requested, images, RECIPE) == AugmentDecision(requested, "As requested.")


@pytest.mark.parametrize("requested", ["lihgt", "auto+flip"])
def test_unknown_names_are_refused(images: Dataset, requested: str) -> None:
    with pytest.raises(InputError):
        choose_augment(requested, images, RECIPE)


@pytest.mark.parametrize(
    ("asked", "steps"),
    [
        ({}, MAX_STEPS),
        ({"minutes": 60}, MAX_STEPS),
        ({"minutes": 1}, 60),
        ({"minutes": 0.2}, 12),
        ({"minutes": 0.001}, 1),
        ({"network_steps": 8}, 8),
        ({"network_steps": 100, "minutes": 1}, 60),
        ({"network_steps": 10_000}, MAX_STEPS),
    ],
)
def test_a_small_network_is_trained_for_a_small_part_of_the_time(
    images: Dataset, asked: dict[str, Any], steps: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[Any] = []

    def decide(requested: str, dataset: Dataset, network: Blueprint, *_: Any, **more: Any) -> AugmentDecision:
        seen.append((requested, network, more["steps"], more["seed"]))
        return AugmentDecision("light", "measured")

    monkeypatch.setattr("supernetic.networks.augmentation.decide_augment", decide)
    large = replace(images, images=np.zeros((len(images.images), 64, 64, 1), np.uint8))
    for dataset in (images, large):
        assert choose_augment("auto", dataset, RECIPE, seed=5, **asked).reason == "measured"
    (_, small, *first), (_, wide, *_) = seen
    assert first == [steps, 5]
    assert cost(small).macs <= 2e6
    assert (small.resolution, small.classes, small.in_channels) == (28, 10, 1)
    assert 2e6 < cost(wide).macs <= 8e6


def test_it_is_measured_on_real_images(images: Dataset) -> None:
    found = choose_augment("auto", images, RECIPE, network_steps=3)
    assert found.augment in ("light", "light+flip")
    assert "validation images" in found.reason
    assert found == choose_augment("auto", images, RECIPE, network_steps=3)
