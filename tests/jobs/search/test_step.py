from __future__ import annotations

import numpy as np
import pytest

from supernetic import catalog
from supernetic.costs.macs import activations, cost
from supernetic.jobs.search.step import NEAR_LIMIT_SHARE, contenders
from supernetic.objective import Constraint, Objective
from supernetic.searchers import SearchProblem, Trial
from supernetic.space import Arch, Space

GOALS = (Objective("toy/score", True), Objective("cost/macs", False))
MACRO = catalog.space("macro:channels=8,resolution=16,head=32")
MIXED = catalog.space("mixed:channels=8,resolution=16,in_channels=1")


def macs(space: Space, arch: Arch) -> int:
    return cost(space.blueprint(arch)).macs


def problem(space: Space, high: float) -> SearchProblem:
    return SearchProblem(space, GOALS, (Constraint("cost/macs", high=high),))


def evaluated(space: Space, high: float, n: int = 200) -> list[Trial]:
    """Random networks within a limit, with scores at random."""
    rng = np.random.default_rng(0)
    archs = [tuple(a) for a in space.sample(rng, 4 * n).tolist()]
    good = [arch for arch in archs if macs(space, arch) <= high][:n]
    return [Trial(arch, {"toy/score": float(rng.random()), "cost/macs": float(macs(space, arch))}) for arch in good]


@pytest.mark.parametrize(("space", "high"), [(MACRO, 1.2e6), (MIXED, 1e6)], ids=["macro", "mixed"])
@pytest.mark.parametrize("n", [1, 3, 8, 18])
def test_contenders_are_distinct_and_near_the_limit(space: Space, high: float, n: int) -> None:
    trials = evaluated(space, high)
    found = contenders(problem(space, high), trials, n)
    assert len(found) == n
    assert len({space.canonical(arch) for arch in found}) == n
    largest = max(macs(space, t.arch) for t in trials)
    assert all(NEAR_LIMIT_SHARE * largest <= macs(space, arch) <= high for arch in found)
    assert found == contenders(problem(space, high), trials, 18)[:n]


def test_contenders_are_the_best_of_every_speed() -> None:
    trials = evaluated(MACRO, 1.2e6)
    score = {MACRO.canonical(t.arch): t.metrics["toy/score"] for t in trials}
    least = NEAR_LIMIT_SHARE * max(macs(MACRO, arch) for arch in score)
    large = sorted((a for a in score if macs(MACRO, a) >= least), key=lambda a: (activations(MACRO.blueprint(a)), a))
    thirds = [part.tolist() for part in np.array_split(np.array(large), 3)]
    best = [max(map(tuple, third), key=lambda arch: score[arch]) for third in thirds]
    assert contenders(problem(MACRO, 1.2e6), trials, 3) == best
    speeds = [activations(MACRO.blueprint(arch)) for arch in best]
    assert speeds == sorted(set(speeds))


def test_regular_networks_have_a_turn_where_the_space_knows_them() -> None:
    task = problem(MIXED, 1e6)
    seen = {MIXED.canonical(t.arch) for t in evaluated(MIXED, 1e6)}
    found = contenders(task, evaluated(MIXED, 1e6), 8)
    by_hand = {MIXED.canonical(a) for shape in MIXED.regular() for a in shape}  # type: ignore[attr-defined]
    assert found[0] in by_hand
    assert not set(found) <= seen


def test_networks_that_break_a_limit_or_failed_are_none() -> None:
    trials = evaluated(MACRO, 1.2e6, 20)
    bad = [Trial(t.arch, t.metrics, status) for t, status in zip(trials, ["infeasible", "failed"] * 10, strict=True)]
    assert contenders(problem(MACRO, 1.2e6), bad, 5) == []
    assert contenders(problem(MACRO, 1.2e6), [], 5) == []
    assert contenders(problem(MACRO, 1.2e6), trials, 0) == []
    one = contenders(problem(MACRO, 1.2e6), [trials[0], trials[0], *bad[1:]], 5)
    assert one == [MACRO.canonical(trials[0].arch)]
