"""Random search: uniform draws within the cheap constraints, no network twice.

Paper: Li & Talwalkar, "Random Search and Reproducibility for Neural Architecture Search", arXiv 1902.07638.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np

from ..space import Arch
from .problem import Asking, SearchProblem, fill


@dataclass(frozen=True)
class RandomSearch:
    """The baseline that every other searcher has to beat."""

    batch: int = 50  # evaluated together

    needs_budget: ClassVar[bool] = True

    def search(self, task: SearchProblem, rng: np.random.Generator) -> Asking:
        """Draw until nothing new turns up."""
        seen: set[Arch] = set()
        while batch := fill(task, self.batch, seen, partial(task.sample, rng)):
            yield batch
