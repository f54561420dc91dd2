"""AttentiveNAS's evolution: an archive of the best network in each bin of MACs.

Paper: Wang et al., "AttentiveNAS", arXiv 2011.09011, as released with AlphaNet (arXiv 2102.07954).
Differences: no network is evaluated twice; the range of MACs is whatever the constraints say.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np

from ..costs import costs_of
from ..space import Arch
from .evolution import offspring
from .problem import Asking, SearchProblem, Trial, fill
from .variation import neighbours


@dataclass(frozen=True)
class BinnedEvolution:
    """In each bin the best by the first objective; random members of the archive have mutants and crossovers."""

    population: int = 512
    generations: int = 20
    mutants: float = 0.25  # of each generation, as a share of the population
    crossovers: float = 0.25
    rate: float = 0.2  # chance of each gene of a mutant to change
    width: float = 10e6  # of a bin, in MACs

    needs_budget: ClassVar[bool] = False

    def search(self, task: SearchProblem, rng: np.random.Generator) -> Asking:
        """Begin with the smallest network and random ones."""
        seen: set[Arch] = set()
        archive: dict[int, Trial] = {}
        draw = partial(task.sample, rng)
        least = np.array([smallest(task, rng)], dtype=np.int8)
        batch = fill(task, 1, seen, lambda _: least) + fill(task, self.population - 1, seen, draw)
        self._enter(task, archive, (yield batch))
        for _ in range(self.generations):
            members = list(archive.values())
            batch = offspring(task, rng, seen, members, self.population, self.mutants, self.crossovers, self.rate)
            if not batch:
                return
            self._enter(task, archive, (yield batch))

    def _enter(self, task: SearchProblem, archive: dict[int, Trial], trials: Iterable[Trial]) -> None:
        """Keep the best trial of each bin."""
        good = [t for t in trials if t.ok]
        archs = np.array([t.arch for t in good], dtype=np.int8).reshape(len(good), len(task.space.choices))
        macs, values = costs_of(task.space, archs), task.points(good)[:, 0]
        for trial, cost, value in zip(good, macs.tolist(), values, strict=True):
            place = round(cost / self.width)
            if place not in archive or value < task.points([archive[place]])[0, 0]:
                archive[place] = trial


def smallest(task: SearchProblem, rng: np.random.Generator) -> Arch:
    """The network of least MACs within reach: the least of many draws, then downhill gene by gene.

    Args:
        task: the space and its constraints.
        rng: of the draws.

    Returns:
        An architecture that keeps the cheap constraints.
    """
    draws = task.sample(rng, 1000)
    arch: Arch = tuple(draws[np.argmin(costs_of(task.space, draws))].tolist())
    while True:
        around = neighbours(task.space, arch)
        around = np.concatenate([np.array([arch], dtype=np.int8), around[task.feasible(around)]])
        least: Arch = tuple(around[np.argmin(costs_of(task.space, around))].tolist())
        if least == arch:
            return arch
        arch = least
