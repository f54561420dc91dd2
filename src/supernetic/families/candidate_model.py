"""What a family of models is, and one model of it: a named network for images of one shape, built on demand."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from ..blueprint import Blueprint
from ..costs.macs import add_up

if TYPE_CHECKING:
    from torch import nn


class ModuleSpec(Protocol):
    """Plain data from which a torch module is built, for networks that cannot be written as a blueprint."""

    @property
    def in_channels(self) -> int:
        """Channels of the input images."""

    @property
    def resolution(self) -> int:
        """Side of the input images in pixels."""

    def build(self, seed: int = 0) -> nn.Module:
        """The module with fresh weights; `module(images, regularisation) -> logits`."""

    def costs(self) -> tuple[int, int]:
        """(MACs, parameters)."""


class Family(Protocol):
    """A kind of network: a frozen dataclass whose fields are sizes and whose defaults are the full size."""

    cpu: ClassVar[Mapping[str, Any]]  # the fields that differ in the CPU size

    def network(self, classes: int, in_channels: int, resolution: int) -> Blueprint | ModuleSpec:
        """The network for some data.

        Args:
            classes: The number of classes.
            in_channels: Channels of the images.
            resolution: Side of the images in pixels.

        Returns:
            A blueprint, or what a module is built from.
        """


@dataclass(frozen=True)
class CandidateModel:
    """A network to be trained from fresh weights. It is plain data, so worker processes can build it too.

    Args:
        name: The name of the model, as `model_names` reads it.
        network: The network itself.
    """

    name: str
    network: Blueprint | ModuleSpec

    @property
    def resolution(self) -> int:
        """The side in pixels to which images are resized."""
        return self.network.resolution

    @property
    def blueprint(self) -> Blueprint | None:
        """The blueprint, or None for a network without one, which can be neither drawn nor exported."""
        return self.network if isinstance(self.network, Blueprint) else None

    @property
    def fingerprint(self) -> str:
        """A digest that changes whenever the network does, or the file of a user that builds it."""
        return hashlib.sha256(repr(self.network).encode()).hexdigest()[:16]

    def build(self, seed: int = 0) -> nn.Module:
        """The network as a module, with weights that depend on the seed only."""
        if isinstance(self.network, Blueprint):
            from ..nn.network import build

            return build(self.network, seed=seed)
        return self.network.build(seed)

    def costs(self) -> tuple[int, int]:
        """(MACs, parameters)."""
        return add_up(self.network) if isinstance(self.network, Blueprint) else self.network.costs()


def scaled(channels: int, width: float) -> int:
    """The number of channels times a width multiplier, at least 1."""
    return max(1, round(channels * width))
