"""A simple ConvNet: equal convolutions one after the other.

Paper: Bornschein, Visin and Osindero, "Small Data, Big Decisions", arXiv 2009.12583; the full size (four layers, 5x5,
stride 1, 256 channels) is as reported by others who repeated its experiments.
Differences: BN after every convolution and global average pooling before the classifier are our choice. The CPU size
halves its maps by max-pooling between the layers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from ..blueprint import Blueprint, Layer, halved
from ..errors import InputError


@dataclass(frozen=True)
class ConvNet:
    """Convolutions of stride 1, each with BN and ReLU."""

    width: int = 256  # channels of every layer
    depth: int = 4  # convolutions
    kernel: int = 5  # side of the convolutions in pixels
    pool: bool = False  # max-pool 2x2 between layers

    cpu: ClassVar[Mapping[str, Any]] = {"width": 24, "pool": True}

    def __post_init__(self) -> None:
        if self.kernel % 2 == 0:
            raise InputError(f"kernel of a ConvNet must be odd, got {self.kernel}")

    def network(self, classes: int, in_channels: int, resolution: int) -> Blueprint:
        """Convolutions, global average pool, classifier."""
        layers, c = [], in_channels
        for i in range(self.depth):
            if i and self.pool:
                layers.append(Layer(f"pool{i}", "maxpool", c, c, resolution, halved(resolution, 2), 2, 2, stage=1))
                resolution = halved(resolution, 2)
            layers.append(
                Layer(f"conv{i}", "conv", c, self.width, resolution, resolution, self.kernel, act="relu", stage=1)
            )
            c = self.width
        ends = Layer("head.pool", "gap", c, c, resolution, 1), Layer("classifier", "linear", c, classes, 1, 1)
        return Blueprint((*layers, *ends))
