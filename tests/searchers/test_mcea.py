from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest

from supernetic.catalog import space
from supernetic.costs import cost
from supernetic.errors import InputError
from supernetic.objective import Constraint, Metrics, Objective
from supernetic.runs.directory import TRIALS, open_run
from supernetic.scaling.budgets import Budgets
from supernetic.scaling.family import Family, State
from supernetic.searchers import SearchProblem, Trial, run_search
from supernetic.searchers.mcea import MCEA, STILL_ROUNDS, chain_of, two_points
from supernetic.searchers.variation import limits
from supernetic.space import Arch, Space
from supernetic.spaces.macro import Macro
from supernetic.spaces.scaled import SCALING_GENES, Strategies

SPACE = Macro(channels=8, head=160) * Strategies(
    ((1.0,), (1.0, 1.2, 1.4), (1.2, 1.4, 1.6)), ((32,), (36, 40, 44), (44, 48, 54))
)
BUDGETS = Budgets(4e6, 1e6, 2)  # wide enough that fitting does not hold the search back
SEARCH = MCEA(BUDGETS, bases=3, rounds=4, population=16, generations=8)


class Landscape:
    """Minus the distance to one family that fits the budgets: it is the optimum, and the only one."""

    metrics = ("toy/score", "toy/loss")
    test: ClassVar[frozenset[str]] = frozenset()

    def __init__(self) -> None:
        family = Family(SPACE, BUDGETS)
        (self.base,) = family.draw(np.random.default_rng(99), 1)
        self.strategies = [family.candidates(j, [self.base])[-1].genes for j in (1, 2)]
        self.asked = 0

    def __call__(self, archs: Sequence[Arch]) -> list[Metrics]:
        self.asked += len(archs)
        scores = [self.score(SPACE.canonical(a)) for a in archs]
        return [{"toy/score": s, "toy/loss": -s} for s in scores]

    def score(self, arch: Arch) -> float:
        wrong = sum(a != b for a, b in zip(arch[SCALING_GENES:], self.base, strict=True))
        if arch[0] == 0:
            return -float(wrong)
        best = SPACE.canonical(self.strategies[arch[0] - 1] + self.base)
        return -float(
            wrong + sum(abs(a - b) for a, b in zip(arch[1:SCALING_GENES], best[1:SCALING_GENES], strict=True))
        )


TASK = SearchProblem(SPACE, (Objective("toy/score", True),))


@pytest.fixture(scope="module")
def land() -> Landscape:
    return Landscape()


@pytest.fixture(scope="module")
def trials(land: Landscape) -> list[Trial]:
    return run_search(SEARCH, TASK, land, seed=1)


@pytest.fixture(scope="module")
def states(trials: list[Trial]) -> list[State]:
    return chain_of(SEARCH, TASK, trials, seed=1)


def test_ends_once_it_has_stood_still_for_some_rounds(land: Landscape) -> None:
    search = replace(SEARCH, rounds=30)
    states = chain_of(search, TASK, run_search(search, TASK, land, seed=1), seed=1)
    assert len(states) <= 30
    same = [a.same_as(b) for a, b in pairwise(states)]
    assert same[-STILL_ROUNDS:] == [True] * STILL_ROUNDS
    assert not any(all(same[i : i + STILL_ROUNDS]) for i in range(len(same) - STILL_ROUNDS))


def test_finds_the_optimum(land: Landscape, states: list[State]) -> None:
    assert states[-1].base == land.base
    assert states[-1].score == 0
    networks = [SPACE.blueprint(c.genes + land.base) for c in states[-1].strategies]
    assert networks == [SPACE.blueprint(s + land.base) for s in land.strategies]


def test_the_chain(states: list[State]) -> None:
    assert [s.round for s in states] == list(range(len(states)))
    assert states[0].base is None
    scores = [s.score for s in states[1:]]
    assert scores == sorted(scores)  # what was found is kept
    assert all(c.off <= 1 for s in states for c in s.strategies)


def test_everything_evaluated_is_near_its_budget(trials: list[Trial]) -> None:
    assert {t.arch[0] for t in trials} == {1, 2}  # the base's own accuracy is no part of the score
    own = {t.arch[SCALING_GENES:]: cost(SPACE.base.blueprint(t.arch[SCALING_GENES:])).macs for t in trials}
    assert max(abs(macs - 4e6) for macs in own.values()) <= 0.5e6
    off = [abs(cost(SPACE.blueprint(t.arch)).macs / 2 ** t.arch[0] - own[t.arch[SCALING_GENES:]]) for t in trials]
    assert np.mean(np.array(off) <= 1e6) > 0.9  # the first strategies need fit their base models only on average


def test_weights_of_the_stages(land: Landscape) -> None:
    heavy = MCEA(BUDGETS, bases=1, rounds=1, population=4, generations=1, ratio=3.0)
    first = chain_of(heavy, TASK, run_search(heavy, TASK, land, seed=0))[0]
    assert first.score == pytest.approx((3 * first.scores[0] + first.scores[1]) / 4)


