"""A base model and its scaled siblings as a search sees them: which strategies fit a base, and which are one network.

Paper: "ScaleNet" (paper 003), appendices A and H, as in its released code: a scaled network fits if its MACs are near
2^j times those of its own base, not of the base budget.
Differences: depth factors that give the same network are one candidate; the middle of their interval stands for them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from ..blueprint import Blueprint
from ..costs.budget import BudgetSampler
from ..costs.table import costs_of
from ..errors import InputError, UnknownNameError
from ..space import Arch, Archs, Space
from ..spaces.scaled import GENES, Scaled, Strategies
from ..strategy import Scaling
from .budgets import Budgets
from .macs import require_chains, scaled_macs

Floats = npt.NDArray[np.float64]
Ties = Literal["middle", "smallest", "largest"]
TIES: tuple[Ties, ...] = ("middle", "smallest", "largest")
ATTEMPTS = 20  # times as many base models as wanted are drawn at most
SMALL_STEPS = 8  # crossings with random base models before an infeasible child is replaced by one


class Candidate(NamedTuple):
    """Strategies of a stage that all give the same networks."""

    genes: Arch  # the middle one: stage, depth, width, resolution
    depths: tuple[float, float]  # least and greatest depth factor
    off: float  # how far its MACs are from 2^j times the base's, in units of what is allowed; at most 1 fits


class State(NamedTuple):
    """One link of the chain: a base model and a strategy for each stage."""

    round: int
    base: Arch | None  # none at first, when strategies are judged by random base models
    strategies: tuple[Candidate, ...]  # of stages 1, 2, ...
    scores: tuple[float, ...]  # of the base under each; as the objective has it
    score: float  # their weighted mean
    evaluations: int  # asked for so far, repeated ones included

    def same_as(self, other: State) -> bool:
        """Whether both are the same family."""
        return self.base == other.base and self.strategies == other.strategies

    def to_json(self) -> dict[str, Any]:
        """A record of plain values."""
        strategies = [
            {"genes": list(c.genes), "depths": list(c.depths), "off": round(c.off, 6)} for c in self.strategies
        ]
        base = None if self.base is None else list(self.base)
        return {**self._asdict(), "base": base, "strategies": strategies, "scores": list(self.scores)}


@dataclass(frozen=True, eq=False)
class Family:
    """All base models of about the base budget, and all their strategies."""

    space: Scaled
    budgets: Budgets
    _known: dict[Arch, Blueprint] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        stages = len(self.space.strategies.factors) - 1
        if stages != self.budgets.stages:
            rule = f"lists of strategies and budgets must be of the same stages, {self.budgets.stages} budgets"
            raise InputError(f"{rule} are given, got {stages} lists")
        require_chains(self.space.base)

    @cached_property
    def sampler(self) -> BudgetSampler:
        """Of base models near the base budget."""
        return self.budgets.sampler(self.space.base)

    def network(self, base: Arch) -> Blueprint:
        """A base model, built once."""
        if base not in self._known:
            self._known[base] = self.space.base.blueprint(base)
        return self._known[base]

    def misfit(self, bases: Sequence[Arch], strategies: Sequence[Arch]) -> Floats:
        """|MACs - 2^j those of the base| in units of what is allowed: base models by strategies."""
        scalings = [Scaling(spatial=self.space.strategies.spatial), *(self.space.strategies[s] for s in strategies)]
        macs = scaled_macs(map(self.network, bases), scalings)
        growth = np.array([2.0 ** s[0] for s in strategies])
        return np.asarray(np.abs(macs[:, 1:] / growth - macs[:, :1]) / self.budgets.unit)

    def fits(self, archs: Archs, strategies: Sequence[Arch]) -> npt.NDArray[np.bool_]:
        """Which rows cost about the base budget, and about 2^j times themselves under each of the strategies."""
        window = self.budgets.window
        macs = costs_of(self.space.base, archs)
        good = np.asarray((macs >= window.low) & (macs <= window.high))
        if good.any():
            good[good] = (self.misfit(_tuples(archs[good]), strategies) <= 1).all(axis=1)
        return good

    def draw(self, rng: np.random.Generator, n: int, strategies: Sequence[Arch] = ()) -> list[Arch]:
        """`n` different base models that fit the strategies; where these are hard to find, the nearest to fitting."""
        drawn: dict[Arch, float] = {}
        for _ in range(ATTEMPTS):
            fresh = list(dict.fromkeys(_tuples(self.sampler.sample(rng, n)[0])))
            worst = self.misfit(fresh, strategies).max(axis=1, initial=0.0)
            drawn.update(zip(fresh, worst.tolist(), strict=True))
            if sum(off <= 1 for off in drawn.values()) >= n:
                break
        return sorted(drawn, key=lambda base: max(drawn[base], 1.0))[:n]

    def repair(self, rng: np.random.Generator, archs: Archs, strategies: Sequence[Arch]) -> Archs:
        """Infeasible rows are crossed with base models of the budget until they fit, at last replaced by one."""
        archs = archs.copy()
        bad = ~self.fits(archs, strategies)
        for _ in range(SMALL_STEPS):
            if not bad.any():
                return archs
            helpers = self.sampler.sample(rng, int(bad.sum()))[0]
            archs[bad] = cross(self.space.base, rng, archs[bad], helpers)
            bad[bad] = ~self.fits(archs[bad], strategies)
        for row in np.flatnonzero(bad):
            archs[row] = self.draw(rng, 1, strategies)[0]
        return archs

    def candidates(self, stage: int, bases: Sequence[Arch]) -> list[Candidate]:
        """The strategies of a stage that fit the base models on average, each network once; if none, the nearest."""
        lists = self.space.strategies
        factors, pixels = range(len(lists.factors[stage])), range(len(lists.pixels[stage]))
        grid: list[Arch] = [(stage, d, w, r) for w, r, d in product(factors, pixels, factors)]
        off = self.misfit(bases, grid).mean(axis=0)
        tied: dict[tuple[Arch, ...], list[int]] = {}
        for i, genes in enumerate(grid):
            tied.setdefault(tuple(self.space.canonical(genes + base) for base in bases), []).append(i)
        made = [_candidate(lists, [grid[i] for i in group], float(off[group[0]])) for group in tied.values()]
        return [c for c in made if c.off <= 1] or [min(made, key=lambda c: c.off)]


def cross(space: Space, rng: np.random.Generator, mothers: Archs, fathers: Archs) -> Archs:
    """Genes from either parent at random, those of a father's depth with him."""
    first = rng.random(mothers.shape) < 0.5
    for i, c in enumerate(space.choices):
        if c.parent >= 0:
            first[:, i] = first[:, c.parent]
    return np.where(first, mothers, fathers).astype(np.int8)


def factors_of(
    space: Scaled, strategies: Sequence[Candidate], ties: Ties = "middle"
) -> list[tuple[float, float, float]]:
    """(depth, width, resolution) of each stage as factors; depth by where in the tied interval it is taken."""
    if ties not in TIES:
        raise UnknownNameError("way to resolve ties", ties, TIES)
    resolution = space.strategies.pixels[0][0]
    rows = []
    for c in strategies:
        stage, _, w, r = c.genes
        low, high = c.depths
        depth = {"middle": (low + high) / 2, "smallest": low, "largest": high}[ties]
        rows.append((depth, space.strategies.factors[stage][w], space.strategies.pixels[stage][r] / resolution))
    return rows


def base_of(arch: Arch) -> Arch:
    """The genes of the base model."""
    return arch[GENES:]


def _candidate(lists: Strategies, tied: list[Arch], off: float) -> Candidate:
    depths = [lists[genes].depth for genes in tied]
    return Candidate(tied[(len(tied) - 1) // 2], (min(depths), max(depths)), off)


def _tuples(archs: Archs) -> list[Arch]:
    return [tuple(a) for a in archs.tolist()]
