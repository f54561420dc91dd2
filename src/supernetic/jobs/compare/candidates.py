"""The networks of a comparison: the chosen ones, and controls that the same budget would have bought."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from math import inf
from typing import TYPE_CHECKING

import numpy as np

from ...blueprint import Blueprint
from ...costs.macs import cost
from ...errors import BudgetError
from ...runs.records import CANDIDATE as CANDIDATE
from ...runs.records import CHOSEN as CHOSEN
from ...searchers import SearchProblem
from ...space import Arch, Space

if TYPE_CHECKING:
    from ...networks.baselines import Baseline

RANDOM, LARGEST, PLAIN, RESNET, MOBILENET, BASELINE = (
    "random", "largest", "plain", "resnet", "mobilenet", "baseline"
)  # fmt: skip
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
    task: SearchProblem,
    chosen: Sequence[Arch],
    seed: int,
    baselines: Mapping[str, Baseline],
    *,
    controls: bool = True,
    standard: bool = True,
    most: int | None = None,
) -> tuple[list[Candidate], list[str]]:
    """The chosen networks by rising cost, then their controls; and remarks on controls that are missing.

    Controls are: a plain stack of 3x3 convolutions and a ResNet, the widest within the limit on MACs (or those of the
    most expensive chosen network); the largest network that keeps the limits; random ones of as many MACs as the chosen
    ones; the widest MobileNetV2; and the user's own.

    Args:
        task: The search problem, whose limits controls keep.
        chosen: Architectures that the search chose, the most promising first.
        seed: Of the random controls.
        baselines: The user's own networks by name.
        controls: Whether there are any but the user's own.
        standard: Whether networks of well-known kinds are among them; beside pretrained ones they would say nothing.
        most: Networks in all; chosen ones and controls, of which one is random, are then taken in turns, the user's own
            in any case.

    Returns:
        The networks, and the remarks.
    """
    space = task.space
    by_cost = sorted(chosen, key=lambda arch: costs_of_one(space, arch))
    numbered = {arch: _of(space, f"candidate-{i}", CHOSEN, arch) for i, arch in enumerate(by_cost, 1)}
    models = [numbered[arch] for arch in chosen]  # the most promising first
    most_expensive = max(models, key=lambda m: m.macs)
    own = [
        Candidate(name, BASELINE, baseline.source, baseline, *baseline.costs(), against=most_expensive.name)
        for name, baseline in baselines.items()
    ]
    remarks: list[str] = []
    others = list(_controls(task, models, most_expensive, seed, remarks, standard)) if controls else []
    if most is not None:
        first = next((c.name for c in others if c.role == RANDOM), "")  # one will do, where time is short
        others = [c for c in others if c.role != RANDOM or c.name == first]
        sure = all(c.name == "cost/macs" for c in task.constraints)  # that controls keep the limits, and may be the one
        turns = zip_longest(*((others, models) if sure and standard else (models, others)))
        in_turn = [c for turn in turns for c in turn if c is not None]
        taken = {c.name for c in in_turn[: max(1, most - len(own))]}
        models, others = [m for m in models if m.name in taken], [c for c in others if c.name in taken]
    models.sort(key=lambda m: (m.macs, m.name))
    return [*models, *others, *own], remarks


def costs_of_one(space: Space, arch: Arch) -> int:
    """MACs of an architecture."""
    return cost(space.blueprint(arch)).macs


def _controls(
    task: SearchProblem,
    models: Sequence[Candidate],
    most_expensive: Candidate,
    seed: int,
    remarks: list[str],
    well_known: bool,
) -> Iterator[Candidate]:
    """The controls, those that say most first."""
    from ...networks import controls

    limit = min((c.high for c in task.constraints if c.name == "cost/macs"), default=inf)
    budget = most_expensive.macs if limit == inf else limit

    def standard(name: str, role: str, label: str, make: Callable[..., Blueprint]) -> Iterator[Candidate]:
        if well_known:
            yield from _standard(name, role, label, make, models[0], budget, most_expensive, remarks)

    yield from standard("plain", PLAIN, "plain stack of 3x3 convolutions", controls.plain_network)
    yield from standard("resnet", RESNET, "ResNet", controls.resnet)
    yield from _largest(task, models, most_expensive, remarks)
    try:
        randoms = list(_randoms(task, sorted(models, key=lambda m: -m.macs), seed))
        missing = [m.name for m in models if m.name not in {c.against for c in randoms}]
        remarks += [f"no random control for {name}: all networks of as many MACs were taken" for name in missing]
    except BudgetError as error:
        randoms = []
        remarks.append(f"no random controls: {error}")
    yield from randoms[:1]
    yield from standard("mobilenetv2", MOBILENET, "MobileNetV2", controls.mobilenet)
    yield from randoms[1:]


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


def _standard(
    name: str,
    role: str,
    label: str,
    make: Callable[..., Blueprint],
    like: Candidate,
    budget: float,
    most_expensive: Candidate,
    remarks: list[str],
) -> Iterator[Candidate]:
    """The widest network of a well-known kind within the budget."""
    blueprint = like.network
    assert isinstance(blueprint, Blueprint)
    try:
        network = make(budget, blueprint.resolution, blueprint.classes, blueprint.in_channels)
    except BudgetError as error:
        remarks.append(f"no {label} as control: {error}")
        return
    total = cost(network)
    yield Candidate(name, role, label, network, total.macs, total.params, against=most_expensive.name)
