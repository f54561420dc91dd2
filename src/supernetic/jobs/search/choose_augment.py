"""How the training images of a search vary: as the user says, or by a short measurement."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...hardware import CPU, Hardware

if TYPE_CHECKING:
    from ...datasets import Dataset
    from ...networks.augmentation import AugmentDecision
    from ...training.recipe import Recipe

MACS = 2e6  # of the network that tests whether images may be mirrored, at 32 pixels
MEASURED_LATER = "Whether images may be mirrored is measured when the run begins."
MAX_STEPS, STEPS_PER_MINUTE = 300, 60  # of its training


def choose_augment(
    requested: str,
    dataset: Dataset,
    recipe: Recipe,
    *,
    seed: int = 0,
    minutes: float | None = None,
    network_steps: int | None = None,
    hardware: Hardware = CPU,
) -> AugmentDecision:
    """Settle how training images vary.

    Args:
        requested: Names joined by `+`, or `auto`: mirrored only if a network that never saw mirrored images knows them.
        dataset: The images.
        recipe: Of finished networks.
        seed: Of the measurement.
        minutes: The time of the search, of which the measurement takes a small part.
        network_steps: Steps of finished networks, if they were given; the measurement takes no more.
        hardware: Where the network of the measurement is trained.

    Returns:
        The augmentation, and why.
    """
    from ...networks.augmentation import decide_augment
    from ...networks.controls import plain_network

    steps = MAX_STEPS if network_steps is None else min(MAX_STEPS, network_steps)
    if minutes is not None:
        steps = min(steps, max(1, int(STEPS_PER_MINUTE * minutes)))
    shape = dataset.resolution, len(dataset.classes), dataset.channels
    network = plain_network(MACS * (dataset.resolution / 32) ** 2, *shape)
    return decide_augment(requested, dataset, network, recipe, seed=seed, steps=steps, hardware=hardware)
