"""Which augmentation suits the data: images are mirrored only where a network shows that mirroring keeps their meaning.

A mirrored b is a d, a mirrored arrow points the other way. So a small network is trained for a few seconds without
mirrored images, and then looks at the validation images and at their mirror images. Where mirroring changes nothing
that matters, it knows both; where it does, it fails on the mirrored ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import sqrt

import numpy as np
import numpy.typing as npt
import torch

from ..blueprint import Blueprint
from ..datasets.augment import parse
from ..datasets.batches import Batches
from ..datasets.dataset import Dataset
from ..errors import InputError, SupernetError
from ..hardware import CPU, Hardware
from ..nn.network import Network, build
from ..training.recipe import Recipe
from .training import VALIDATION_BATCH_IMAGES, device_of, one_thread, training

AUTO = "auto"
WITHOUT_MIRRORING, WITH_MIRRORING = "light", "light+flip"  # what `auto` chooses from
TEST_STEPS, TEST_BATCH_IMAGES = 300, 64  # of the training before the test
TEST_WARMUP = 0.05  # share of the steps
MOST_IMAGES = 4096  # validation images of the test: twice as many would narrow its interval by a third
LEAST_KNOWN = 0.1  # share of what could be known above chance that the network must know: a judgement, not measured
# docs/findings/mirror.md: photographs lose 6 % or less, whatever has a left and a right loses more.
MOST_LOST = 0.2  # share of what is known above chance that mirrored images may lose, at the upper end of the interval
MOST_LOST_BY_A_CLASS = 0.5  # of the images that a class gets right, at the lower end: two classes may be one another's
FEWEST_OF_A_CLASS = 5  # images for which a class is looked at
WIDTH = 1.96  # standard errors to either end of a 95 % interval

Flags = npt.NDArray[np.bool_]
Labels = npt.NDArray[np.int64]


@dataclass(frozen=True)
class MirrorTest:
    """What a network that never saw mirrored images makes of them. Accuracies are percentages."""

    images: int
    accuracy: float  # on validation images as they are
    mirrored_accuracy: float  # on the same images, mirrored
    chance: float  # what always answering with the most frequent class would get
    known: float  # share of what could be known above chance, at the lower end of its 95 % interval over images
    lost: float  # by mirroring: share of the accuracy above chance
    most_lost: float  # upper end of its 95 % interval over images
    worst_class: str  # the class that surely loses most, "" if none surely loses any,
    worst_lost: float  # the share that it loses of its images that are right,
    least_worst_lost: float  # and the lower end of its 95 % interval

    @property
    def allowed(self) -> bool:
        """Whether images may be mirrored."""
        return (
            self.known >= LEAST_KNOWN and self.most_lost <= MOST_LOST and self.least_worst_lost <= MOST_LOST_BY_A_CLASS
        )

    @property
    def reason(self) -> str:
        """The decision with its numbers, in one sentence."""
        measured = (
            f"a network trained without mirrored images gets {self.accuracy:.1f} % of {self.images:,} validation "
            f"images right and {self.mirrored_accuracy:.1f} % of them mirrored"
        )
        if self.allowed:
            return f"Images are mirrored: {measured}."
        if self.known < LEAST_KNOWN:
            why = ", too little to tell whether that would change their meaning"
        elif self.least_worst_lost > MOST_LOST_BY_A_CLASS:
            why = f"; of the class {self.worst_class} mirroring loses {100 * self.worst_lost:.0f} %"
        else:
            why = "" if self.lost > MOST_LOST else ", which is too uncertain to allow it"
        return f"Images are not mirrored: {measured}{why}."


@dataclass(frozen=True)
class AugmentDecision:
    """An augmentation by its names, and why it was taken, in one sentence."""

    augment: str
    reason: str


def decide_augment(
    requested: str,
    dataset: Dataset,
    blueprint: Blueprint,
    recipe: Recipe,
    *,
    seed: int = 0,
    steps: int = TEST_STEPS,
    hardware: Hardware = CPU,
) -> AugmentDecision:
    """The augmentation of a training: as requested, or for `auto` by the mirror test.

    Args:
        requested: Names as `datasets.augment` reads them, or `auto`.
        dataset: Its training images train the network of the test, its validation images are tested.
        blueprint: The network of the test; a small one will do.
        recipe: Optimiser and regularisation of the test; its learning rate is scaled to the test's batches.
        seed: Of the network and of the batches.
        steps: Updates of the network.
        hardware: Where it is trained.

    Returns:
        The augmentation, which `parse` reads, and the reason.
    """
    if requested != AUTO:
        if AUTO in requested.split("+"):
            raise InputError(f"{AUTO} must stand alone, got {requested}")
        parse(requested)
        return AugmentDecision(requested, "As requested.")
    if not len(dataset.splits["valid"]):
        return AugmentDecision(WITHOUT_MIRRORING, "Images are not mirrored: there are no validation images for a test.")
    try:
        network = train_unmirrored(dataset, blueprint, recipe, seed=seed, steps=steps, hardware=hardware)
        test = mirror_test(network, dataset)
    except InputError:
        raise
    except SupernetError as error:
        return AugmentDecision(WITHOUT_MIRRORING, f"Images are not mirrored: the training of a test failed ({error}).")
    return AugmentDecision(WITH_MIRRORING if test.allowed else WITHOUT_MIRRORING, test.reason)


def mirror_test(network: Network, dataset: Dataset) -> MirrorTest:
    """Whether a network knows mirrored validation images as well as the images themselves.

    Args:
        network: Trained on these data without mirrored images; is put into evaluation mode.
        dataset: The images.

    Returns:
        The test.
    """
    return compare_mirrored(*_answers(network.eval(), dataset), dataset.classes)


def compare_mirrored(labels: Labels, right: Flags, mirrored_right: Flags, classes: Sequence[str]) -> MirrorTest:
    """Whether images are known as well when they are mirrored.

    Args:
        labels: Of the images.
        right: Which of them are known as they are,
        mirrored_right: and which when they are mirrored.
        classes: Their names.

    Returns:
        The test.
    """
    accuracy, chance = float(right.mean()), float(np.bincount(labels).max() / len(labels))
    above = max(accuracy - chance, 1 / len(labels))  # one image if it is none: `known` says then that nothing is known
    lost, error = _difference(right, mirrored_right)
    worst, worst_lost, least = _worst_class(labels, right, mirrored_right)
    return MirrorTest(
        images=len(labels),
        accuracy=100 * accuracy,
        mirrored_accuracy=100 * float(mirrored_right.mean()),
        chance=100 * chance,
        known=(accuracy - WIDTH * float(right.std()) / sqrt(len(right)) - chance) / (1 - chance) if chance < 1 else 0.0,
        lost=lost / above,
        most_lost=(lost + WIDTH * error) / above,
        worst_class="" if worst is None else classes[worst],
        worst_lost=worst_lost,
        least_worst_lost=least,
    )


def train_unmirrored(
    dataset: Dataset,
    blueprint: Blueprint,
    recipe: Recipe,
    *,
    seed: int = 0,
    steps: int = TEST_STEPS,
    hardware: Hardware = CPU,
) -> Network:
    """A network for the mirror test, trained for a few seconds without mirrored images; see `decide_augment`."""
    short = replace(
        recipe,
        length=f"{steps} steps",
        batch_size=TEST_BATCH_IMAGES,
        augment=WITHOUT_MIRRORING,
        lr=recipe.lr * TEST_BATCH_IMAGES / recipe.batch_size,
        schedule="cosine",
        lr_end=0.0,
        warmup=f"{round(steps * TEST_WARMUP)} steps",
        decay_every="",
        decay_at=(),
        ema=0.0,  # an average over more steps than there are would keep the first weights
        sampler=None,
    )
    network = build(blueprint, seed=seed)
    with one_thread():  # so that the decision does not depend on their number
        for _ in training(network, blueprint.resolution, dataset, short, seed, None, hardware):
            pass
    return network


@torch.inference_mode()
def _answers(network: Network, dataset: Dataset) -> tuple[Labels, Flags, Flags]:
    """Labels, and whether the network finds them: in the validation images, and in the mirrored ones."""
    batches = Batches(
        dataset, "valid", VALIDATION_BATCH_IMAGES, device=device_of(network), resolution=network.blueprint.resolution
    )
    drawn = range(MOST_IMAGES // VALIDATION_BATCH_IMAGES)  # batches by number are in random order
    every = batches.evaluate() if len(batches) <= MOST_IMAGES else (batches.batch(step) for step in drawn)
    answers = [torch.stack([y, network(x).argmax(1), network(x.flip(3)).argmax(1)]) for x, y in every]
    labels, found, mirrored = torch.cat(answers, dim=1).cpu().numpy()
    return labels, found == labels, mirrored == labels


def _difference(right: Flags, mirrored_right: Flags) -> tuple[float, float]:
    """The share of images that mirroring loses, and its standard error over images."""
    lost = right.astype(float) - mirrored_right
    return float(lost.mean()), float(lost.std()) / sqrt(len(lost))


def _worst_class(labels: Labels, right: Flags, mirrored_right: Flags) -> tuple[int | None, float, float]:
    """The class that surely loses most of its images that are right: the share, and the lower end of its interval."""
    worst: int | None = None
    most = least = 0.0
    for label in np.unique(labels):
        of_class = labels == label
        known = float(right[of_class].mean())
        if of_class.sum() < FEWEST_OF_A_CLASS or not known:
            continue
        lost, error = _difference(right[of_class], mirrored_right[of_class])
        if (lost - WIDTH * error) / known > least:
            worst, most, least = int(label), lost / known, (lost - WIDTH * error) / known
    return worst, most, least
