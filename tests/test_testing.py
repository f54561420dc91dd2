"""The contract checks pass what is right (see test_catalog) and catch what is broken."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pytest

from supernetic import catalog
from supernetic.blueprint import Blueprint, Layer
from supernetic.costs.budget import budget_sampler
from supernetic.evaluators import CostEvaluator, TableEvaluator
from supernetic.objective import Constraint, Metrics
from supernetic.samplers.named import SAMPLERS
from supernetic.samplers.step import Draw, SampledPath, Step
from supernetic.samplers.uniform import Uniform
from supernetic.searchers.problem import Asking, SearchProblem
from supernetic.searchers.random import RandomSearch
from supernetic.space import Arch, Archs, Space
from supernetic.spaces.macro import Macro
from supernetic.testing import (
    ContractError,
    check_blueprint,
    check_evaluator,
    check_sampler,
    check_searcher,
    check_space,
)


class Broken(Macro):
    def canonical(self, arch: Arch) -> Arch:
        return arch[::-1]


class Forgetful(Macro):
    def format(self, arch: Arch) -> str:
        return "0" * 8


class Costly(Macro):
    def blueprint(self, arch: Arch) -> Blueprint:
        return super().blueprint((*arch[:-1], 2))


class Moody(Macro):
    def sample(self, rng: np.random.Generator, n: int, *, depth_uniform: bool = False) -> Archs:
        return super().sample(np.random.default_rng(), n)


@pytest.mark.parametrize(
    ("space", "message"),
    [
        (Broken(), "not idempotent"),
        (Forgetful(), "does not parse back"),
        (Costly(), "table and blueprint disagree"),
        (Moody(), "same seed"),
    ],
    ids=lambda x: type(x).__name__,
)
def test_broken_spaces_are_caught(space: Macro, message: str) -> None:
    with pytest.raises(ContractError, match=message):
        check_space(space, n=50)


def test_broken_blueprints_are_caught() -> None:
    stem, fc = Layer("stem", "conv", 3, 8, 4, 4), Layer("fc", "linear", 8, 2, 1, 1)
    with pytest.raises(ContractError, match="reads"):
        check_blueprint(Blueprint((stem, fc)))
    with pytest.raises(ContractError, match="distinct"):
        check_blueprint(Blueprint((stem, stem, fc)))
    with pytest.raises(ContractError, match="ends with a linear layer"):
        check_blueprint(Blueprint((stem,)))


def test_samplers() -> None:
    sampler = budget_sampler(Macro(), [Constraint("macs", high=50e6)])
    check_sampler(sampler)
    with pytest.raises(ContractError, match="outside"):
        check_sampler(replace(sampler, propose=lambda rng, n: Macro().sample(rng, n)))


@pytest.mark.parametrize("name", SAMPLERS)
def test_samplers_of_paths(name: str) -> None:
    space = {"hierarchical": "scalenet", "budgeted": "scarlet-s1"}.get(name, "macro")
    check_sampler(SAMPLERS[name](), catalog.space(space), n=100)


class Greedy(Uniform):
    def __call__(self, space: Space, draw: Draw) -> Step:
        return Step((SampledPath(tuple(np.random.default_rng().integers(2, size=8).tolist())),))


def test_broken_samplers_of_paths_are_caught() -> None:
    with pytest.raises(ContractError, match="same seed"):
        check_sampler(Greedy(), Macro(), n=500)
    with pytest.raises(ContractError, match="on a space"):
        check_sampler(Uniform())


@dataclass
class Drifting:
    """Answers by how often it was asked."""

    metrics = ("valid/accuracy",)
    test: frozenset[str] = frozenset()
    asked: int = 0

    def __call__(self, archs: Sequence[Arch]) -> list[Metrics]:
        self.asked += 1
        return [{"valid/accuracy": float(self.asked)} for _ in archs]


def test_evaluators() -> None:
    table = catalog.table("macro")
    check_evaluator(CostEvaluator(Macro(), ("cost/macs", "cost/params")), Macro())
    check_evaluator(TableEvaluator(table, ("mean_acc",)), Macro())
    with pytest.raises(ContractError, match="depend on the order"):
        check_evaluator(Drifting(), Macro())


@pytest.mark.parametrize("name", catalog.SEARCHERS)
def test_our_searchers_keep_the_contract(name: str) -> None:
    check_searcher(catalog.load("searcher", catalog.SEARCHERS, name)())


class Spendthrift(RandomSearch):
    def search(self, task: SearchProblem, rng: np.random.Generator) -> Asking:
        while True:
            yield [tuple(a) for a in task.space.sample(rng, 10).tolist()]


def test_a_searcher_that_ignores_the_budget_is_caught() -> None:
    with pytest.raises(ContractError, match="cheap constraints exclude"):
        check_searcher(Spendthrift())
