"""SCARLET's spaces S1 and S2: nineteen layers of inverted bottlenecks, any of which may be skipped.

Paper: Chu et al., "SCARLET-NAS", arXiv 1908.06022, appendix C.1; configurations of A, B, C as released.
Differences: the released SCARLET-B costs 326.9 M MACs, the paper prints 329 M. Where the squeeze-excite variants of S2
stand among the thirteen choices is not published: here 0-5 are plain, 6-11 the same with squeeze-excite, 12 is skip.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

from ..blueprint import Layer, halved, make_divisible
from ..space import Arch, Choice, SequentialSpace
from ..stabiliser import require_stabiliser, stabilise

# Channels of each layer, and the layers with stride 2.
WIDTHS = (32, 32, 40, 40, 40, 40, 80, 80, 80, 80, 96, 96, 96, 96, 192, 192, 192, 192, 320)
STRIDED_LAYERS = (0, 2, 6, 14)
BLOCKS = tuple((e, k) for e in (3, 6) for k in (3, 5, 7))  # the paper's numbering: (e - 3) + (k - 3) / 2
PLAIN_LABELS = tuple(f"MB{e}_K{k}" for e, k in BLOCKS)

# The released networks in the numbering of S2 (12 is skip).
SCARLET_A = (2, 4, 1, 8, 9, 7, 9, 0, 8, 2, 1, 8, 0, 8, 9, 10, 6, 9, 11)
SCARLET_B = (6, 7, 6, 11, 0, 1, 11, 6, 12, 1, 6, 6, 11, 6, 10, 10, 12, 11, 10)
SCARLET_C = (7, 6, 7, 12, 12, 0, 11, 6, 6, 1, 8, 2, 6, 8, 6, 12, 9, 11, 10)


@dataclass(frozen=True)
class Scarlet(SequentialSpace):
    """What S1 and S2 share: FairNAS's backbone with a skip in every layer, including the strided ones."""

    resolution: int = 224
    classes: int = 1000
    in_channels: int = 3
    width: float = 1.0  # multiplies all channels, for reduced variants
    stabiliser: str = ""  # in supernets: a linear map to the width of the layer that replaces a skip

    name: ClassVar[str]
    paper: ClassVar[str] = "SCARLET-NAS"
    sharing: ClassVar[str] = "choice"
    options: ClassVar[tuple[str, ...]]

    def __post_init__(self) -> None:
        require_stabiliser(self.stabiliser)

    @cached_property
    def choices(self) -> tuple[Choice, ...]:
        """One gene per layer; the last option is skip."""
        return tuple(Choice(f"layer{i}", self.options) for i in range(len(WIDTHS)))

    def _channels(self, c: int) -> int:
        return c if self.width == 1 else make_divisible(c * self.width)

    def start(self) -> tuple[Sequence[Layer], tuple[int, int]]:
        """Return stem and a fixed separable convolution; the state is (channels, resolution)."""
        stem, first, resolution = self._channels(32), self._channels(16), halved(self.resolution, 2)
        return [
            Layer("stem", "conv", self.in_channels, stem, self.resolution, resolution, 3, 2, act="relu6"),
            Layer("stem.separable", "mbconv", stem, first, resolution, resolution, 3, hidden=stem, act="relu6"),
        ], (first, resolution)

    def step(self, i: int, state: tuple[int, int], genes: Arch) -> tuple[Sequence[Layer], tuple[int, int]]:
        """Return one layer. A skip keeps its channels and only sub-samples by its stride."""
        c_in, resolution = state
        stride = 2 if i in STRIDED_LAYERS else 1
        c_out, out, name, stage = self._channels(WIDTHS[i]), halved(resolution, stride), f"layer{i}", _stage(i)
        if genes[0] == len(self.options) - 1:
            skip = Layer(name, "skip", c_in, c_in, resolution, out, stride=stride, stage=stage)
            skip = stabilise(skip, self.stabiliser, c_out) if self.stabiliser else skip
            return [skip], (skip.c_out, out)
        se, block = divmod(genes[0], len(BLOCKS))
        e, k = BLOCKS[block]
        # After skips only the expand convolution's input is narrower: otherwise no stabiliser could be folded into it.
        hidden = self._channels(WIDTHS[i - 1] if i else 16) * e
        layer = Layer(
            name, "mbconv", c_in, c_out, resolution, out, k, stride, e, hidden, se=hidden // 4 if se else 0,
            act="hswish", shortcut="identity" if stride == 1 and c_in == c_out else "", stage=stage,
        )  # fmt: skip
        return [layer], (c_out, out)

    def finish(self, state: tuple[int, int]) -> Sequence[Layer]:
        """Return 1x1 convolution to 1280 channels, pooling and classifier."""
        (c, resolution), head = state, self._channels(1280)
        return [
            Layer("head.conv", "conv", c, head, resolution, resolution, act="relu6"),
            Layer("head.pool", "gap", head, head, resolution, 1),
            Layer("classifier", "linear", head, self.classes, 1, 1),
        ]


@dataclass(frozen=True)
class ScarletS1(Scarlet):
    """S1, with 7^19 architectures: each layer is one of six inverted bottlenecks or a skip."""

    name: ClassVar[str] = "scarlet-s1"
    options: ClassVar[tuple[str, ...]] = (*PLAIN_LABELS, "skip")

    @property
    def named(self) -> Mapping[str, Arch]:
        """Models A and B of Table 1, and the extremes of Table 8."""
        return {
            "table1-a": (0, 5, 0, 6, 3, 2, 3, 0, 2, 1, 3, 5, 2, 4, 4, 4, 5, 3, 6),
            "table1-b": (5, 0, 1, 0, 2, 6, 6, 4, 3, 1, 5, 1, 0, 2, 4, 4, 1, 1, 2),
            "all-skip": (6,) * len(WIDTHS),
            "all-e6k7": (5,) * len(WIDTHS),
        }


@dataclass(frozen=True)
class ScarletS2(Scarlet):
    """S2, with 13^19 architectures: S1 with a squeeze-excite variant of each bottleneck."""

    name: ClassVar[str] = "scarlet-s2"
    options: ClassVar[tuple[str, ...]] = (*PLAIN_LABELS, *(f"{p}_SE" for p in PLAIN_LABELS), "skip")

    @property
    def named(self) -> Mapping[str, Arch]:
        """The released networks, model M of section 6.3, and the extremes."""
        return {
            "scarlet-a": SCARLET_A,
            "scarlet-b": SCARLET_B,
            "scarlet-c": SCARLET_C,
            "model-m": (1, 3, 1, 0, 12, 0, 0, 0, 12, 12, 12, 12, 12, 0, 0, 0, 12, 12, 9),
            "all-skip": (12,) * len(WIDTHS),
            "all-e6k7": (5,) * len(WIDTHS),
            "all-e6k7-se": (11,) * len(WIDTHS),
        }

    @property
    def upscaled(self) -> Mapping[str, tuple[str, str]]:
        """The manually up-scaled networks of Table 3."""
        return {
            "scarlet-a2": ("scarlet-a", "width=1.4,resolution=260px,rule=repeat"),
            "scarlet-a4": ("scarlet-a", "width=1.4,depth=2,resolution=380px,rule=repeat"),
        }


def _stage(i: int) -> int:
    """Return the stage of layer `i`: stages change where the width does."""
    return 1 + sum(WIDTHS[j] != WIDTHS[j - 1] for j in range(1, i + 1))
