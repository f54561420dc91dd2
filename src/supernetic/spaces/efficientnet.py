"""EfficientNet-B0 ... B5, and S1 ... S5: the same B0 scaled by ScaleNet's strategies.

Paper: Tan & Le, "EfficientNet", arXiv 1905.11946, Table 1; "ScaleNet", Tables 3 and 4.
Differences: ScaleNet's printed MACs assume that a strided convolution rounds the resolution down (`spatial="floor"`);
networks that run round up and cost up to 13 % more. The paper prints 390 M MACs for B0; the network has 386 M.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

from ..blueprint import Blueprint, Layer, halved
from ..space import Arch, Choice, SequentialSpace
from ..strategy import Scaling, ceil_of, scale

# expansion, kernel, stride of the first block, channels, blocks
B0_STAGES = (
    (1, 3, 1, 16, 1),
    (6, 3, 2, 24, 2),
    (6, 5, 2, 40, 2),
    (6, 3, 2, 80, 3),
    (6, 5, 1, 112, 3),
    (6, 5, 2, 192, 4),
    (6, 3, 1, 320, 1),
)
STEM_WIDTH, HEAD_WIDTH, B0_RESOLUTION = 32, 1280, 224

# rule, depth, width, resolution in pixels
MODELS = {
    "efficientnet-b0": ("efficientnet", 1.0, 1.0, 224),
    "efficientnet-b1": ("efficientnet", 1.1, 1.0, 240),
    "efficientnet-b2": ("efficientnet", 1.2, 1.1, 260),
    "efficientnet-b3": ("efficientnet", 1.4, 1.2, 300),
    "efficientnet-b4": ("efficientnet", 1.8, 1.4, 380),
    "efficientnet-b5": ("efficientnet", 2.2, 1.6, 456),
    "efficientnet-s1": ("scalenet", 1.08, 1.04, 256),
    "efficientnet-s2": ("scalenet", 1.36, 1.20, 304),
    "efficientnet-s3": ("scalenet", 1.48, 1.40, 354),
    "efficientnet-s4": ("scalenet", 1.653, 1.534, 458),
    "efficientnet-s5": ("scalenet", 1.848, 1.688, 533),
}


@dataclass(frozen=True)
class EfficientNet(SequentialSpace):
    """Eleven fixed networks, as one choice."""

    resolution: int = B0_RESOLUTION  # of B0; those of the others keep their ratio to it
    classes: int = 1000
    in_channels: int = 3
    spatial: str = "ceil"

    name: ClassVar[str] = "efficientnet"
    paper: ClassVar[str] = "EfficientNet, ScaleNet"

    def __post_init__(self) -> None:
        Scaling(spatial=self.spatial)  # raises an error for an unknown convention

    @cached_property
    def choices(self) -> tuple[Choice, ...]:
        """One gene: which of the networks."""
        return (Choice("model", tuple(MODELS)),)

    @cached_property
    def named(self) -> Mapping[str, Arch]:
        """All networks of the space."""
        return {name: (i,) for i, name in enumerate(MODELS)}

    def format(self, arch: Arch) -> str:
        """Return the name of the network."""
        return tuple(MODELS)[arch[0]]

    def _parse(self, text: str) -> Arch | None:
        return (int(text),) if text.isascii() and text.isdecimal() and len(text) < 10 else None

    def scaling(self, arch: Arch) -> Scaling:
        """Return how B0 is scaled to give this network."""
        rule, depth, width, resolution = MODELS[self.format(arch)]
        return Scaling(depth, width, ceil_of(resolution * self.resolution / B0_RESOLUTION), rule, self.spatial)

    def start(self) -> tuple[Sequence[Layer], None]:
        """Return no layers: the networks have none in common."""
        return (), None

    def step(self, i: int, state: None, genes: Arch) -> tuple[Sequence[Layer], None]:
        """Return the whole network."""
        return scale(self._b0(), self.scaling(genes)).layers, None

    def finish(self, state: None) -> Sequence[Layer]:
        """Return no layers: the step has given them all."""
        return ()

    def _b0(self) -> Blueprint:
        c_in, resolution = STEM_WIDTH, halved(self.resolution, 2, self.spatial)
        layers = [Layer("stem", "conv", self.in_channels, c_in, self.resolution, resolution, 3, 2, act="swish")]
        for stage, (e, k, first_stride, c, n) in enumerate(B0_STAGES, 1):
            for block in range(n):
                stride = 1 if block else first_stride
                out = halved(resolution, stride, self.spatial)
                layer = Layer(
                    f"stage{stage}.{block}", "mbconv", c_in, c, resolution, out, k, stride, e, c_in * e, se=c_in // 4,
                    act="swish", shortcut="identity" if stride == 1 and c_in == c else "", stage=stage,
                )  # fmt: skip
                layers.append(layer)
                c_in, resolution = c, out
        layers += [
            Layer("head.conv", "conv", c_in, HEAD_WIDTH, resolution, resolution, act="swish"),
            Layer("head.pool", "gap", HEAD_WIDTH, HEAD_WIDTH, resolution, 1),
            Layer("classifier", "linear", HEAD_WIDTH, self.classes, 1, 1),
        ]
        return Blueprint(tuple(layers))
