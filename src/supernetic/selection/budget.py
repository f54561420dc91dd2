"""A ladder that fits into a given time: fewer seeds first, then fewer rungs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import pairwise

from ..errors import InputError
from .ladder import Ladder

FEWEST = 3  # rungs: with fewer there is no curve
SEEDS = 2  # with fewer, nothing can be shown

Cost = Callable[[Ladder], float]  # seconds


def fit_ladder(ladder: Ladder, cost: Cost, seconds: float) -> tuple[Ladder, list[str]]:
    """The largest of the smaller ladders that fits, and what was given up for it."""
    tried = ladder
    for tried in smaller(ladder):
        if cost(tried) <= seconds:
            return tried, _given_up(ladder, tried)
    raise InputError(
        f"{seconds / 60:g} minutes are too few: {len(tried.sizes)} sizes up to {tried.sizes[-1]} with one seed "
        f"may take {cost(tried) / 60:.1f}; choose fewer models, smaller sizes, or more minutes"
    )


def smaller(ladder: Ladder) -> Iterator[Ladder]:
    """The ladder, with fewer seeds down to two, without its largest rungs down to three, with one seed."""
    yield ladder
    seeds = ladder.seeds
    for most in range(max(seeds) - 1, SEEDS - 1, -1):
        seeds = tuple(min(s, most) for s in ladder.seeds)
        yield replace(ladder, seeds=seeds)
    for rungs in range(len(ladder.sizes) - 1, FEWEST - 1, -1):
        yield replace(ladder, sizes=ladder.sizes[:rungs], seeds=seeds[:rungs])
    rungs = min(FEWEST, len(ladder.sizes))
    if max(seeds) > 1:
        yield replace(ladder, sizes=ladder.sizes[:rungs], seeds=(1,) * rungs)


def _given_up(asked: Ladder, fitted: Ladder) -> list[str]:
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
