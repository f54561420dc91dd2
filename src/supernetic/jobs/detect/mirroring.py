"""Whether a detector trains on mirrored images: a classifier of the objects must know them mirrored, too."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..time_plan import NETWORK_RECIPE

if TYPE_CHECKING:
    from ...datasets import Dataset
    from ...networks.augmentation import AugmentDecision

AUTO, FLIP, NONE = "auto", "flip", "none"
CHOICES = (AUTO, FLIP, NONE)
FEWEST_OBJECTS = 64  # to train on: one batch of the test
MACS = 2e6  # of the classifier
STEPS_PER_MINUTE = 60  # of its training, for each minute of the job


def decide_mirroring(objects: Dataset, *, seed: int = 0, minutes: float | None, steps: int | None) -> AugmentDecision:
    """Whether mirroring keeps the meaning of what is to be found.

    Args:
        objects: Cut out, with their classes.
        seed: Of the test.
        minutes: The time of the job, of which the test takes a small part.
        steps: The detector's updates, if they were given; the test takes no more.

    Returns:
        `flip` or `none`, and why.
    """
    from ...networks.augmentation import TEST_STEPS, AugmentDecision, decide_augment
    from ...networks.controls import plain_network
    from ...training.recipe import recipe

    classes, found = len(objects.classes), len(objects.splits["train"])
    if classes == 1:
        return AugmentDecision(FLIP, "Images are mirrored: there is one class, and mirrored objects are of it too.")
    if found < FEWEST_OBJECTS:
        need = f"a test needs {FEWEST_OBJECTS} training objects, got {found}"
        return AugmentDecision(NONE, f"Images are not mirrored: {need}; --augment {FLIP} does it.")
    most = [TEST_STEPS, *([] if steps is None else [steps])]
    most += [] if minutes is None else [max(1, int(STEPS_PER_MINUTE * minutes))]
    network = plain_network(MACS, objects.resolution, classes, objects.channels)
    decision = decide_augment(AUTO, objects, network, recipe(NETWORK_RECIPE), seed=seed, steps=min(most))
    reason = f"{decision.reason} Each image of that test is an object, cut out."
    return AugmentDecision(FLIP if FLIP in decision.augment.split("+") else NONE, reason)
