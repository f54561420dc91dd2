"""Grid search: every valid architecture, in the order of its genes.

Paper: none; the exhaustive sweep of the tabular benchmarks (Dong & Yang, arXiv 2001.00326).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import ClassVar

import numpy as np

from ..errors import InputError
from ..space import Arch, Space
from .problem import Asking, SearchProblem


@dataclass(frozen=True)
class GridSearch:
    """For spaces small enough to be listed."""

    batch: int = 1000  # evaluated together
    most: int = 10_000_000  # architectures that are listed at all

    needs_budget: ClassVar[bool] = False

    def search(self, task: SearchProblem, rng: np.random.Generator) -> Asking:
        """Ask for all architectures that satisfy the cheap constraints."""
        every = enumerate_archs(task.space, self.most) if task.among is None else map(tuple, task.among.tolist())
        while rows := list(islice(every, self.batch)):
            good = task.feasible(np.array(rows, dtype=np.int8))
            if batch := [a for a, g in zip(rows, good, strict=True) if g]:
                yield batch


def enumerate_archs(space: Space, most: int) -> Iterator[Arch]:
    """All encodings within the ranges of their choices, the last gene fastest.

    Args:
        space: the space.
        most: the largest space that is listed.

    Returns:
        Architectures, one by one.
    """
    if space.size > most:
        raise InputError(f"grid search lists at most {most:,} architectures, {space.name} has {space.size:.3g}")
    return _extend(space, ())


def _extend(space: Space, start: Arch) -> Iterator[Arch]:
    if len(start) == len(space.choices):
        yield start
        return
    c = space.choices[len(start)]
    for option in range(len(c.options) if c.parent < 0 else c.allowed[start[c.parent]]):
        yield from _extend(space, (*start, option))
