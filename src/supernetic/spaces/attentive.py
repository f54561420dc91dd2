"""AttentiveNAS's elastic space: width, depth, kernel and expansion per stage, and the input resolution.

Paper: Wang et al., "AttentiveNAS", arXiv 2011.09011, Table 2; networks A0-A6 as released.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

from ..blueprint import Layer, halved, make_divisible
from ..space import Arch, Choice, SequentialSpace


class Stage(NamedTuple):
    """One row of Table 2: the options of a stage."""

    widths: tuple[int, ...]
    depths: tuple[int, ...]
    expands: tuple[int, ...]
    stride: int
    se: bool


STEM_WIDTHS = (16, 24)
STAGES = (
    Stage((16, 24), (1, 2), (1,), 1, False),
    Stage((24, 32), (3, 4, 5), (4, 5, 6), 2, False),
    Stage((32, 40), (3, 4, 5, 6), (4, 5, 6), 2, True),
    Stage((64, 72), (3, 4, 5, 6), (4, 5, 6), 2, False),
    Stage((112, 120, 128), (3, 4, 5, 6, 7, 8), (4, 5, 6), 1, True),
    Stage((192, 200, 208, 216), (3, 4, 5, 6, 7, 8), (6,), 2, True),
    Stage((216, 224), (1, 2), (6,), 1, True),
)
HEAD_WIDTHS = (1792, 1984)
KERNELS = (3, 5)
N_STAGES = len(STAGES)

# resolution; widths; kernels; expansions; depths
RELEASED_NETWORKS = {
    "attentive-a0": "192; 16 16 24 32 64 112 192 216 1792; 3333333; 1444466; 1333331",
    "attentive-a1": "224; 16 16 24 32 64 112 192 216 1984; 3335353; 1444466; 1333331",
    "attentive-a2": "224; 16 16 24 32 64 112 200 224 1984; 3333353; 1454466; 1333341",
    "attentive-a3": "224; 16 16 24 32 64 112 208 224 1984; 3335333; 1444466; 2334351",
    "attentive-a4": "256; 16 16 24 32 64 112 192 216 1984; 3335353; 1445466; 1334351",
    "attentive-a5": "256; 16 16 24 32 72 112 192 216 1792; 3335333; 1454466; 1333461",
    "attentive-a6": "288; 16 16 24 32 64 112 216 224 1984; 3333353; 1465466; 1334461",
}


@dataclass(frozen=True)
class Attentive(SequentialSpace):
    """AttentiveNAS's space.

    Genes: the resolution; the widths of stem, seven stages and head; then depths, kernels and expansions of the stages.
    """

    resolutions: tuple[int, ...] = (192, 224, 256, 288)
    classes: int = 1000
    in_channels: int = 3
    width: float = 1.0  # multiplies all channels, for reduced variants

    name: ClassVar[str] = "attentive"
    paper: ClassVar[str] = "AttentiveNAS"
    sharing: ClassVar[str] = "elastic"

    @cached_property
    def choices(self) -> tuple[Choice, ...]:
        """The 31 genes, in the order of the released configurations."""
        stages = [f"mb{i + 1}" for i in range(N_STAGES)]
        widths = zip(["stem", *stages, "head"], [STEM_WIDTHS, *(s.widths for s in STAGES), HEAD_WIDTHS], strict=True)
        return (
            Choice("resolution", self.resolutions),
            *(Choice(f"{n}.width", w) for n, w in widths),
            *(Choice(f"{n}.depth", s.depths) for n, s in zip(stages, STAGES, strict=True)),
            *(Choice(f"{n}.kernel", KERNELS) for n in stages),
            *(Choice(f"{n}.expand", s.expands) for n, s in zip(stages, STAGES, strict=True)),
        )

    @cached_property
    def slots(self) -> tuple[tuple[int, ...], ...]:
        """Resolution and stem; then width, depth, kernel and expansion of each stage; then the head."""
        stages = [(2 + i, 10 + i, 10 + N_STAGES + i, 10 + 2 * N_STAGES + i) for i in range(N_STAGES)]
        return ((0, 1), *stages, (2 + N_STAGES,))

    @cached_property
    def named(self) -> Mapping[str, Arch]:
        """A0 to A6, which exist only at the resolutions of the paper."""
        if self.resolutions != (192, 224, 256, 288):
            return {}
        return {name: self._require(text) for name, text in RELEASED_NETWORKS.items()}

    # --- notation -----------------------------------------------------------------------------------------------------

    def format(self, arch: Arch) -> str:
        """Write `192; 16 16 24 ...; 3333333; 1444466; 1333331`: resolution, widths, kernels, expansions, depths."""
        v = [c.options[g] for c, g in zip(self.choices, arch, strict=True)]
        n = N_STAGES
        widths, depths, kernels, expands = v[1 : n + 3], v[n + 3 : 2 * n + 3], v[2 * n + 3 : 3 * n + 3], v[3 * n + 3 :]
        digits = ("".join(map(str, group)) for group in (kernels, expands, depths))
        return "; ".join((str(v[0]), " ".join(map(str, widths)), *digits))

    def _parse(self, text: str) -> Arch | None:
        groups = [g.strip() for g in text.split(";")]
        if len(groups) != 5 or not all(re.fullmatch(r"[\d ]+", g) for g in groups):
            return None
        resolution, widths = [int(groups[0])], [int(w) for w in groups[1].split()]
        kernels, expands, depths = ([int(c) for c in g.replace(" ", "")] for g in groups[2:])
        if len(widths) != N_STAGES + 2 or not len(kernels) == len(expands) == len(depths) == N_STAGES:
            return None
        values: list[int] = resolution + widths + depths + kernels + expands
        # An option that does not exist becomes a gene out of range, which `check` names.
        return tuple(_index(c.options, v) for c, v in zip(self.choices, values, strict=True))

    def _require(self, text: str) -> Arch:
        return self.check(self._parse(text) or ())

    # --- the network --------------------------------------------------------------------------------------------------

    def _channels(self, c: int) -> int:
        return c if self.width == 1 else make_divisible(c * self.width)

    def start(self) -> tuple[Sequence[Layer], None]:
        """Return no layers: even the stem depends on genes."""
        return (), None

    def step(self, i: int, state: Any, genes: Arch) -> tuple[Sequence[Layer], tuple[int, int]]:
        """Return the stem, a stage, or the head; the state is (channels, resolution)."""
        if i == 0:
            resolution, c = self.resolutions[genes[0]], self._channels(STEM_WIDTHS[genes[1]])
            out = halved(resolution, 2)
            return [Layer("stem", "conv", self.in_channels, c, resolution, out, 3, 2, act="swish")], (c, out)
        if i == N_STAGES + 1:
            return self._head(state[0], state[1], self._channels(HEAD_WIDTHS[genes[0]])), state
        stage = STAGES[i - 1]
        c, depth = self._channels(stage.widths[genes[0]]), stage.depths[genes[1]]
        kernel, expand = KERNELS[genes[2]], stage.expands[genes[3]]
        layers = []
        c_in, resolution = state
        for block in range(depth):
            stride = stage.stride if block == 0 else 1
            hidden, out = make_divisible(c_in * expand), halved(resolution, stride)
            layer = Layer(
                f"mb{i}.{block}", "mbconv", c_in, c, resolution, out, kernel, stride, expand, hidden,
                se=make_divisible(hidden // 4) if stage.se else 0, act="swish",
                shortcut="identity" if stride == 1 and c_in == c else "project", stage=i,
            )  # fmt: skip
            layers.append(layer)
            c_in, resolution = c, out
        return layers, (c_in, resolution)

    def _head(self, c: int, resolution: int, width: int) -> list[Layer]:
        """MBPool: the last expansion runs before pooling, the rest on a single pixel."""
        return [
            Layer("head.expand", "conv", c, 6 * c, resolution, resolution, act="swish"),
            Layer("head.pool", "gap", 6 * c, 6 * c, resolution, 1),
            Layer("head.conv", "conv", 6 * c, width, 1, 1, norm=False, act="swish"),
            Layer("classifier", "linear", width, self.classes, 1, 1),
        ]

    def finish(self, state: tuple[int, int]) -> Sequence[Layer]:
        """Return no layers: the head is the last slot."""
        return ()


def _index(options: tuple[Any, ...], value: int) -> int:
    return options.index(value) if value in options else len(options)
