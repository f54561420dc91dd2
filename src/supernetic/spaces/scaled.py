"""A base space times a scaling space: every network under every scaling strategy.

Paper: "ScaleNet", section 3: a super-supernet holds all networks of all sizes.
Differences: any space of chains can be the base; the paper's own product is `spaces.scalenet`.
"""

from __future__ import annotations

import re
from abc import abstractmethod
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

from ..blueprint import Blueprint, Layer
from ..errors import ArchError, InputError
from ..space import Arch, Choice, SequentialSpace, Space
from ..strategy import Scaling, Squeeze, is_block, scale, squeeze_of

SCALING_GENES = 4  # number of genes of a strategy: stage, depth, width, resolution


@dataclass(frozen=True)
class Strategies:
    """The scaling space: stages of about 2^j times the cost, each with its lists of factors and resolutions.

    `base * strategies` is the space of all base networks under all strategies.

    Args:
        factors: For each stage, the factors of depth and width to choose from; stage 0 is the unscaled one.
        pixels: For each stage, the image resolutions to choose from.
        rule: The scaling rule (`strategy.RULES`).
        spatial: How resolutions behind strided convolutions are rounded.
    """

    factors: tuple[tuple[float, ...], ...]
    pixels: tuple[tuple[int, ...], ...]
    rule: str = "scalenet"
    spatial: str = "ceil"

    @cached_property
    def choices(self) -> tuple[Choice, ...]:
        """Four genes: the stage, then an index into each of its lists."""
        factors, pixels = tuple(map(len, self.factors)), tuple(map(len, self.pixels))
        return (
            Choice("scale.stage", tuple(range(len(factors)))),
            Choice("scale.depth", tuple(range(max(factors))), 0, factors),
            Choice("scale.width", tuple(range(max(factors))), 0, factors),
            Choice("scale.resolution", tuple(range(max(pixels))), 0, pixels),
        )

    def __contains__(self, genes: Arch) -> bool:
        stage, d, w, r = genes
        return d < len(self.factors[stage]) and w < len(self.factors[stage]) and r < len(self.pixels[stage])

    def __getitem__(self, genes: Arch) -> Scaling:
        stage, d, w, r = genes
        return Scaling(self.factors[stage][d], self.factors[stage][w], self.pixels[stage][r], self.rule, self.spatial)

    def simplest(self, genes: Arch, depths: Sequence[int]) -> Arch:
        """Return the strategy with the smallest depth factor that gives the same numbers of blocks.

        Args:
            genes: The strategy.
            depths: Numbers of blocks of the base network's stages.
        """
        stage, d, w, r = genes
        repeats = [self[genes].repeats(n) for n in depths]
        for smaller in range(d):
            if [self[stage, smaller, w, r].repeats(n) for n in depths] == repeats:
                return (stage, smaller, w, r)
        return genes

    def format(self, genes: Arch) -> str:
        """Write a strategy as `d=1.08 w=1.04 r=256px`."""
        s = self[genes]
        return f"d={s.depth:g} w={s.width:g} r={s.resolution}px"

    def parse(self, text: str) -> Arch:
        """Read what `format` writes; the stage is the first one that has all three values."""
        match = re.fullmatch(r"d=([\d.]+)\s+w=([\d.]+)\s+r=(\d+)px", text.strip())
        if match:
            d, w, r = float(match[1]), float(match[2]), int(match[3])
            for stage, (factors, pixels) in enumerate(zip(self.factors, self.pixels, strict=True)):
                if d in factors and w in factors and r in pixels:
                    return (stage, factors.index(d), factors.index(w), pixels.index(r))
        example = self.format((0,) * SCALING_GENES)
        raise ArchError(
            f"a strategy must take depth, width and resolution from the lists of one stage, such as {example!r}, "
            f"got {text!r}"
        )

    def __rmul__(self, base: Space) -> Product:
        return Product(base, self)


