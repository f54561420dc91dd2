"""A ladder that fits into a given time: fewer seeds first, then fewer rungs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import pairwise

from ..errors import InputError
from .subsets import SubsetSchedule

FEWEST = 3  # rungs: with fewer there is no curve
SEEDS = 2  # with fewer, nothing can be shown

Cost = Callable[[SubsetSchedule], float]  # seconds


def fit_schedule(subsets: SubsetSchedule, cost: Cost, seconds: float) -> tuple[SubsetSchedule, list[str]]:
    """The largest of the smaller ladders that fits, and what was given up for it."""
    tried = subsets
    for tried in smaller(subsets):
        if cost(tried) <= seconds:
            return tried, _given_up(subsets, tried)
    raise InputError(
        f"{seconds / 60:g} minutes are too few: {len(tried.sizes)} sizes up to {tried.sizes[-1]} with one seed "
        f"may take {cost(tried) / 60:.1f}; choose fewer models, smaller sizes, or more minutes"
    )


def smaller(subsets: SubsetSchedule) -> Iterator[SubsetSchedule]:
    """The ladder, with fewer seeds down to two, without its largest rungs down to three, with one seed."""
    yield subsets
    seeds = subsets.seeds
    for most in range(max(seeds) - 1, SEEDS - 1, -1):
        seeds = tuple(min(s, most) for s in subsets.seeds)
        yield replace(subsets, seeds=seeds)
    for subset_trainings in range(len(subsets.sizes) - 1, FEWEST - 1, -1):
        yield replace(subsets, sizes=subsets.sizes[:subset_trainings], seeds=seeds[:subset_trainings])
    subset_trainings = min(FEWEST, len(subsets.sizes))
    if max(seeds) > 1:
        yield replace(subsets, sizes=subsets.sizes[:subset_trainings], seeds=(1,) * subset_trainings)


def _given_up(asked: SubsetSchedule, fitted: SubsetSchedule) -> list[str]:
    notes = []
    if fitted.seeds != asked.seeds[: len(fitted.seeds)]:
        notes.append(f"seeds are {_run(fitted.seeds)} in place of {_run(asked.seeds)}")
    if fitted.sizes != asked.sizes:
        notes.append(f"sizes end at {fitted.sizes[-1]:,} in place of {asked.sizes[-1]:,}")
    return notes


def _run(seeds: tuple[int, ...]) -> str:
    """Seeds at each size: 4, 4, 2, 2, 2; one number if they are alike."""
    alike = all(a == b for a, b in pairwise(seeds))
    return str(seeds[0]) if alike else ", ".join(map(str, seeds))
