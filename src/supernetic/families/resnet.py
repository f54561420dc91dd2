"""ResNets: those for small images (6n + 2 layers, three stages) and those for ImageNet (18 to 152, four stages).

Paper: He et al., "Deep residual learning for image recognition", arXiv 1512.03385, sections 4.1 and 4.2.
Differences: for images below 64 pixels the ImageNet ones begin with a 3x3 convolution of stride 1, because their own
stem would leave next to nothing of such images.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from ..blueprint import Blueprint, Layer, halved
from ..errors import InputError
from .candidate_model import scaled

BLOCKS_PER_STAGE = {18: (2, 2, 2, 2), 34: (3, 4, 6, 3), 50: (3, 4, 6, 3), 101: (3, 4, 23, 3), 152: (3, 8, 36, 3)}
MIN_BOTTLENECK_DEPTH = 50  # layers; deeper ImageNet networks have bottlenecks
MIN_STRIDED_RESOLUTION = 64  # pixels; for smaller images the stem has stride 1


@dataclass(frozen=True)
class ResNet:
    """A residual network; its channels are 16 to 64, or 64 to 512 for the depths of ImageNet networks."""

    depth: int = 20  # layers
    width: float = 1.0  # multiplier of the paper's channels

    cpu: ClassVar[Mapping[str, Any]] = {"depth": 8, "width": 0.5}

    def __post_init__(self) -> None:
        require_depth(self.depth)

    def network(self, classes: int, in_channels: int, resolution: int) -> Blueprint:
        """Stem, blocks, global average pool, classifier."""
        layers = body(self.depth, self.width, in_channels, resolution)
        c, resolution = layers[-1].c_out, layers[-1].resolution_out
        ends = Layer("head.pool", "gap", c, c, resolution, 1), Layer("classifier", "linear", c, classes, 1, 1)
        return Blueprint((*layers, *ends))


def require_depth(depth: int) -> None:
    """Refuse a depth that no ResNet has."""
    if depth not in BLOCKS_PER_STAGE and (depth < 8 or (depth - 2) % 6):
        raise InputError(
            f"a ResNet must have {', '.join(map(str, BLOCKS_PER_STAGE))} or 6n + 2 (8, 14, 20, ...) layers, got {depth}"
        )


def body(depth: int, width: float, in_channels: int, resolution: int, halvings: int = 3) -> list[Layer]:
    """The layers of a ResNet without its pool and classifier.

    Args:
        depth: Layers of the whole network.
        width: Multiplier of the paper's channels.
        in_channels: Channels of the images.
        resolution: Side of the images in pixels.
        halvings: How many of the stages after the first one halve the map.

    Returns:
        Stem and blocks.
    """
    large = depth in BLOCKS_PER_STAGE
    blocks = BLOCKS_PER_STAGE[depth] if large else ((depth - 2) // 6,) * 3
    first = 64 if large else 16
    layers = list(_stem(in_channels, scaled(first, width), resolution, large and resolution >= MIN_STRIDED_RESOLUTION))
    places = [(stage, i) for stage, n in enumerate(blocks) for i in range(n)]
    for number, (stage, i) in enumerate(places):
        stride = 2 if i == 0 and 0 < stage <= halvings else 1
        block = Block(f"block{number}", layers[-1], scaled(first << stage, width), stride, stage + 1)
        layers += block.bottleneck() if large and depth >= MIN_BOTTLENECK_DEPTH else block.basic(project=large)
    return layers


def _stem(in_channels: int, c: int, resolution: int, strided: bool) -> Iterator[Layer]:
    if not strided:
        yield Layer("stem", "conv", in_channels, c, resolution, resolution, 3, act="relu")
        return
    out = halved(resolution, 2)
    yield Layer("stem", "conv", in_channels, c, resolution, out, 7, 2, act="relu")
    yield Layer("pool", "maxpool", c, c, out, halved(out, 2), 3, 2)


class Block(NamedTuple):
    """A residual block: its name, the layer it reads, its channels, stride and stage."""

    name: str
    before: Layer
    c: int
    stride: int
    stage: int

    def basic(self, *, project: bool) -> list[Layer]:
        """Two 3x3 convolutions."""
        a = self._layer("conv1", self.before, "conv", self.c, 3, self.stride, act="relu")
        b = self._layer("conv2", a, "conv", self.c, 3)
        return [a, b, *self._end(b, self._projection(self.c) if project else self._padding())]

    def bottleneck(self) -> list[Layer]:
        """A 3x3 convolution between two 1x1 convolutions; the last one has four times the channels."""
        a = self._layer("conv1", self.before, "conv", self.c, 1, self.stride, act="relu")
        b = self._layer("conv2", a, "conv", self.c, 3, act="relu")
        c = self._layer("conv3", b, "conv", 4 * self.c)
        return [a, b, c, *self._end(c, self._projection(4 * self.c))]

    def _layer(
        self, role: str, source: Layer, kind: str, c: int, kernel: int = 1, stride: int = 1, **more: Any
    ) -> Layer:
        resolution = source.resolution_out
        more = {"inputs": (source.name,), **more}
        return Layer(
            f"{self.name}.{role}", kind, source.c_out, c, resolution, halved(resolution, stride), kernel, stride,
            stage=self.stage, **more,
        )  # fmt: skip

    def _projection(self, c: int) -> list[Layer]:
        """The shortcut of ImageNet networks where shapes change; no layer where they do not."""
        same = self.stride == 1 and self.before.c_out == c
        return [] if same else [self._layer("shortcut", self.before, "conv", c, 1, self.stride)]

    def _padding(self) -> list[Layer]:
        """The shortcut of the small networks: every second pixel, and zeros for the new channels."""
        if self.stride == 1 and self.before.c_out == self.c:
            return []
        kept = self._layer("skip", self.before, "skip", self.before.c_out, stride=self.stride)
        if self.before.c_out == self.c:
            return [kept]
        new = self._layer("zero", self.before, "zero", self.c - self.before.c_out, stride=self.stride)
        both = self._layer("shortcut", kept, "join", self.c, inputs=(kept.name, new.name), join="concat")
        return [kept, new, both._replace(c_in=self.c)]

    def _end(self, branch: Layer, shortcut: list[Layer]) -> list[Layer]:
        inputs = branch.name, (shortcut[-1] if shortcut else self.before).name
        return [*shortcut, self._layer("sum", branch, "join", branch.c_out, inputs=inputs, act="relu")]