class Scaled(Space):
    """A base space times a scaling space: four scaling genes, then those of the base."""

    paper: ClassVar[str] = "ScaleNet"
    sharing: ClassVar[str] = "scaled"

    @property
    @abstractmethod
    def base(self) -> Space:
        """The space of unscaled networks."""

    @property
    @abstractmethod
    def strategies(self) -> Strategies:
        """The scaling space."""

    @cached_property
    def choices(self) -> tuple[Choice, ...]:
        """The genes of the strategy, then those of the base: an automaton must know the strategy first."""
        moved = (c._replace(parent=c.parent + SCALING_GENES if c.parent >= 0 else -1) for c in self.base.choices)
        return (*self.strategies.choices, *moved)

    def blueprint(self, arch: Arch) -> Blueprint:
        """Return the base network, scaled."""
        return scale(self.base.blueprint(arch[SCALING_GENES:]), self.strategies[arch[:SCALING_GENES]])

    def canonical(self, arch: Arch) -> Arch:
        """Replace the depth factor by the smallest one that gives the same network."""
        base = self.base.canonical(arch[SCALING_GENES:])
        blocks = Counter(layer.stage for layer in self.base.blueprint(base) if is_block(layer))
        return self.strategies.simplest(arch[:SCALING_GENES], sorted(set(blocks.values()))) + base

    def format(self, arch: Arch) -> str:
        """Write `d=1.08 w=1.04 r=256px : ` and the base in its own notation."""
        return f"{self.strategies.format(arch[:SCALING_GENES])} : {self.base.format(arch[SCALING_GENES:])}"

    def _parse(self, text: str) -> Arch | None:
        strategy, colon, base = text.partition(":")
        return self.strategies.parse(strategy) + self.base.parse(base) if colon else None


@dataclass(frozen=True)
class Product(Scaled):
    """Any space of chains times a scaling space."""

    of: Space
    by: Strategies

    name: ClassVar[str] = "scaled"

    @property
    def base(self) -> Space:
        """The space of unscaled networks."""
        return self.of

    @property
    def strategies(self) -> Strategies:
        """The scaling space."""
        return self.by

    def layers(self) -> Iterator[Layer]:
        """Yield every layer at its least and greatest width and at every resolution, as often as it may appear."""
        if not isinstance(self.of, SequentialSpace):
            raise InputError(f"the base of a scaled supernet must be a SequentialSpace, got {self.of.name}")
        layers = list(dict.fromkeys(self.of.layers()))
        squeeze = squeeze_of(layers)
        for factors, pixels in zip(self.by.factors, self.by.pixels, strict=True):
            copies = _copies(layers, [Scaling(d, rule=self.by.rule) for d in factors])
            for width, resolution in (*((min(factors), p) for p in pixels), (max(factors), pixels[-1])):
                scaling = Scaling(1.0, width, resolution, self.by.rule, self.by.spatial)
                yield from _Repeated(self.of, scaling, copies, squeeze).layers()


def _copies(layers: Sequence[Layer], depths: Sequence[Scaling]) -> dict[str, int]:
    """Return by name how many copies of a block may follow each other.

    Only the last block of a stage is copied (by most rules), and the third block is the last of a stage with three.
    """
    stages: dict[int, dict[str, None]] = {}
    for layer in layers:
        if is_block(layer):
            stages.setdefault(layer.stage, {})[layer.name] = None
    most = [max(max(d.repeats(n)) for d in depths) for n in range(1, max(map(len, stages.values())) + 1)]
    return {name: max(most[: i + 1]) for names in stages.values() for i, name in enumerate(names)}


@dataclass(frozen=True)
class _Repeated(SequentialSpace):
    """A base space at one width factor, with each block repeated as often as any depth factor repeats it."""

    of: SequentialSpace
    scaling: Scaling
    copies: Mapping[str, int]  # by name
    squeeze: Squeeze

    name: ClassVar[str] = "repeated"
    paper: ClassVar[str] = ""

    @property
    def choices(self) -> tuple[Choice, ...]:
        """As in the base."""
        return self.of.choices

    @property
    def slots(self) -> tuple[tuple[int, ...], ...]:
        """As in the base."""
        return self.of.slots

    def start(self) -> tuple[Sequence[Layer], Any]:
        """Return the first layers, scaled; the state is (state of the base, (channels, resolution) when scaled)."""
        layers, state = self.of.start()
        return self._fed(layers, state, None)

    def step(self, i: int, state: Any, genes: Arch) -> tuple[Sequence[Layer], Any] | None:
        """Return the layers of the base, scaled."""
        taken = self.of.step(i, state[0], genes)
        return taken and self._fed(*taken, state[1])

    def finish(self, state: Any) -> Sequence[Layer]:
        """Return the layers of the base, scaled."""
        return self._fed(self.of.finish(state[0]), None, state[1])[0]

    def _fed(self, layers: Sequence[Layer], state: Any, outer: Any) -> tuple[Sequence[Layer], Any]:
        scaled: list[Layer] = []
        for layer in layers:
            copies = self.copies[layer.name] if is_block(layer) else 1
            outer = outer or (layer.c_in, self.scaling.pixels(layer.resolution))
            more, outer = self.scaling.feed(outer, layer, copies, self.squeeze)
            scaled += more
        return scaled, (state, outer)
