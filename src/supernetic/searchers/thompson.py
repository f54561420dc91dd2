"""Thompson sampling: evaluate what a draw from a Gaussian process takes for the best; for evaluators that are dear.

Paper: Thompson, "On the Likelihood that One Unknown Probability Exceeds Another", 1933; several draws at a time:
Hernandez-Lobato et al., "Parallel and Distributed Thompson Sampling", arXiv 1706.01825.
Differences: several objectives are weighed at random for each draw, as in Knowles, "ParEGO", 2006; costs are known
rather than predicted; trials that break a constraint or fail count as worse than all others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from ..costs import costs_of
from ..errors import InputError
from ..objective import Objective
from ..predictors import Described, Features, GaussianProcess, normal_scores
from ..space import Arch, Archs, Space
from .problem import Asking, SearchProblem, Trial, fill
from .variation import mutate

Floats = npt.NDArray[np.float64]
PARENT_TRIALS = 10  # best trials that have mutants among the candidates
MUTATION_RATE = 0.2  # chance of each gene of a mutant to change
MEAN_LOSS_WEIGHT = 0.05  # weight of the mean loss beside the worst one


@dataclass(frozen=True)
class Thompson:
    """Random networks first; then, round by round, the best of each of `batch` draws over all candidates.

    To let it know more of networks than their blueprints say, override `describe`.
    """

    initial: int = 10
    batch: int = 5  # evaluated together
    candidates: int = 500  # half of them random, half mutants of the best trials, which each round renews

    needs_budget: ClassVar[bool] = True

    def __post_init__(self) -> None:
        for name, least in (("initial", 2), ("batch", 1), ("candidates", 2)):
            if getattr(self, name) < least:
                raise InputError(f"thompson: {name} must be at least {least}, got {getattr(self, name)}")

    def describe(self, space: Space) -> Features:
        """What the model sees of architectures.

        Args:
            space: the space.

        Returns:
            Features of its architectures.
        """
        return features_of(space)

    def search(self, task: SearchProblem, rng: np.random.Generator) -> Asking:
        """Fit to all trials, draw, evaluate; until nothing is left."""
        seen: set[Arch] = set()
        trials: list[Trial] = []
        features = self.describe(task.space)
        draw = partial(task.sample, rng)
        drawn = draw(self.candidates // 2)
        batch = fill(task, self.initial, seen, draw)
        while batch:
            trials += yield batch
            if sum(t.ok for t in trials) < 2:
                batch = fill(task, self.batch, seen, draw)
                continue
            pool = _unseen(task.space, np.concatenate([drawn, self._mutants(task, rng, trials)]), seen)
            ranked = self._ranked(task, rng, features, trials, pool) if len(pool) else pool
            batch = fill(task, self.batch, seen, partial(_first, ranked), patience=1)
            batch += fill(task, self.batch - len(batch), seen, draw)

    def _mutants(self, task: SearchProblem, rng: np.random.Generator, trials: Sequence[Trial]) -> Archs:
        best = np.array([t.arch for t in task.best_first([t for t in trials if t.ok])[:PARENT_TRIALS]], dtype=np.int8)
        mutants = mutate(task.space, rng, best[rng.integers(len(best), size=self.candidates // 2)], MUTATION_RATE)
        return mutants[task.feasible(mutants)]

    def _ranked(
        self, task: SearchProblem, rng: np.random.Generator, features: Features, trials: Sequence[Trial], pool: Archs
    ) -> Archs:
        """The best candidates of each draw: first the best of all draws, then the second best, and so on."""
        x, evaluated = features(pool), features(np.array([t.arch for t in trials], dtype=np.int8))
        draws = partial(self._draws, task, rng, trials=trials, evaluated=evaluated, x=x, pool=pool)
        values = np.stack([draws(objective, j) for j, objective in enumerate(task.objectives)])
        losses = values.max(axis=2, keepdims=True) - values  # objectives x draws x candidates
        weights = rng.dirichlet(np.ones(len(values)), size=self.batch).T[:, :, None]
        total = (weights * losses).max(axis=0) + MEAN_LOSS_WEIGHT * (weights * losses).sum(axis=0)
        depth = min(self.batch, len(pool))
        order = np.argsort(total, axis=1, kind="stable")[:, :depth]
        return pool[order.T.ravel()]

    def _draws(
        self, task: SearchProblem, rng: np.random.Generator, objective: Objective, j: int,
        trials: Sequence[Trial], evaluated: Described, x: Described, pool: Archs,
    ) -> Floats:  # fmt: skip
        """What an objective may be worth at each candidate: one row per draw, more is better."""
        if objective.name.startswith("cost/"):
            cost = costs_of(task.space, pool, objective.name.removeprefix("cost/")).astype(np.float64)
            worth = cost if objective.maximise else -cost
            return np.tile(normal_scores(np.sort(worth), worth), (self.batch, 1))
        good = np.array([t.ok for t in trials])
        labels = np.zeros(len(trials))
        labels[good] = -task.points([t for t in trials if t.ok])[:, j]
        labels[~good] = labels[good].min() - 1
        return GaussianProcess().fit(evaluated, labels).sample(x, rng, self.batch)


@lru_cache(maxsize=4)
def features_of(space: Space) -> Features:
    """The features of a space; descriptions are kept as long as the process lives.

    Args:
        space: the space.

    Returns:
        Features of its architectures.
    """
    return Features(space)


def _first(archs: Archs, n: int) -> Archs:
    return archs  # `fill` takes the first that are new


def _unseen(space: Space, archs: Archs, seen: set[Arch]) -> Archs:
    """One encoding of each network that is new."""
    first_rows: dict[Arch, int] = {}
    for i, arch in enumerate(archs.tolist()):
        first_rows.setdefault(space.canonical(tuple(arch)), i)
    return archs[[i for network, i in first_rows.items() if network not in seen]]
