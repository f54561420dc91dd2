"""`build`: one architecture of a space as a torch module with fresh weights."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..space import Arch, Space
from .cost import cost

if TYPE_CHECKING:
    from ..nn.network import Network


def build(
    space: str | Space, arch: str | Arch, *, classes: int | None = None, scale: str = "", seed: int | None = None
) -> Network:
    """An architecture as a torch module with random weights.

    Args:
        space: A space, or its name with settings, such as `macro:channels=8`.
        arch: The architecture: a name, its notation, or its genes.
        classes: Number of classes; by default the space's own.
        scale: A compound scaling, as `cost` takes it.
        seed: Of the weights; torch's own generator by default.

    Returns:
        `network(images) -> logits`, in training mode.
    """
    from ..nn.network import build as build_network
    from ..nn.network import with_classes

    blueprint = cost(space, arch, scale).blueprint
    return build_network(blueprint if classes is None else with_classes(blueprint, classes), seed=seed)
