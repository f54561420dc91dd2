"""Mutation and crossover of many architectures at once, for every space.

Genes that another choice switches off stay 0; a gene that a new depth switches on is drawn afresh. Rules beyond the
ranges of the choices (`Space._invalid_reason`) are left to rejection in `problem.fill`.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..space import Arch, Archs, Space

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]


def limits(space: Space, archs: Archs) -> Ints:
    """How many options each gene of each row may take, given the row's other genes.

    Args:
        space: the space.
        archs: one architecture per row.

    Returns:
        Numbers of options, of the shape of `archs`.
    """
    allowed = np.tile(space.radices, (len(archs), 1))
    for i, c in enumerate(space.choices):
        if c.parent >= 0:
            allowed[:, i] = np.array(c.allowed)[archs[:, c.parent]]
    return allowed


def repair(space: Space, rng: np.random.Generator, archs: Archs, inactive: Bools) -> Archs:
    """Bring genes within their limits, and draw those that have just become active.

    Args:
        space: the space.
        rng: of the draws.
        archs: one architecture per row.
        inactive: genes that had no choice in the row that they come from.

    Returns:
        Valid genes, of the same shape.
    """
    now = limits(space, archs)
    activated = inactive & (now > 1)
    settled = np.minimum(archs, now - 1)
    if activated.any():
        settled[activated] = rng.integers(now[activated])
    return settled.astype(np.int8)


def random_gene(rng: np.random.Generator, allowed: Ints) -> Ints:
    """For each row one gene, uniform over those that have a choice.

    Args:
        rng: of the draws.
        allowed: what `limits` gives.

    Returns:
        One position per row.
    """
    return np.asarray(np.argmax(rng.random(allowed.shape) * (allowed > 1), axis=1))


def mutate_one(space: Space, rng: np.random.Generator, archs: Archs) -> Archs:
    """Change one gene of each row, uniformly chosen, to another option, uniformly chosen.

    Args:
        space: the space.
        rng: of the draws.
        archs: one architecture per row.

    Returns:
        One mutant per row.
    """
    allowed = limits(space, archs)
    change = np.zeros(archs.shape, dtype=bool)
    change[np.arange(len(archs)), random_gene(rng, allowed)] = True
    return _change(space, rng, archs, allowed, change)


def mutate(space: Space, rng: np.random.Generator, archs: Archs, rate: float) -> Archs:
    """Change each gene to another option with a given probability.

    Args:
        space: the space.
        rng: of the draws.
        archs: one architecture per row.
        rate: the probability.

    Returns:
        One mutant per row.
    """
    return _change(space, rng, archs, limits(space, archs), rng.random(archs.shape) < rate)


def _change(space: Space, rng: np.random.Generator, archs: Archs, allowed: Ints, change: Bools) -> Archs:
    change = change & (allowed > 1)
    shift = rng.integers(1, np.maximum(allowed, 2))
    changed = np.where(change, (archs + shift) % allowed, archs).astype(np.int8)
    return repair(space, rng, changed, allowed == 1)


def crossover(space: Space, rng: np.random.Generator, mothers: Archs, fathers: Archs) -> Archs:
    """Take each gene from either parent with equal probability.

    Args:
        space: the space.
        rng: of the draws.
        mothers: one architecture per row.
        fathers: as many.

    Returns:
        One child per row.
    """
    first = rng.random(mothers.shape) < 0.5
    children = np.where(first, mothers, fathers).astype(np.int8)
    inactive = np.where(first, limits(space, mothers), limits(space, fathers)) == 1
    return repair(space, rng, children, inactive)


def neighbours(space: Space, arch: Arch) -> Archs:
    """All architectures that differ in one gene; genes that this switches on take their first option.

    Args:
        space: the space.
        arch: the architecture in the middle.

    Returns:
        One neighbour per row.
    """
    allowed = limits(space, np.array([arch], dtype=np.int8))[0]
    rows = [
        (*arch[:i], option, *arch[i + 1 :])
        for i, limit in enumerate(allowed.tolist())
        for option in range(limit)
        if option != arch[i]
    ]
    archs = np.array(rows, dtype=np.int8).reshape(len(rows), len(arch))
    return np.minimum(archs, limits(space, archs) - 1).astype(np.int8)
