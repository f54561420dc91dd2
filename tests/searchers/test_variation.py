from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import ClassVar

import numpy as np
import pytest

from supernetic.blueprint import Blueprint
from supernetic.searchers.variation import crossover, limits, mutate, mutate_one, neighbours, repair
from supernetic.space import Arch, Choice, Space
from supernetic.spaces.nasbench201 import NASBench201


@dataclass(frozen=True)
class Elastic(Space):
    """A depth of 1 to 3 with a kernel per block, and a list whose length depends on another choice."""

    name: ClassVar[str] = "elastic"
    paper: ClassVar[str] = ""

    @cached_property
    def choices(self) -> tuple[Choice, ...]:
        return (
            Choice("depth", (1, 2, 3)),
            Choice("kernel0", (3, 5, 7, 9)),
            Choice("kernel1", (3, 5, 7, 9), 0, (1, 4, 4)),
            Choice("kernel2", (3, 5, 7, 9), 0, (1, 1, 4)),
            Choice("rule", ("a", "b")),
            Choice("stage", (0, 1, 2, 3, 4), 4, (2, 5)),
            Choice("fixed", ("only",)),
        )

    def blueprint(self, arch: Arch) -> Blueprint:
        raise AssertionError("not needed")


SPACE = Elastic()
RNG = np.random.default_rng


def valid(archs: np.ndarray[tuple[int, int], np.dtype[np.int8]]) -> list[Arch]:
    return [SPACE.check(a) for a in archs.tolist()]  # raises where a gene is out of its limits


def test_limits_follow_the_parent() -> None:
    archs = np.array([[0, 1, 0, 0, 0, 1, 0], [2, 1, 3, 0, 1, 4, 0]], dtype=np.int8)
    assert limits(SPACE, archs).tolist() == [[3, 4, 1, 1, 2, 2, 1], [3, 4, 4, 4, 2, 5, 1]]


@pytest.mark.parametrize("rate", [0.1, 1.0])
def test_mutants_are_valid_and_change_at_the_rate(rate: float) -> None:
    archs = SPACE.sample(RNG(0), 4000)
    before = archs.copy()
    mutants = mutate(SPACE, RNG(1), archs, rate)
    valid(mutants)
    assert (archs == before).all()
    assert (mutants[:, 1] != archs[:, 1]).mean() == pytest.approx(rate, abs=0.02)
    assert (mutants[:, 6] == 0).all()


def test_mutate_one_changes_one_gene_and_what_depends_on_it() -> None:
    archs = SPACE.sample(RNG(0), 3000)
    mutants = mutate_one(SPACE, RNG(1), archs)
    valid(mutants)
    changed = mutants != archs
    assert changed.any(axis=1).all()
    for gene in (1, 2, 3):
        alone = changed[:, gene] & ~changed[:, 0]
        assert (changed[alone].sum(axis=1) == 1).all()
    share = Counter(np.argmax(changed[limits(SPACE, archs)[:, 3] > 1], axis=1).tolist())  # all six genes can change
    assert min(share.values()) > 0.6 * max(share.values())


def test_a_woken_gene_is_drawn_not_left_at_its_first_option() -> None:
    shallow = np.tile(np.array([[0, 1, 0, 0, 0, 1, 0]], dtype=np.int8), (2000, 1))
    deep = shallow.copy()
    deep[:, 0] = 2
    activated = repair(SPACE, RNG(0), deep, limits(SPACE, shallow) == 1)
    valid(activated)
    assert np.bincount(activated[:, 3], minlength=4) == pytest.approx([500] * 4, abs=100)


def test_a_gene_that_falls_asleep_is_zero() -> None:
    deep = np.array([[0, 1, 3, 2, 0, 4, 0]], dtype=np.int8)
    assert repair(SPACE, RNG(0), deep, np.zeros(deep.shape, dtype=bool)).tolist() == [[0, 1, 0, 0, 0, 1, 0]]


def test_children_take_each_gene_from_a_parent() -> None:
    a, b = SPACE.sample(RNG(0), 3000), SPACE.sample(RNG(1), 3000)
    children = crossover(SPACE, RNG(2), a, b)
    valid(children)
    for gene in (0, 1, 4):
        assert ((children[:, gene] == a[:, gene]) | (children[:, gene] == b[:, gene])).all()
    differ = a[:, 1] != b[:, 1]
    assert (children[differ, 1] == a[differ, 1]).mean() == pytest.approx(0.5, abs=0.04)
    space = NASBench201()
    same = space.sample(RNG(0), 50)
    assert (crossover(space, RNG(0), same, same) == same).all()


def test_neighbours_are_brute_force() -> None:
    every = {a for a in product(*(range(len(c.options)) for c in SPACE.choices)) if _is_valid(a)}
    arch = (1, 2, 3, 0, 1, 4, 0)
    around = valid(neighbours(SPACE, arch))
    assert len(around) == len(set(around)) == 2 + 3 + 3 + 0 + 1 + 4
    assert set(around) <= every
    near = {a for a in every if sum(x != y for x, y in zip(a, arch, strict=True)) == 1}
    assert near <= set(around)  # the others also put genes to sleep or into a shorter list
    assert {a for a in around if a[0] == 0} == {(0, 2, 0, 0, 1, 4, 0)}
    assert len(neighbours(NASBench201(), (0,) * 6)) == 24


def _is_valid(arch: Arch) -> bool:
    row = limits(SPACE, np.array([arch], dtype=np.int8))[0]
    return all(g < limit for g, limit in zip(arch, row, strict=True))
