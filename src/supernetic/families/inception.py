"""A small Inception for images of about 32 pixels.

Paper: Zhang et al., "Understanding deep learning requires rethinking generalization", arXiv 1611.03530, figure 3.
Differences: strided layers are padded, so sizes of maps are rounded up and any resolution works; the last pool is
global.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from ..blueprint import Blueprint, Layer, halved
from .candidate_model import scaled

STEM_CHANNELS = 96
MODULE_CHANNELS = (  # by stage and module: channels of the 1x1 and of the 3x3 convolution
    ((32, 32), (32, 48)),
    ((112, 48), (96, 64), (80, 80), (48, 96)),
    ((176, 160), (176, 160)),
)
REDUCTION_CHANNELS = (80, 96)  # of the 3x3 convolutions beside the pools between the stages


@dataclass(frozen=True)
class Inception:
    """Modules of a 1x1 and a 3x3 convolution side by side."""

    width: float = 1.0  # multiplier of the paper's channels
    stride: int = 1  # of the stem

    cpu: ClassVar[Mapping[str, Any]] = {"width": 0.1875, "stride": 2}

    def network(self, classes: int, in_channels: int, resolution: int) -> Blueprint:
        """Stem, modules with reductions between the stages, global average pool, classifier."""
        c, out = scaled(STEM_CHANNELS, self.width), halved(resolution, self.stride)
        layers = [Layer("stem", "conv", in_channels, c, resolution, out, 3, self.stride, act="relu")]
        for stage, modules in enumerate(MODULE_CHANNELS, 1):
            if stage > 1:
                layers += _reduction(
                    f"reduce{stage - 1}", layers[-1], scaled(REDUCTION_CHANNELS[stage - 2], self.width)
                )
            for i, widths in enumerate(modules):
                c1, c3 = (scaled(c, self.width) for c in widths)
                layers += _module(f"module{stage}{'abcd'[i]}", layers[-1], c1, c3, stage)
        c, resolution = layers[-1].c_out, layers[-1].resolution_out
        ends = Layer("head.pool", "gap", c, c, resolution, 1), Layer("classifier", "linear", c, classes, 1, 1)
        return Blueprint((*layers, *ends))


def _module(name: str, before: Layer, c1: int, c3: int, stage: int) -> Iterator[Layer]:
    c, resolution = before.c_out, before.resolution_out
    for kernel, out in ((1, c1), (3, c3)):
        yield Layer(
            f"{name}.conv{kernel}",
            "conv",
            c,
            out,
            resolution,
            resolution,
            kernel,
            act="relu",
            inputs=(before.name,),
            stage=stage,
        )
    yield _joined(name, ("conv1", "conv3"), c1 + c3, resolution, stage)


def _reduction(name: str, before: Layer, c3: int) -> Iterator[Layer]:
    c, resolution, out = before.c_out, before.resolution_out, halved(before.resolution_out, 2)
    yield Layer(f"{name}.conv", "conv", c, c3, resolution, out, 3, 2, act="relu", inputs=(before.name,))
    yield Layer(f"{name}.pool", "maxpool", c, c, resolution, out, 3, 2, inputs=(before.name,))
    yield _joined(name, ("conv", "pool"), c + c3, out, 0)


def _joined(name: str, roles: tuple[str, ...], c: int, resolution: int, stage: int) -> Layer:
    inputs = tuple(f"{name}.{role}" for role in roles)
    return Layer(f"{name}.concat", "join", c, c, resolution, resolution, inputs=inputs, join="concat", stage=stage)
