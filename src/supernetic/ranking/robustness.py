"""Robustness of training: does a second seed, or a longer training, rank sub-networks in the same order?

Paper: AttentiveNAS, appendix B: 1,024 random sub-networks, scored by supernets of several seeds (each with its
own split of the data) early and late; Kendall's tau between seeds, and between early and late.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..errors import InputError
from ..space import Archs, Space
from .correlation import Interval, count_pairs

SUBNET_COUNT = 1024


class When(NamedTuple):
    """One measurement of all sub-networks: by the supernet of this seed, after this many steps (or epochs)."""

    seed: int
    step: int

    def __str__(self) -> str:
        return f"seed {self.seed} at {self.step}"


@dataclass(frozen=True)
class Agreement:
    """Kendall's tau between two measurements."""

    first: When
    second: When
    n: int
    tau: float
    interval: Interval  # 95 %

    def to_json(self) -> dict[str, Any]:
        """A record."""
        return {
            "first": self.first._asdict(),
            "second": self.second._asdict(),
            "n": self.n,
            "tau": self.tau,
            "interval": list(self.interval),
        }


@dataclass(frozen=True)
class Robustness:
    """All pairs that differ in one thing only."""

    between_seeds: tuple[Agreement, ...]  # after as many steps
    early_and_late: tuple[Agreement, ...]  # of one seed

    def to_json(self) -> dict[str, Any]:
        """Plain records."""
        return {
            "between_seeds": [a.to_json() for a in self.between_seeds],
            "early_and_late": [a.to_json() for a in self.early_and_late],
        }


def subnets(space: Space, seed: int = 0, n: int = SUBNET_COUNT) -> Archs:
    """The sub-networks that all supernets score."""
    return space.sample(np.random.default_rng(seed), n)


def robustness(scores: Mapping[tuple[int, int], npt.ArrayLike]) -> Robustness:
    """Compare measurements of the same sub-networks.

    Args:
        scores: By (seed, step), the scores of the sub-networks, in the same order in each.

    Returns:
        Kendall's tau of all pairs that differ in the seed only, or in the step only.
    """
    measured = {When(*when): np.asarray(values, dtype=np.float64) for when, values in sorted(scores.items())}
    sizes = {len(v) for v in measured.values()}
    if len(sizes) > 1:
        raise InputError(f"all measurements must score the same sub-networks, got {sorted(sizes)} of them")
    seeds, times = comparisons(measured)
    return Robustness(
        tuple(_agreement(a, b, measured) for a, b in seeds), tuple(_agreement(a, b, measured) for a, b in times)
    )


def comparisons(measured: Iterable[When]) -> tuple[list[tuple[When, When]], list[tuple[When, When]]]:
    """The pairs that differ in their seed only, and those that differ in their step only."""
    pairs = list(combinations(sorted(measured), 2))
    seeds = [(a, b) for a, b in pairs if a.step == b.step]
    times = [(a, b) for a, b in pairs if a.seed == b.seed]
    if not seeds and not times:
        raise InputError("robustness compares two seeds at one step, or two steps of one seed; got neither")
    return seeds, times


def _agreement(first: When, second: When, measured: Mapping[When, npt.NDArray[np.float64]]) -> Agreement:
    pairs = count_pairs(measured[first], measured[second])
    return Agreement(first, second, pairs.n, pairs.tau(), pairs.interval())
