"""S3TA, which attends to parts of an image one after the other, on features of a ResNet.

Paper: Zoran et al., "Towards robust image classification using sequential attention models", arXiv 1912.02184; eight
steps on a ResNet-101 in "Small Data, Big Decisions" (paper 000), section 3.
Differences: see `nn.s3ta`. How often the ResNet halves its map is our choice: at full size it leaves 28 x 28 places of
224 pixels to attend to, and 16 x 16 of 32.
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
    """By its steps, the ResNet (`depth`, `width`) before them, and the controller (`heads`, `state`)."""

    steps: int = 8
    depth: int = 101
    width: float = 1.0
    halvings: int = 1  # stages of the ResNet that halve the map
    heads: int = 4  # questions per step
    state: int = 512  # units of the controller

    cpu: ClassVar[Mapping[str, Any]] = {"depth": 8, "width": 0.375, "halvings": 2, "heads": 2, "state": 64}

    def __post_init__(self) -> None:
        require_depth(self.depth)

    def network(self, classes: int, in_channels: int, resolution: int) -> Attentive:
        """The plan of the module."""
        return Attentive(self, classes, in_channels, resolution)


@dataclass(frozen=True)
class Attentive:
    """What the module is built from."""

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
