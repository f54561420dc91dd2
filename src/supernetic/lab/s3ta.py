"""S3TA: attention to one part of an image after another, on the features of a ResNet.

Paper: Zoran et al., "Towards robust image classification using sequential attention models", arXiv 1912.02184; eight
steps on a ResNet-101 in "Small Data, Big Decisions", section 3.
Differences: see `s3ta_module`. How often the ResNet halves its map is our choice: at full size the map has 28 x 28
places for images of 224 pixels, and 16 x 16 for images of 32.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from ..blueprint import Blueprint
from ..families.resnet import body, require_depth

if TYPE_CHECKING:
    from .s3ta_module import S3TA as Module


@dataclass(frozen=True)
class S3TA:
    """The family of S3TA models: steps of attention on a ResNet of some depth and width."""

    steps: int = 8  # of attention
    depth: int = 101  # layers of the ResNet
    width: float = 1.0  # multiplier of its channels
    halvings: int = 1  # stages of the ResNet that halve the map
    heads: int = 4  # queries per step
    state: int = 512  # units of the controller

    cpu: ClassVar[Mapping[str, Any]] = {"depth": 8, "width": 0.375, "halvings": 2, "heads": 2, "state": 64}

    def __post_init__(self) -> None:
        require_depth(self.depth)

    def network(self, classes: int, in_channels: int, resolution: int) -> S3TASpec:
        """What the module for some data is built from."""
        return S3TASpec(self, classes, in_channels, resolution)


@dataclass(frozen=True)
class S3TASpec:
    """Plain data from which the module is built."""

    family: S3TA
    classes: int
    in_channels: int
    resolution: int

    def build(self, seed: int = 0) -> Module:
        """The module, with weights that depend on the seed only."""
        from .s3ta_module import build_s3ta

        f = self.family
        extractor = Blueprint(tuple(body(f.depth, f.width, self.in_channels, self.resolution, f.halvings)))
        return build_s3ta(extractor, self.classes, steps=f.steps, heads=f.heads, state=f.state, seed=seed)

    def costs(self) -> tuple[int, int]:
        """(MACs, parameters), as torch counts them."""
        from ..nn.counting import counted

        return counted(self.build(), self.in_channels, self.resolution)