def test_minimising_is_the_same(land: Landscape, states: list[State]) -> None:
    task = SearchProblem(SPACE, (Objective("toy/loss", False),))
    other = chain_of(SEARCH, task, run_search(SEARCH, task, land, seed=1), seed=1)
    assert [s.base for s in other] == [s.base for s in states]
    assert [s.score for s in other] == [-s.score for s in states]


def test_resumes_to_the_byte(tmp_path: Path, trials: list[Trial]) -> None:
    with open_run(tmp_path / "whole", {}) as run:
        run_search(SEARCH, TASK, Landscape(), run, seed=1, chunk=5)
    whole = (tmp_path / "whole" / TRIALS).read_bytes()
    cut = whole[: len(whole) * 2 // 5]  # in the middle of a line
    with open_run(tmp_path / "part", {}) as run:
        pass
    (tmp_path / "part" / TRIALS).write_bytes(cut)
    again = Landscape()
    with open_run(tmp_path / "part", {}) as run:
        assert run_search(SEARCH, TASK, again, run, seed=1, chunk=5) == trials
    assert (tmp_path / "part" / TRIALS).read_bytes() == whole
    assert again.asked == len(trials) - cut.count(b"\n")


def test_the_chain_of_an_unfinished_record(trials: list[Trial], states: list[State]) -> None:
    known = chain_of(SEARCH, TASK, trials[: len(trials) // 2], seed=1)
    assert 0 < len(known) < len(states)
    assert known == states[: len(known)]
    assert chain_of(SEARCH, TASK, trials[:3], seed=1) == []


def test_two_points() -> None:
    made, rng = space("scalenet-base"), np.random.default_rng(0)
    mothers, fathers = made.sample(rng, 300), made.sample(rng, 300)
    children = two_points(made, rng, mothers, fathers)
    for child in children.tolist():
        made.check(child)
    awake = (limits(made, mothers) > 1) & (limits(made, fathers) > 1) & (limits(made, children) > 1)
    differ = awake & (mothers != fathers)
    assert ((children == mothers) | (children == fathers))[differ].all()
    from_father = (children == fathers)[differ].mean()
    assert 0.25 < from_father < 0.42  # a third of the genes lie between two random points


def test_refusals() -> None:
    with pytest.raises(InputError, match="budgets are for a base space times a scaling space, macro is none"):
        run_search(SEARCH, SearchProblem(Macro(), TASK.objectives), Landscape())
    with pytest.raises(InputError, match="MCEA needs one objective beside costs, got max toy/score, min toy/loss"):
        run_search(SEARCH, SearchProblem(SPACE, (*TASK.objectives, Objective("toy/loss", False))), Landscape())
    with pytest.raises(InputError, match="population must be at least 2, got 1"):
        MCEA(BUDGETS, population=1)
    with pytest.raises(InputError, match="ratio must be a positive number, got 0"):
        MCEA(BUDGETS, ratio=0)


class ManyOnes:
    """A score that grows with the genes, and MACs."""

    metrics = ("toy/score", "cost/macs")
    test: ClassVar[frozenset[str]] = frozenset()

    def __init__(self, space: Space) -> None:
        self.space = space

    def __call__(self, archs: Sequence[Arch]) -> list[Metrics]:
        return [
            {"toy/score": float(sum(a)), "cost/macs": float(cost(self.space.blueprint(self.space.check(a))).macs)}
            for a in archs
        ]


GOALS = (Objective("toy/score", True), Objective("cost/macs", False))
ALONE = MCEA(bases=4, rounds=3, population=12, generations=6)


def test_without_strategies_it_evolves_the_model_alone() -> None:
    plain, most = Macro(channels=8, resolution=16, head=32), 1.5e6
    task = SearchProblem(plain, GOALS, (Constraint("cost/macs", high=most),))
    found = run_search(ALONE, task, ManyOnes(plain), seed=0)
    assert all(t.ok and t.metrics["cost/macs"] <= most for t in found)
    best = max(t.metrics["toy/score"] for t in found)
    drawn = [sum(a) for a in task.sample(np.random.default_rng(5), len(found)).tolist()]
    assert best > max(drawn)
    states = chain_of(ALONE, task, found, seed=0)
    assert [s.score for s in states[1:]] == sorted(s.score for s in states[1:])
    assert states[-1].score == best


def test_where_networks_may_be_invalid_too() -> None:
    cells = space("nasbench101:channels=8,resolution=8,cells=1")
    found = run_search(replace(ALONE, rounds=1, generations=3), SearchProblem(cells, GOALS[:1]), ManyOnes(cells))
    assert len(found) > 12
    assert all(t.ok for t in found)


def test_a_limit_on_macs_holds_for_the_largest_member() -> None:
    limit = 10e6
    task = SearchProblem(SPACE, GOALS, (Constraint("cost/macs", high=limit),))
    searcher = MCEA(bases=2, rounds=1, population=4, generations=2)
    found = run_search(searcher, task, ManyOnes(SPACE))
    assert {t.arch[0] for t in found} == {1, 2}
    good = [t for t in found if t.ok]
    assert len(good) > 0.8 * len(found)
    assert 0.5 * limit < max(t.metrics["cost/macs"] for t in good) <= limit
