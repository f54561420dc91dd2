"""The networks of a comparison: the chosen ones, and controls that the same budget would have bought."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING

import numpy as np

from ...blueprint import Blueprint
from ...costs.macs import cost
from ...errors import BudgetError
from ...runs.records import CHOSEN as CHOSEN
from ...searchers import SearchProblem
from ...space import Arch, Space

if TYPE_CHECKING:
    from ...networks.baselines import Baseline

RANDOM, LARGEST, MOBILENET, BASELINE = "random", "largest", "mobilenet", "baseline"  # roles of controls
MAX_DRAWS = 20  # for a random control that is not a chosen network
CONTROL_STREAM = 11  # of random numbers


@dataclass(frozen=True)
class Candidate:
    """A network to train and test."""

    name: str
    role: str
    label: str  # the architecture in words
    network: Blueprint | Baseline
    macs: int
    params: int
    arch: Arch | None = None  # of the space, if it is of one
    against: str = ""  # the chosen network that a control is compared with


def candidates(
    task: SearchProblem, chosen: Sequence[Arch], seed: int, baselines: Mapping[str, Baseline]
) -> tuple[list[Candidate], list[str]]:
    """The chosen networks by rising cost, then their controls; and remarks on controls that are missing.

    Controls are: for each chosen network a random one of as many MACs; the largest that keeps the limits; the widest
    MobileNetV2 within the limit on MACs (or those of the most expensive chosen network); and the user's own.

    Args:
        task: The search problem, whose limits controls keep.
        chosen: Architectures that the search chose.
        seed: Of the random controls.
        baselines: The user's own networks by name.

    Returns:
        The networks, and the remarks.
    """
    space = task.space
    models = [_of(space, f"model-{i}", CHOSEN, arch) for i, arch in enumerate(chosen, 1)]
    remarks: list[str] = []
    controls: list[Candidate] = []
    most_expensive = max(models, key=lambda m: m.macs)
    limit = min((c.high for c in task.constraints if c.name == "cost/macs"), default=inf)
    budget = most_expensive.macs if limit == inf else limit
    try:
        controls += _randoms(task, models, seed)
        missing = [m.name for m in models if m.name not in {c.against for c in controls}]
        remarks += [f"no random control for {name}: all networks of as many MACs were taken" for name in missing]
    except BudgetError as error:
        remarks.append(f"no random controls: {error}")
    controls += _largest(task, models, most_expensive, remarks)
    controls += _mobilenet(models[0], budget, most_expensive, remarks)
    for name, baseline in baselines.items():
        macs, params = baseline.costs()
        controls.append(Candidate(name, BASELINE, baseline.source, baseline, macs, params, against=most_expensive.name))
    return [*models, *controls], remarks


def _of(space: Space, name: str, role: str, arch: Arch, against: str = "") -> Candidate:
    blueprint = space.blueprint(arch)
    total = cost(blueprint)
    return Candidate(name, role, space.name_of(arch), blueprint, total.macs, total.params, arch, against)


def _randoms(task: SearchProblem, models: Sequence[Candidate], seed: int) -> Iterator[Candidate]:
    """For each model a random network of as many MACs, none twice and none that was chosen."""
    from ...networks.controls import random_at

    space = task.space
    taken = {space.canonical(m.arch) for m in models if m.arch is not None}
    for i, model in enumerate(models, 1):
        for draw in range(MAX_DRAWS):
            rng = np.random.default_rng([seed, CONTROL_STREAM, i, draw])
            arch = random_at(space, model.macs, rng, where=task.cheap, layer_cost=task.layer_cost)
            if space.canonical(arch) not in taken:
                taken.add(space.canonical(arch))
                yield _of(space, f"random-{i}", RANDOM, arch, model.name)
                break


def _largest(
    task: SearchProblem, models: Sequence[Candidate], most_expensive: Candidate, remarks: list[str]
) -> Iterator[Candidate]:
    from ...networks.controls import largest

    space = task.space
    arch = largest(space, task.cheap, layer_cost=task.layer_cost)
    same = [m.name for m in models if m.arch is not None and space.canonical(m.arch) == space.canonical(arch)]
    if same:
        remarks.append(f"the largest network within the limits was chosen itself: {same[0]}")
        return
    yield _of(space, LARGEST, LARGEST, arch, most_expensive.name)


def _mobilenet(like: Candidate, budget: float, most_expensive: Candidate, remarks: list[str]) -> Iterator[Candidate]:
    from ...networks.controls import mobilenet

    blueprint = like.network
    assert isinstance(blueprint, Blueprint)
    try:
        network = mobilenet(budget, blueprint.resolution, blueprint.classes, blueprint.in_channels)
    except BudgetError as error:
        remarks.append(f"no MobileNetV2 as control: {error}")
        return
    total = cost(network)
    yield Candidate(
        "mobilenetv2", MOBILENET, "MobileNetV2", network, total.macs, total.params, against=most_expensive.name
    )
