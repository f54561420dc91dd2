"""Strict fairness: every option of every choice is trained equally often at every step.

Paper: Chu et al., "FairNAS", arXiv 1907.01845; "SCARLET-NAS", equation 2; "Single-path ranking correlations", section
4.3.
Differences: choices with fewer than m options, the most that any choice has, repeat permutations; their gradients are
averaged over the uses (`Step.average_by_use`). Choices that cannot be set freely (the edges of NAS-Bench-101) are drawn
with a valid network instead. A choice that another one rules out on some paths (blocks beyond a depth) is dealt among
the other paths, as evenly as their number allows.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import numpy as np
import numpy.typing as npt

from ..errors import ArchError, UnknownNameError
from ..space import Arch, Space
from .step import Draw, SampledPath, Step

PROBED_NETWORKS = 64  # valid networks whose genes are changed to see which choices are free


@dataclass(frozen=True)
class StrictFair:
    """Trains m paths per step, where m is the largest number of options.

    Args:
        fresh_batch: Take a new batch for each path, as in "Single-path ranking correlations".
        reduction: Of gradients over the paths. The equation of SCARLET-NAS averages; UniNAS, the framework of
            "Single-path ranking correlations", sums.
    """

    fresh_batch: bool = False
    reduction: Literal["mean", "sum"] = "mean"

    def __post_init__(self) -> None:
        if self.reduction not in ("mean", "sum"):
            raise UnknownNameError("reduction", self.reduction, ("mean", "sum"))

    def __call__(self, space: Space, draw: Draw) -> Step:
        """Deal the options of each choice to the paths by random permutations."""
        fair = free_choices(space)
        m = max(len(space.choices[i].options) for i in fair)
        archs = space.sample(draw.rng, m)
        for i in fair:
            choice = space.choices[i]
            limit = np.full(m, len(choice.options))
            if choice.parent >= 0:
                limit = np.array(choice.allowed)[archs[:, choice.parent]]
            for options in np.unique(limit).tolist():
                rows = np.flatnonzero(limit == options)
                archs[rows, i] = deal(draw.rng, options, len(rows))
        average_by_use = any(len(space.choices[i].options) < m for i in fair)
        paths = tuple(SampledPath(tuple(row), regularise=True) for row in archs.tolist())
        return Step(paths, self.fresh_batch, self.reduction, average_by_use)


def deal(rng: np.random.Generator, options: int, n: int) -> npt.NDArray[np.int64]:
    """Return `n` options, one random permutation after another."""
    return np.concatenate([rng.permutation(options) for _ in range(-(-n // options))])[:n]


@lru_cache(maxsize=16)
def free_choices(space: Space) -> tuple[int, ...]:
    """Return the choices that can be set whatever the others are, apart from `Choice.allowed`."""
    everything = tuple(range(len(space.choices)))
    if type(space)._invalid_reason is Space._invalid_reason:
        return everything
    probes: list[Arch] = [tuple(row) for row in space.sample(np.random.default_rng(0), PROBED_NETWORKS).tolist()]
    return tuple(i for i in everything if all(_is_free(space, arch, i) for arch in probes))


def _is_free(space: Space, arch: Arch, i: int) -> bool:
    choice = space.choices[i]
    limit = len(choice.options) if choice.parent < 0 else choice.allowed[arch[choice.parent]]
    try:
        for option in range(limit):
            space.check((*arch[:i], option, *arch[i + 1 :]))
    except ArchError:
        return False
    return True
