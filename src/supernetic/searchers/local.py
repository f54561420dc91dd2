"""Local search: walk to a better neighbour until there is none, then start anew.

Paper: White, Nolen & Savani, "Exploring the Loss Landscape in Neural Architecture Search", arXiv 2005.02960.
Differences: moves to the first better neighbour by default (the paper to the best); restarts until stopped; with
several objectives a better neighbour is one that dominates.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np

from ..errors import InputError
from ..space import Arch
from .problem import Asking, SearchProblem, fill
from .variation import neighbours


@dataclass(frozen=True)
class LocalSearch:
    """Neighbours differ in one gene."""

    improve: str = "first"  # "first": neighbours one by one, in random order; "best": all of them at once

    needs_budget: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.improve not in ("first", "best"):
            raise InputError(f"local search: improve must be 'first' or 'best', got {self.improve!r}")

    def search(self, task: SearchProblem, rng: np.random.Generator) -> Asking:
        """Descend from random starts."""
        seen: set[Arch] = set()
        while start := fill(task, 1, seen, partial(task.sample, rng)):
            (current,) = yield start
            improved = True
            while improved:
                improved = False
                around = neighbours(task.space, current.arch)
                around = rng.permutation(around[task.feasible(around)])
                archs: list[Arch] = [tuple(a) for a in around.tolist()]
                for batch in [archs] if self.improve == "best" else [[a] for a in archs]:
                    seen.update(map(task.space.canonical, batch))
                    best = task.best_first([t for t in (yield batch) if t.ok])[:1]
                    if best and task.better(best[0], current):
                        current, improved = best[0], True
                        break
