"""A base model and its scaled versions in a search: which strategies fit a base, and which give the same network.

Paper: "ScaleNet", appendices A and H, as in its released code: a scaled network fits if its MACs are near 2^j times
those of its own base, not of the base budget.
Differences: depth factors that give the same network are one candidate; the middle of their interval represents them.
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
from ..spaces.scaled import SCALING_GENES, Scaled, Strategies
from ..strategy import Scaling
from .budgets import Budgets
from .macs import require_chains, scaled_macs

Floats = npt.NDArray[np.float64]
Ties = Literal["middle", "smallest", "largest"]
TIES: tuple[Ties, ...] = ("middle", "smallest", "largest")
MAX_DRAW_ROUNDS = 20  # in search of base models that fit
MAX_REPAIR_CROSSINGS = 8  # with random base models, before an infeasible child is replaced by one


class Candidate(NamedTuple):
    """Strategies of a stage that all give the same networks."""

    genes: Arch  # of the middle one: stage, depth, width, resolution
    depths: tuple[float, float]  # least and greatest depth factor
    off: float  # distance of its MACs from 2^j times those of the base, over the tolerance; at most 1 fits


class State(NamedTuple):
    """One state of the Markov chain: a base model and a strategy for each stage."""

    round: int
    base: Arch | None  # None at first, when strategies are judged by random base models
    strategies: tuple[Candidate, ...]  # of stages 1, 2, ...
    scores: tuple[float, ...]  # of the base under each strategy, in the sign of the objective
    score: float  # their weighted mean
    evaluations: int  # so far, including repeated ones

    def same_as(self, other: State) -> bool:
        """Return whether both have the same base and strategies."""
        return self.base == other.base and self.strategies == other.strategies

    def to_json(self) -> dict[str, Any]:
        """Return a record of plain values."""
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
    _blueprints: dict[Arch, Blueprint] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        stages = len(self.space.strategies.factors) - 1
        if stages != self.budgets.stages:
            rule = f"there must be a list of strategies for each of {self.budgets.stages} scaling stages"
            raise InputError(f"{rule}, got {stages} lists")
        require_chains(self.space.base)

    @cached_property
    def sampler(self) -> BudgetSampler:
        """Draws base models near the base budget."""
        return self.budgets.sampler(self.space.base)

    def network(self, base: Arch) -> Blueprint:
        """Return the network of a base model; it is built once."""
        if base not in self._blueprints:
            self._blueprints[base] = self.space.base.blueprint(base)
        return self._blueprints[base]

    def misfit(self, bases: Sequence[Arch], strategies: Sequence[Arch]) -> Floats:
        """Return |MACs - 2^j times those of the base| over the tolerance, for base models (rows) by strategies."""
        scalings = [Scaling(spatial=self.space.strategies.spatial), *(self.space.strategies[s] for s in strategies)]
        macs = scaled_macs(map(self.network, bases), scalings)
        growth = np.array([2.0 ** s[0] for s in strategies])
        return np.asarray(np.abs(macs[:, 1:] / growth - macs[:, :1]) / self.budgets.unit)

    def fits(self, archs: Archs, strategies: Sequence[Arch]) -> npt.NDArray[np.bool_]:
        """Return which base models cost about the base budget, and about 2^j times as much under each strategy."""
        window = self.budgets.window
        macs = costs_of(self.space.base, archs)
        good = np.asarray((macs >= window.low) & (macs <= window.high))
        if good.any():
            good[good] = (self.misfit(_tuples(archs[good]), strategies) <= 1).all(axis=1)
        return good

    def draw(self, rng: np.random.Generator, n: int, strategies: Sequence[Arch] = ()) -> list[Arch]:
        """Draw `n` different base models that fit the strategies; if too few are found, those that miss by least."""
        drawn: dict[Arch, float] = {}
        for _ in range(MAX_DRAW_ROUNDS):
            fresh = list(dict.fromkeys(_tuples(self.sampler.sample(rng, n)[0])))
            worst = self.misfit(fresh, strategies).max(axis=1, initial=0.0)
            drawn.update(zip(fresh, worst.tolist(), strict=True))
            if sum(off <= 1 for off in drawn.values()) >= n:
                break
        return sorted(drawn, key=lambda base: max(drawn[base], 1.0))[:n]

    def repair(self, rng: np.random.Generator, archs: Archs, strategies: Sequence[Arch]) -> Archs:
        """Cross infeasible rows with base models of the budget until they fit; replace those that never do."""
        archs = archs.copy()
        bad = ~self.fits(archs, strategies)
        for _ in range(MAX_REPAIR_CROSSINGS):
            if not bad.any():
                return archs
            helpers = self.sampler.sample(rng, int(bad.sum()))[0]
            archs[bad] = cross(self.space.base, rng, archs[bad], helpers)
            bad[bad] = ~self.fits(archs[bad], strategies)
        for row in np.flatnonzero(bad):
            archs[row] = self.draw(rng, 1, strategies)[0]
        return archs

    def candidates(self, stage: int, bases: Sequence[Arch]) -> list[Candidate]:
        """Return the strategies of a stage that fit the base models on average; if none does, the nearest one.

        Strategies that give the same networks are one candidate.

        Args:
            stage: Number of the scaling stage.
            bases: The base models.
        """
        lists = self.space.strategies
        factors, pixels = range(len(lists.factors[stage])), range(len(lists.pixels[stage]))
        grid: list[Arch] = [(stage, d, w, r) for w, r, d in product(factors, pixels, factors)]
        off = self.misfit(bases, grid).mean(axis=0)
        tied: dict[tuple[Arch, ...], list[int]] = {}
        for i, genes in enumerate(grid):
            tied.setdefault(tuple(self.space.canonical(genes + base) for base in bases), []).append(i)
        distinct = [_candidate(lists, [grid[i] for i in group], float(off[group[0]])) for group in tied.values()]
        return [c for c in distinct if c.off <= 1] or [min(distinct, key=lambda c: c.off)]


def cross(space: Space, rng: np.random.Generator, mothers: Archs, fathers: Archs) -> Archs:
    """Take each gene from either parent at random; genes that depend on another come from the same parent as it."""
    first = rng.random(mothers.shape) < 0.5
    for i, c in enumerate(space.choices):
        if c.parent >= 0:
            first[:, i] = first[:, c.parent]
    return np.where(first, mothers, fathers).astype(np.int8)


def factors_of(
    space: Scaled, strategies: Sequence[Candidate], ties: Ties = "middle"
) -> list[tuple[float, float, float]]:
    """Return (depth, width, resolution) of each stage as factors.

    Args:
        space: The base space times the scaling space.
        strategies: One candidate per stage.
        ties: Which of the depth factors that give the same network to take.
    """
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
    """Return the genes of the base model."""
    return arch[SCALING_GENES:]


def _candidate(lists: Strategies, tied: list[Arch], off: float) -> Candidate:
    depths = [lists[genes].depth for genes in tied]
    return Candidate(tied[(len(tied) - 1) // 2], (min(depths), max(depths)), off)


def _tuples(archs: Archs) -> list[Arch]:
    return [tuple(a) for a in archs.tolist()]
