"""NSGA-II with constraints, weighted crowding and hierarchical mutation.

Paper: Chu et al., "SCARLET-NAS", arXiv 1908.06022 (Algorithm 1, Table 7); Deb et al., "NSGA-II", 2002.
Differences: no network is evaluated twice, and a generation that cannot be filled is closed short, where the listing
would loop for ever. The paper names its mutations without defining them: here "reinforced" draws an option by its mean
credit in all evaluated networks (the paper's predecessor trains a policy), "prior" by its frequency in the first front.
The defaults make 1,000 evaluations; the paper's are `NSGA2(population=70, generations=120, weights=(.4, .4, .2))`.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from .. import pareto
from ..space import Arch, Archs
from .problem import Asking, SearchProblem, Trial, fill
from .variation import crossover, limits, random_gene, repair

Floats = npt.NDArray[np.float64]
Propose = Callable[[int], Archs]


@dataclass(frozen=True)
class NSGA2:
    """Parents and children compete: by front, and within the last front that fits by crowding."""

    population: int = 50
    generations: int = 20  # in all; the first two are drawn at random
    weights: tuple[float, ...] = ()  # of the objectives in the crowding distance; empty for equal ones
    mutation: float = 0.8  # share of children that are mutants, not crossovers
    kinds: tuple[float, float, float] = (0.2, 0.65, 0.15)  # random, reinforced, prior mutation
    costly: float = 0.7  # chance that an evaluated objective, not a cost, gives the credit
    retries: int = 20  # times that a generation is filled up after constraints emptied it

    needs_budget: ClassVar[bool] = False

    def search(self, task: SearchProblem, rng: np.random.Generator) -> Asking:
        """Algorithm 1 of SCARLET-NAS."""
        seen: set[Arch] = set()
        credit = Credit.of(task)
        draw = partial(task.sample, rng)
        gather = partial(self._gather, task, seen, credit, draw)
        parents = yield from gather(draw)
        children = (yield from gather(draw)) if self.generations > 1 else []
        for _ in range(self.generations - 2):
            pool = [*parents, *children]
            points = task.points(pool)
            best = pareto.best_first(points, self.weights)[: self.population]
            parents = [pool[i] for i in best]
            if not parents:
                return
            archs = np.array([t.arch for t in parents], dtype=np.int8)
            first = archs[pareto.front(points[best])]
            roulette = np.exp(credit.scores()), frequency(task, first)
            children = yield from gather(partial(self._breed, task, rng, archs, *roulette))
            if not children:
                return

    def _gather(
        self, task: SearchProblem, seen: set[Arch], credit: Credit, draw: Propose, propose: Propose
    ) -> Generator[list[Arch], list[Trial], list[Trial]]:
        """A full generation of networks that satisfy all constraints; random ones where breeding finds nothing new."""
        good: list[Trial] = []
        for _ in range(1 + self.retries):
            missing = self.population - len(good)
            batch = fill(task, missing, seen, propose) or fill(task, missing, seen, draw)
            if not batch:
                break
            trials = yield batch
            credit.add(task, trials)
            good += [t for t in trials if t.ok]
        return good

    def _breed(
        self,
        task: SearchProblem,
        rng: np.random.Generator,
        parents: Archs,
        credits: Floats,
        frequencies: Floats,
        n: int,
    ) -> Archs:
        """`n` children of winners of binary tournaments; `parents` are in order, the best first."""
        mothers, fathers = (parents[rng.integers(len(parents), size=(2, n)).min(axis=0)] for _ in range(2))
        mutants = self._mutate(task, rng, mothers, credits, frequencies)
        children = crossover(task.space, rng, mothers, fathers)
        return np.where(rng.random((n, 1)) < self.mutation, mutants, children)

    def _mutate(
        self, task: SearchProblem, rng: np.random.Generator, archs: Archs, credits: Floats, frequencies: Floats
    ) -> Archs:
        """Hierarchical mutation: first how, then (reinforced) by which objective, then a gene, then its option."""
        n, rows = len(archs), np.arange(len(archs))
        allowed = limits(task.space, archs)
        gene = random_gene(rng, allowed)
        kind = rng.choice(3, size=n, p=self.kinds)[:, None]
        by = rng.choice(len(task.objectives), size=n, p=self._steering(task))
        chance = np.where(kind == 0, 1.0, np.where(kind == 1, credits[by, gene], frequencies[gene]))
        option = np.arange(chance.shape[1])
        other = (option < allowed[rows, gene][:, None]) & (option != archs[rows, gene][:, None])
        chance = chance * other
        chance = np.where(chance.sum(axis=1, keepdims=True) > 0, chance, other)
        wheel = np.cumsum(chance, axis=1)
        mutants = archs.copy()
        mutants[rows, gene] = np.argmax(wheel > rng.random((n, 1)) * wheel[:, -1:], axis=1)
        return repair(task.space, rng, mutants, allowed == 1)

    def _steering(self, task: SearchProblem) -> Floats:
        """How often each objective gives the credit: evaluated ones share `costly`, costs the rest."""
        cost = np.array([o.name.startswith("cost/") for o in task.objectives])
        share = np.where(cost, (1 - self.costly) / max(cost.sum(), 1), self.costly / max((~cost).sum(), 1))
        return np.asarray(share / share.sum())


def frequency(task: SearchProblem, archs: Archs) -> Floats:
    """How often each option of each gene occurs.

    Args:
        task: the space.
        archs: one architecture per row.

    Returns:
        Shares, genes x options.
    """
    options = np.arange(int(task.space.radices.max()))
    return np.asarray((archs[:, :, None] == options).mean(axis=0))


@dataclass
class Credit:
    """For each objective, gene and option, the mean of the networks that have it, in standard deviations."""

    count: Floats  # genes x options
    total: Floats  # objectives x genes x options
    values: list[Floats]  # objectives of every network, to be minimised

    @classmethod
    def of(cls, task: SearchProblem) -> Credit:
        """Credit before anything is evaluated.

        Args:
            task: the space and the objectives.

        Returns:
            Zeros.
        """
        shape = len(task.space.choices), int(task.space.radices.max())
        return cls(np.zeros(shape), np.zeros((len(task.objectives), *shape)), [])

    def add(self, task: SearchProblem, trials: Sequence[Trial]) -> None:
        """Count every network that has numbers, feasible or not.

        Args:
            task: the objectives.
            trials: evaluated networks.
        """
        points = task.points(trials)
        finite = np.isfinite(points).all(axis=1)
        points, archs = points[finite], np.array([t.arch for t in trials])[finite]
        has = archs[:, :, None] == np.arange(self.count.shape[1])
        self.count += has.sum(axis=0)
        self.total += np.einsum("nk,ngo->kgo", points, has)
        self.values.append(points)

    def scores(self) -> Floats:
        """Higher is better; 0 for options that no network had."""
        if not self.values:
            return np.zeros_like(self.total)
        values = np.concatenate(self.values)
        mean, spread = values.mean(axis=0)[:, None, None], values.std(axis=0)[:, None, None]
        gap = mean - self.total / np.maximum(self.count, 1)
        return np.where((self.count > 0) & (spread > 0), gap / np.where(spread > 0, spread, 1), 0.0)
