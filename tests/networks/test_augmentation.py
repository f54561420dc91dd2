from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.nn.functional import one_hot

from supernetic import catalog
from supernetic.blueprint import Blueprint
from supernetic.datasets import Dataset, load
from supernetic.errors import InputError, UnknownNameError
from supernetic.networks.augmentation import MOST_LOST, AugmentDecision, MirrorTest, decide_augment, mirror_test
from supernetic.nn.network import Network
from supernetic.training.recipe import Recipe

RECIPE = Recipe(batch_size=128, lr=0.2, augment="shift+flip", ema=0.999, weight_decay=5e-4, warmup="5 epochs")
RESOLUTION = 8
STEPS = 40


def marks(symmetric: bool, n: int = 2000) -> Dataset:
    """A bright spot on noise: its class is the half in which it lies, left or right; if symmetric, top or bottom."""
    rng = np.random.default_rng(0)
    images = rng.integers(0, 60, (n, RESOLUTION, RESOLUTION), dtype=np.uint8)
    labels = rng.integers(0, 2, n)
    along, across = 1 + 4 * labels + rng.integers(0, 2, n), rng.integers(0, RESOLUTION, n)
    y, x = (along, across) if symmetric else (across, along)
    images[np.arange(n), y, x] = 255
    return load((images, labels))


@pytest.fixture(scope="module")
def blueprint() -> Blueprint:
    return catalog.space(f"macro:channels=8,resolution={RESOLUTION},classes=2,in_channels=1,head=32").blueprint(
        (1,) * 8
    )


class Exact(Network):
    """Knows the data without training: answers are a function of the pixels in 0..255."""

    def __init__(self, dataset: Dataset, answer: Callable[[Tensor], Tensor]) -> None:
        torch.nn.Module.__init__(self)
        self.dataset, self.answer = dataset, answer

    @property
    def blueprint(self) -> Blueprint:
        text = f"macro:channels=8,in_channels=1,resolution={self.dataset.resolution}"
        return catalog.space(text).blueprint((1,) * 8)

    def forward(self, x: Tensor, *_: object) -> Tensor:
        answers = self.answer((x * self.dataset.std[0] + self.dataset.mean[0]) * 255)
        return one_hot(answers.long(), len(self.dataset.classes)).float()


def side(x: Tensor) -> Tensor:
    return x[..., RESOLUTION // 2 :].amax((1, 2, 3)) > x[..., : RESOLUTION // 2].amax((1, 2, 3))


def height(x: Tensor) -> Tensor:
    return side(x.transpose(2, 3))


def test_one_network_sees_images_and_mirror_images() -> None:
    sides = marks(symmetric=False)
    test = mirror_test(Exact(sides, side), sides)
    assert (test.images, test.accuracy, test.mirrored_accuracy, test.allowed) == (200, 100, 0, False)
    assert test.lost == pytest.approx(100 / (100 - test.chance))
    assert "gets 100.0 % of 200 validation images right and 0.0 % of them mirrored; of the class" in test.reason
    assert test.reason.startswith("Images are not mirrored: ")
    heights = marks(symmetric=True)
    test = mirror_test(Exact(heights, height), heights)
    assert (test.accuracy, test.mirrored_accuracy, test.lost, test.allowed) == (100, 100, 0, True)
    assert test.reason.startswith("Images are mirrored: ")


def test_a_network_that_knows_nothing_allows_nothing() -> None:
    data = marks(symmetric=False)
    test = mirror_test(Exact(data, height), data)
    assert test.accuracy == pytest.approx(50, abs=8)
    assert test.mirrored_accuracy == test.accuracy
    assert not test.allowed


MIRROR_TEST = MirrorTest(
    images=1000, accuracy=80, mirrored_accuracy=79, chance=10, known=0.75, lost=0.014, most_lost=0.05,
    worst_class="boot", worst_lost=0.1, least_worst_lost=0.05,
)  # fmt: skip


@pytest.mark.parametrize(
    ("changes", "end"),
    [
        ({"lost": 0.3, "most_lost": 0.33}, "and 79.0 % of them mirrored."),
        ({"known": 0.09}, "too little to tell whether that would change their meaning."),
        ({"most_lost": 0.21}, "too uncertain to allow it."),
        ({"worst_lost": 0.91, "least_worst_lost": 0.85}, "mirrored; of the class boot mirroring loses 91 %."),
    ],
)
def test_every_doubt_forbids_mirroring(changes: dict[str, float], end: str) -> None:
    assert MIRROR_TEST.allowed
    doubtful = replace(MIRROR_TEST, **changes)  # type: ignore[arg-type]
    assert not doubtful.allowed
    assert doubtful.reason.startswith("Images are not mirrored: ")
    assert doubtful.reason.endswith(end)
    assert doubtful.reason.count(". ") == 0  # one sentence


def test_a_pair_of_mirrored_classes_is_found_among_many() -> None:
    """It weighs little in the mean over all images."""
    n, classes = 4000, 20
    labels = np.arange(n) % classes
    images = np.broadcast_to((np.minimum(labels, 18) * 10 + 5)[:, None, None], (n, 4, 4)).astype(np.uint8)
    images[labels == 18, :, 2:] += 20  # the two last classes differ by the brighter side
    images[labels == 19, :, :2] += 20
    data = load((images, labels))

    def answer(x: Tensor) -> Tensor:
        return ((x.amin((1, 2, 3)) - 5) / 10).round() + (x[..., :2].mean((1, 2, 3)) > x[..., 2:].mean((1, 2, 3)) + 5)

    test = mirror_test(Exact(data, answer), data)
    assert test.accuracy == 100
    assert test.most_lost < MOST_LOST
    assert test.worst_class in ("18", "19")
    assert test.worst_lost == 1
    assert not test.allowed


@pytest.mark.parametrize(("symmetric", "augment"), [(True, "light+flip"), (False, "light")])
def test_auto_trains_and_decides(blueprint: Blueprint, symmetric: bool, augment: str) -> None:
    decision = decide_augment("auto", marks(symmetric), blueprint, RECIPE, steps=STEPS)
    assert decision.augment == augment
    assert "validation images" in decision.reason


def test_a_decision_can_be_repeated(blueprint: Blueprint) -> None:
    first, again, other = (
        decide_augment("auto", marks(symmetric=False), blueprint, RECIPE, steps=5, seed=seed) for seed in (0, 0, 1)
    )
    assert first == again != other


def test_what_is_requested_is_taken_and_checked(blueprint: Blueprint) -> None:
    data = marks(symmetric=True, n=100)
    for requested in ("none", "light", "flip", "shift+flip"):
        assert decide_augment(requested, data, blueprint, RECIPE) == AugmentDecision(requested, "As requested.")
    with pytest.raises(UnknownNameError, match="did you mean 'light'"):
        decide_augment("ligth", data, blueprint, RECIPE)
    with pytest.raises(InputError, match=r"auto must stand alone, got auto\+cutout"):
        decide_augment("auto+cutout", data, blueprint, RECIPE)


def test_a_failed_training_allows_nothing(blueprint: Blueprint) -> None:
    decision = decide_augment("auto", marks(symmetric=True), blueprint, replace(RECIPE, lr=1e30, clip_norm=0), steps=20)
    assert decision.augment == "light"
    assert decision.reason.startswith("Images are not mirrored: the training of a test failed (")
