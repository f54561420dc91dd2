from collections import Counter

import numpy as np
import pytest

from supernetic.catalog import space
from supernetic.errors import UnknownNameError
from supernetic.samplers.step import Draw, Step
from supernetic.samplers.strict_fair import StrictFair, deal, free_choices
from supernetic.spaces.macro import Macro


def step_of(name: str, step: int = 0, sampler: StrictFair | None = None) -> Step:
    return (sampler or StrictFair())(space(name), Draw(np.random.default_rng([3, step]), step))


@pytest.mark.parametrize(
    "name", ["macro", "nasbench201", "nasbench201:without=none", "scarlet-s2", "nasbench101-chain"]
)
def test_every_option_exactly_once(name: str) -> None:
    made = space(name)
    for s in range(20):
        step = step_of(name, s)
        m = len(made.choices[0].options)
        assert len(step.paths) == m
        assert not step.average_by_use
        for i in range(len(made.choices)):
            assert sorted(p.arch[i] for p in step.paths) == list(range(m))


def test_permutations_are_independent() -> None:
    """All 27 combinations of three choices occur, about equally often."""
    seen = Counter(p.arch[:3] for s in range(900) for p in step_of("macro", s).paths)
    assert len(seen) == 27
    assert max(abs(n - 100) for n in seen.values()) < 45


@pytest.mark.parametrize("name", ["attentive", "deep-narrow", "scalenet"])
def test_unequal_counts_are_as_even_as_can_be(name: str) -> None:
    made = space(name)
    for s in range(5):
        step = step_of(name, s)
        assert len(step.paths) == made.radices.max()
        assert step.average_by_use
        for i, c in enumerate(made.choices):
            uses = Counter(p.arch[i] for p in step.paths)
            if c.parent < 0:  # weighted by 1/uses, every option counts once
                assert set(uses) == set(range(len(c.options)))
                assert max(uses.values()) - min(uses.values()) <= 1
            else:  # dealt among the paths that have as many options
                for options in set(c.allowed):
                    dealt = [p.arch[i] for p in step.paths if c.allowed[p.arch[c.parent]] == options]
                    counts = [dealt.count(o) for o in range(options)]
                    assert max(counts) - min(counts) <= 1
        for path in step.paths:
            made.check(path.arch)


def test_edges_of_nasbench101_come_with_valid_cells() -> None:
    made = space("nasbench101")
    free = free_choices(made)
    assert [made.choices[i].name for i in free] == [f"op{v}" for v in range(1, 6)]
    for s in range(20):
        step = step_of("nasbench101", s)
        assert len(step.paths) == 3
        assert not step.average_by_use
        for i in free:
            assert sorted(p.arch[i] for p in step.paths) == [0, 1, 2]
        for path in step.paths:
            made.check(path.arch)


def test_options_of_the_papers() -> None:
    step = step_of("macro", 0, StrictFair(fresh_batch=True, reduction="sum"))
    assert (step.fresh_batch, step.reduction) == (True, "sum")
    assert step_of("macro").reduction == "mean"
    with pytest.raises(UnknownNameError, match="'median'"):
        StrictFair(reduction="median")  # type: ignore[arg-type]


def test_deal() -> None:
    rng = np.random.default_rng(0)
    for options, n in ((1, 4), (3, 3), (3, 8), (5, 2)):
        counts = np.bincount(deal(rng, options, n), minlength=options)
        assert counts.sum() == n
        assert counts.max() - counts.min() <= 1


def test_free_choices_of_an_unrestricted_space() -> None:
    assert free_choices(Macro()) == tuple(range(8))
