"""Fit a subset schedule into a given time: fewer seeds first, then fewer sizes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import pairwise

from ..errors import InputError
from .subsets import SubsetSchedule

MIN_SIZES = 3  # with fewer there is no learning curve
MIN_SEEDS = 2  # with fewer, no difference can be significant

Cost = Callable[[SubsetSchedule], float]  # seconds


def fit_schedule(subsets: SubsetSchedule, cost: Cost, seconds: float) -> tuple[SubsetSchedule, list[str]]:
    """Choose the largest reduced schedule that fits into the time.

    Args:
        subsets: The schedule that was asked for.
        cost: Estimates how many seconds a schedule takes.
        seconds: The time there is.

    Returns:
        The schedule, and one remark for each thing that was given up.
    """
    reduced = subsets
    for reduced in smaller(subsets):
        if cost(reduced) <= seconds:
            return reduced, _given_up(subsets, reduced)
    raise InputError(
        f"{seconds / 60:g} minutes are too few: {len(reduced.sizes)} sizes up to {reduced.sizes[-1]} with one seed "
        f"may take {cost(reduced) / 60:.1f}; choose fewer models, smaller sizes, or more minutes"
    )


def smaller(subsets: SubsetSchedule) -> Iterator[SubsetSchedule]:
    """The schedule and its reductions, largest first: down to two seeds, then to three sizes, then to one seed."""
    yield subsets
    seeds = subsets.seeds
    for most in range(max(seeds) - 1, MIN_SEEDS - 1, -1):
        seeds = tuple(min(s, most) for s in subsets.seeds)
        yield replace(subsets, seeds=seeds)
    for count in range(len(subsets.sizes) - 1, MIN_SIZES - 1, -1):
        yield replace(subsets, sizes=subsets.sizes[:count], seeds=seeds[:count])
    count = min(MIN_SIZES, len(subsets.sizes))
    if max(seeds) > 1:
        yield replace(subsets, sizes=subsets.sizes[:count], seeds=(1,) * count)


def _given_up(asked: SubsetSchedule, fitted: SubsetSchedule) -> list[str]:
    notes = []
    if fitted.seeds != asked.seeds[: len(fitted.seeds)]:
        notes.append(f"seeds are {_seeds_text(fitted.seeds)} in place of {_seeds_text(asked.seeds)}")
    if fitted.sizes != asked.sizes:
        notes.append(f"sizes end at {fitted.sizes[-1]:,} in place of {asked.sizes[-1]:,}")
    return notes


def _seeds_text(seeds: tuple[int, ...]) -> str:
    """Seeds at each size, such as `4, 4, 2, 2, 2`; one number if they are all the same."""
    same = all(a == b for a, b in pairwise(seeds))
    return str(seeds[0]) if same else ", ".join(map(str, seeds))
