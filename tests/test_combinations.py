"""Any sampler with any space with any searcher: it works, or one line says why not, before anything is trained."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np
import pytest

from supernetic import catalog
from supernetic.costs import cost
from supernetic.errors import InputError
from supernetic.jobs.search.job import SearchJob
from supernetic.jobs.search.request import SearchRequest
from supernetic.objective import Metrics, Objective
from supernetic.progress import ignore
from supernetic.samplers.named import SAMPLERS, sampler
from supernetic.samplers.step import Draw
from supernetic.searchers import SearchProblem, run_search
from supernetic.space import Arch, Space
from supernetic.spaces.macro import Macro
from supernetic.spaces.scaled import Strategies

KINDS = ("macro", "nasbench201", "nasbench101", "mixed", "deep-narrow", "scaled")  # a space of every kind
SCALED = Macro(channels=4, resolution=8, head=16) * Strategies(((1.0,), (1.0, 1.2)), ((8,), (8, 10)))
SIZES = {  # settings that make them quick
    "attentive": "rows=300",
    "nsga2": "population=4,generations=2",
    "spos": "population=4,generations=1",
    "binned": "population=4,generations=1",
    "evolution": "population=4",
    "thompson": "initial=3,batch=2,candidates=10",
    "mcea": "bases=1,rounds=1,population=2,generations=1",
}
SCALED_ONLY = "hierarchical draws a scaling stage first, so it is for scaled spaces such as scalenet"
LISTED_ONLY = "grid search lists at most 10,000,000 architectures"
Small = Callable[[str], Space]


def kind(name: str, small: Small) -> Space:
    return SCALED if name == "scaled" else small(name)


def sized(name: str) -> str:
    return f"{name}:{SIZES[name]}" if name in SIZES else name


def window(space: Space) -> str:
    """A window of MACs that about half of the networks are in."""
    macs = [cost(space.blueprint(tuple(a))).macs for a in space.sample(np.random.default_rng(0), 20).tolist()]
    return f"macs<={int(np.median(macs))}"


@pytest.mark.parametrize("space_name", KINDS)
@pytest.mark.parametrize("name", SAMPLERS)
def test_every_sampler_with_every_kind_of_space(name: str, space_name: str, small: Small) -> None:
    space = kind(space_name, small)
    draws = sampler({"name": name, "where": [window(space)]} if name == "budgeted" else sized(name))
    if name == "hierarchical" and space_name != "scaled":
        with pytest.raises(InputError, match=f"{SCALED_ONLY}: .* has no stages of scaling"):
            draws(space, Draw(np.random.default_rng(0)))
        return
    for step in range(15):
        for path in draws(space, Draw(np.random.default_rng(step), step)).paths:
            space.check(path.arch)


class Genes:
    """A score that needs no network."""

    metrics = ("toy/score", "cost/macs")
    test: ClassVar[frozenset[str]] = frozenset()

    def __init__(self, space: Space) -> None:
        self.space = space

    def __call__(self, archs: Sequence[Arch]) -> list[Metrics]:
        macs = [float(cost(self.space.blueprint(a)).macs) for a in archs]
        return [{"toy/score": float(sum(a)), "cost/macs": m} for a, m in zip(archs, macs, strict=True)]


@pytest.mark.parametrize("space_name", KINDS)
@pytest.mark.parametrize("name", catalog.SEARCHERS)
def test_every_searcher_with_every_kind_of_space(name: str, space_name: str, small: Small) -> None:
    space = kind(space_name, small)
    problem = SearchProblem(space, (Objective("toy/score", True), Objective("cost/macs", False)))
    searcher = catalog.searcher(sized(name))
    if name == "grid" and space.size > 10_000_000:
        with pytest.raises(InputError, match=LISTED_ONLY):
            run_search(searcher, problem, Genes(space), budget=8)
        return
    trials = run_search(searcher, problem, Genes(space), budget=8)
    assert 1 < len(trials) <= 8
    assert all(t.ok for t in trials)


TINY: dict[str, Any] = {
    "space": "macro:channels=4,resolution=8,head=16",
    "steps": 2,
    "network_steps": 2,
    "keep": 1,
    "limit": 200,
    "workers": 1,
    "threads": 1,
    "augment": "none",
    "evidence": "none",
}
SUITABLE = [name for name in SAMPLERS if name not in ("hierarchical", "budgeted")]
PAIRS = [(searcher, SUITABLE[i % len(SUITABLE)]) for i, searcher in enumerate(catalog.SEARCHERS)]


@pytest.mark.parametrize(("searcher", "paths"), PAIRS)
def test_whole_searches_are_prepared(searcher: str, paths: str) -> None:
    request = SearchRequest(**TINY, searcher=sized(searcher), sampler=sized(paths))
    job = SearchJob.prepare(request, ignore)
    assert job.goals.searcher == catalog.searcher(sized(searcher))
    assert job.training.sampler == sampler(sized(paths))


def test_settings_behind_a_name_are_kept_by_the_plan() -> None:
    request = SearchRequest(**TINY, searcher="nsga2:population=6,generations=3")
    plan = (job := SearchJob.prepare(request, ignore)).plan(None, 0.0)
    assert (plan.population, plan.generations) == (6, 3)
    assert job.settings(plan)["searcher"]["population"] == 6
    more = SearchRequest(**TINY, searcher="mcea:population=6,rounds=2", population=4, generations=1)
    job = SearchJob.prepare(more, ignore)
    record = job.settings(job.plan(None, 0.0))["searcher"]
    assert (record["population"], record["generations"], record["rounds"]) == (4, 1, 2), "options come first"


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"searcher": "grid", "space": "scarlet-s1:resolution=32,width=0.25"}, LISTED_ONLY),
        ({"searcher": "random", "population": 4}, "the searcher RandomSearch has no population, got 4"),
        ({"searcher": "mcea", "objectives": ["max naswot", "max layers"]}, "MCEA needs one objective beside costs"),
        ({"searcher": "mcea:round=2"}, "unknown setting of mcea 'round': did you mean 'rounds'?"),
        ({"sampler": "hierarchical"}, SCALED_ONLY),
        ({"sampler": "budgeted"}, "macro: no architecture has macs in 290M..360M"),
    ],
)
def test_what_does_not_suit_is_refused_before_anything_is_trained(changes: dict[str, object], reason: str) -> None:
    with pytest.raises(InputError) as refusal:
        SearchJob.prepare(SearchRequest(**{**TINY, **changes}), ignore)
    assert reason in str(refusal.value)
    assert "\n" not in str(refusal.value)
