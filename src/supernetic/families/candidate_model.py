"""What a family is, and a member of one: a network for images of one shape, by a name, that can be built anywhere."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from ..blueprint import Blueprint
from ..costs.macs import add_up

if TYPE_CHECKING:
    from torch import nn


class Plain(Protocol):
    """A network that is no blueprint: plain data from which it is built."""

    @property
    def in_channels(self) -> int:
        """Channels of the input image."""

    @property
    def resolution(self) -> int:
        """Side of the input image in pixels."""

    def build(self, seed: int = 0) -> nn.Module:
        """The network with fresh weights; `network(images, noise) -> logits`."""

    def costs(self) -> tuple[int, int]:
        """(MACs, parameters)."""


class Family(Protocol):
    """A frozen dataclass whose fields are the sizes of its networks; its defaults are the full size."""

    cpu: ClassVar[Mapping[str, Any]]  # the fields that differ in the CPU size

    def network(self, classes: int, in_channels: int, resolution: int) -> Blueprint | Plain:
        """The network for images of `resolution` x `resolution` pixels."""


@dataclass(frozen=True)
class CandidateModel:
    """A network to be trained from fresh weights. It is plain data, so other processes can build it too."""

    name: str
    network: Blueprint | Plain

    @property
    def resolution(self) -> int:
        """To which images are resized."""
        return self.network.resolution

    @property
    def blueprint(self) -> Blueprint | None:
        """Nothing for networks that have none; those are neither drawn nor exported as models."""
        return self.network if isinstance(self.network, Blueprint) else None

    @property
    def fingerprint(self) -> str:
        """Changes whenever the network does, the text of a user's file included."""
        return hashlib.sha256(repr(self.network).encode()).hexdigest()[:16]

    def build(self, seed: int = 0) -> nn.Module:
        """The network, with weights that depend on the seed only."""
        if isinstance(self.network, Blueprint):
            from ..nn.network import build

            return build(self.network, seed=seed)
        return self.network.build(seed)

    def costs(self) -> tuple[int, int]:
        """(MACs, parameters)."""
        return add_up(self.network) if isinstance(self.network, Blueprint) else self.network.costs()


def scaled(channels: int, width: float) -> int:
    """Channels times a width multiplier."""
    return max(1, round(channels * width))
