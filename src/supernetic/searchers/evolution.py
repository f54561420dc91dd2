"""Evolution for one objective: regularised (ageing) evolution and SPOS's.

Paper: Real et al., "Regularized Evolution for Image Classifier Architecture Search", arXiv 1802.01548;
Guo et al., "Single Path One-Shot Neural Architecture Search with Uniform Sampling", arXiv 1904.00420.
Differences: no network is evaluated twice (in regularised evolution a known child lives again at no cost); with several
objectives, "best" goes by Pareto order. Regularised evolution keeps 30 and compares 10 by default (the paper 100, 25).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np

from ..space import Arch, Archs
from .problem import Asking, SearchProblem, Trial, fill
from .variation import crossover, mutate, mutate_one

STALE_CHILDREN = 50  # known children in a row after which a random network is let in


@dataclass(frozen=True)
class RegularisedEvolution:
    """The oldest dies; the best of a random sample has a child with one gene changed."""

    population: int = 30
    sample: int = 10  # compared for each parent

    needs_budget: ClassVar[bool] = True

    def search(self, task: SearchProblem, rng: np.random.Generator) -> Asking:
        """One child at a time."""
        seen: set[Arch] = set()
        draw = partial(task.sample, rng)
        start = yield fill(task, self.population, seen, draw)
        alive = deque((t for t in start if t.ok), maxlen=self.population)

        def child(_: int) -> Archs:
            some = rng.choice(len(alive), size=min(self.sample, len(alive)), replace=False)
            parent = task.best_first([alive[i] for i in some])[0]
            return mutate_one(task.space, rng, np.array([parent.arch], dtype=np.int8))

        stale = 0
        while True:
            batch = fill(task, 1, set(), child) if alive and stale < STALE_CHILDREN else []
            stale = stale + 1 if batch and task.space.canonical(batch[0]) in seen else 0
            batch = batch or fill(task, 1, seen, draw)
            if not batch:
                return
            seen.add(task.space.canonical(batch[0]))
            alive.extend(t for t in (yield batch) if t.ok)


@dataclass(frozen=True)
class SPOSEvolution:
    """The ten best so far have mutants and crossovers; the rest of a generation is random."""

    population: int = 50
    generations: int = 20
    top: int = 10
    mutants: float = 0.5  # share of a generation
    crossovers: float = 0.5
    rate: float = 0.1  # chance of each gene of a mutant to change

    needs_budget: ClassVar[bool] = False

    def search(self, task: SearchProblem, rng: np.random.Generator) -> Asking:
        """Evaluate a generation, keep the best, breed the next."""
        seen: set[Arch] = set()
        best: list[Trial] = []
        draw = partial(task.sample, rng)
        batch = fill(task, self.population, seen, draw)
        for _ in range(self.generations):
            trials = yield batch
            best = task.best_first([*best, *(t for t in trials if t.ok)])[: self.top]
            batch = offspring(task, rng, seen, best, self.population, self.mutants, self.crossovers, self.rate)
            batch += fill(task, self.population - len(batch), seen, draw)
            if not batch:
                return


def offspring(
    task: SearchProblem,
    rng: np.random.Generator,
    seen: set[Arch],
    parents: Sequence[Trial],
    population: int,
    mutants: float,
    crossovers: float,
    rate: float,
) -> list[Arch]:
    """New mutants and crossovers of random parents, each a share of the population.

    Args:
        task: the space and its constraints.
        rng: of all draws.
        seen: networks that exist already; the children are added.
        parents: trials that have children.
        population: size of a generation.
        mutants: how many mutants, as a share of the population.
        crossovers: the same for crossovers.
        rate: chance of each gene of a mutant to change.

    Returns:
        The children, mutants first; fewer where nothing new is found.
    """
    if not parents:
        return []
    archs = np.array([t.arch for t in parents], dtype=np.int8)

    def pick(k: int) -> Archs:
        return archs[rng.integers(len(archs), size=k)]

    children = fill(task, round(mutants * population), seen, lambda k: mutate(task.space, rng, pick(k), rate))
    mixed = fill(task, round(crossovers * population), seen, lambda k: crossover(task.space, rng, pick(k), pick(k)))
    return children + mixed
