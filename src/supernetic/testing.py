"""Contracts that anyone can run on a space, supernet, sampler, searcher or evaluator of their own; ours pass them.

    from supernetic.testing import check_space
    check_space(MySpace())

A check raises `ContractError` with one sentence on what is broken.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite, nan
from typing import Any

import numpy as np

from .blueprint import Blueprint, Layer
from .costs.budget import BudgetSampler, window_of
from .costs.graph import cost_graph_of
from .costs.macs import METRICS, cost
from .costs.suffix_counts import count_exactly, count_suffixes
from .costs.table import costs_of
from .errors import ArchError, SupernetError
from .evaluators.evaluator import Evaluator
from .objective import Constraint, Metrics, Objective
from .samplers.checks import contract_violations as path_sampler_flaws
from .samplers.step import Sampler
from .searchers.problem import Searcher, SearchProblem
from .searchers.runner import run_search
from .space import Arch, SequentialSpace, Space
from .spaces.macro import Macro


class ContractError(SupernetError):
    """Something does not keep the contract of its kind."""


def _require(condition: object, what: str) -> None:
    if not condition:
        raise ContractError(what)


# --- spaces -----------------------------------------------------------------------------------------------------------


def check_space(space: Space, *, n: int = 1000, seed: int = 0) -> None:
    """Encodings, text, blueprints and costs agree with one another, on `n` random architectures and the named ones."""
    names = [c.name for c in space.choices]
    _require(names, f"{space.name} has no choices")
    _require(len(set(names)) == len(names), f"{space.name}: choices must have distinct names")
    _require(
        int(space.radices.max()) <= 127, f"{space.name}: a choice has at most 127 options, so that genes are bytes"
    )
    _require(hash(space) == hash(space) and space == space, f"{space.name} must be hashable and equal to itself")
    archs = space.sample(np.random.default_rng(seed), n)
    again = space.sample(np.random.default_rng(seed), n)
    _require(
        archs.shape == (n, len(names)) and archs.dtype == np.int8, f"{space.name}: samples must be n x choices bytes"
    )
    _require(np.array_equal(archs, again), f"{space.name}: the same seed must give the same samples")
    rows: list[Arch] = [tuple(row) for row in archs.tolist()]
    for arch in (*space.named.values(), *rows):
        _check_encoding(space, arch)
    _check_refusals(space, rows[0])
    for arch in (*space.named.values(), *rows[: max(1, n // 20)]):
        check_blueprint(space.blueprint(arch))
    _check_costs(space, rows)
    if isinstance(space, SequentialSpace):
        walk = cost_graph_of(space)
        counted = count_exactly(count_suffixes(walk, 4 * sum(int(c.max()) for c in walk.costs) + 1), 0, 1 << 62)
        _require(counted == space.size, f"{space.name}: its automaton has {counted} paths, its size is {space.size}")


def _check_encoding(space: Space, arch: Arch) -> None:
    _require(space.check(arch) == arch, f"{space.name}: check changes {arch}")
    text = space.format(arch)
    _require(space.parse(text) == arch, f"{space.name}: {text!r} does not parse back to {arch}")
    if len(arch) > 1:
        _require(space.parse(",".join(map(str, arch))) == arch, f"{space.name}: integers do not parse back to {arch}")
    canonical = space.canonical(arch)
    _require(space.canonical(canonical) == canonical, f"{space.name}: canonical is not idempotent on {arch}")
    _require(space.check(canonical) == canonical, f"{space.name}: the canonical form of {arch} is not valid")


def _check_refusals(space: Space, arch: Arch) -> None:
    wrong: list[tuple[str, Sequence[int]]] = [
        ("too long", (*arch, 0)),
        ("too short", arch[:-1]),
        ("negative", (-1, *arch[1:])),
        ("out of range", (len(space.choices[0].options), *arch[1:])),
    ]
    for what, genes in wrong:
        try:
            space.check(genes)
        except ArchError:
            continue
        raise ContractError(f"{space.name}: check accepts an architecture that is {what}: {tuple(genes)}")


def _check_costs(space: Space, rows: list[Arch]) -> None:
    """Costs from the table equal those of the blueprint, and canonical forms cost the same."""
    archs = np.array(rows, dtype=np.int8)
    walked = [cost(space.blueprint(arch)) for arch in rows]
    for metric in METRICS:
        expected = np.array([getattr(c, metric) for c in walked])
        wrong = np.flatnonzero(costs_of(space, archs, metric) != expected)
        _require(
            not len(wrong), f"{space.name}: table and blueprint disagree on {metric} of {rows[int((*wrong, 0)[0])]}"
        )
    for arch, own in zip(rows[:100], walked, strict=False):
        same = cost(space.blueprint(space.canonical(arch)))
        _require(
            (same.macs, same.params) == (own.macs, own.params),
            f"{space.name}: the canonical form of {arch} costs otherwise",
        )


def check_blueprint(blueprint: Blueprint) -> None:
    """Names are distinct, wires run forward, and shapes fit along them."""
    names = [layer.name for layer in blueprint]
    _require(len(set(names)) == len(names), f"layer names must be distinct: {names}")
    _require(Blueprint.from_json(blueprint.to_json()) == blueprint, "a blueprint must survive JSON")
    _require(blueprint.layers[-1].kind == "linear", "a blueprint ends with a linear layer")
    for i, (layer, sources) in enumerate(zip(blueprint, blueprint.wiring(), strict=True)):
        _require(all(s < i for s in sources), f"layer {layer.name} reads a layer behind it")
        if sources != (-1,):
            _check_shapes(layer, [blueprint.layers[s] for s in sources])


def _check_shapes(layer: Layer, sources: list[Layer]) -> None:
    what = f"layer {layer.name} reads {[(s.name, s.c_out, s.resolution_out) for s in sources]}, expects {layer.c_in}"
    _require(all(s.resolution_out == layer.resolution for s in sources), f"{what} of side {layer.resolution}")
    widths = [s.c_out for s in sources]
    if layer.kind == "join" and layer.join == "concat":
        _require(sum(widths) == layer.c_out, what)
    elif layer.kind == "join":
        _require(min(widths) >= layer.c_out, what)
    else:
        _require(widths == [layer.c_in], what)


# --- samplers ---------------------------------------------------------------------------------------------------------


def check_sampler(sampler: BudgetSampler | Sampler, space: Space | None = None, *, n: int = 500, seed: int = 0) -> None:
    """A sampler of architectures at a budget, or (with its `space`) of the paths that a supernet is trained on.

    Every draw is valid and inside the constraints, trials are counted, and a seed decides everything.
    """
    if isinstance(sampler, BudgetSampler):
        _check_budget_sampler(sampler, n, seed)
        return
    _require(space is not None, "a sampler of paths is checked on a space: check_sampler(sampler, space)")
    assert space is not None
    for flaw in path_sampler_flaws(sampler, space, steps=max(1, n // 25), seed=seed):
        raise ContractError(flaw)


def _check_budget_sampler(sampler: BudgetSampler, n: int, seed: int) -> None:
    archs, trials = sampler.sample(np.random.default_rng(seed), n)
    again, _ = sampler.sample(np.random.default_rng(seed), n)
    _require(len(archs) == n and trials >= n, f"asked for {n} draws, got {len(archs)} in {trials} trials")
    _require(np.array_equal(archs, again), "the same seed must give the same draws")
    for row in archs.tolist():
        sampler.space.check(row)
    for c in sampler.constraints:
        low, high = window_of(c)
        value = costs_of(sampler.space, archs, c.name)
        _require(((value >= low) & (value <= high)).all(), f"a draw lies outside {c}")


# --- evaluators -------------------------------------------------------------------------------------------------------


def check_evaluator(evaluate: Evaluator, space: Space, *, n: int = 20, seed: int = 0) -> None:
    """Answers hold what was declared and depend on the architecture alone, not on order or company."""
    archs: list[Arch] = [tuple(row) for row in space.sample(np.random.default_rng(seed), n).tolist()]
    answers = evaluate(archs)
    _require(len(answers) == n, f"{n} architectures, but {len(answers)} answers")
    declared = set(evaluate.metrics)
    _require(
        all("/" in name for name in declared), f"metrics have full names such as valid/accuracy: {sorted(declared)}"
    )
    _require(evaluate.test <= declared, f"test metrics must be among the declared: {sorted(evaluate.test - declared)}")
    for answer in answers:
        _require(set(answer) == declared, f"declared {sorted(declared)}, answered {sorted(answer)}")
    _require(_equal(evaluate(archs[::-1]), answers[::-1]), "answers depend on the order of the architectures")
    _require(
        _equal([evaluate([a])[0] for a in archs], answers), "answers depend on which architectures are asked together"
    )


def _equal(a: list[Metrics], b: list[Metrics]) -> bool:
    return all(
        x.keys() == y.keys() and all(x[k] == y[k] or (x[k] != x[k] and y[k] != y[k]) for k in x)
        for x, y in zip(a, b, strict=True)
    )


# --- searchers --------------------------------------------------------------------------------------------------------


class _Score:
    """A score with one best network, and no number for some architectures."""

    metrics = ("valid/score", "cost/macs")
    test: frozenset[str] = frozenset()

    def __init__(self, space: Space) -> None:
        self.space = space

    def __call__(self, archs: Sequence[Arch]) -> list[Metrics]:
        macs = costs_of(self.space, np.array(archs, dtype=np.int8)).tolist()
        return [{"valid/score": self._score(a), "cost/macs": float(m)} for a, m in zip(archs, macs, strict=True)]

    @staticmethod
    def _score(arch: Arch) -> float:
        return nan if arch[-3:] == (0, 0, 0) else float(sum((i + 1) * g for i, g in enumerate(arch)))


def check_searcher(searcher: Searcher, *, budget: int = 120, seed: int = 0) -> None:
    """On a small task: only affordable architectures are asked for, none twice, and a seed decides everything."""
    space = Macro()
    task = SearchProblem(
        space,
        (Objective("valid/score", True), Objective("cost/macs", False)),
        (Constraint("cost/macs", high=60e6), Constraint("valid/score", low=5)),
    )
    runs: list[list[Any]] = [
        [t.to_json() for t in run_search(searcher, task, _Score(space), seed=s, budget=budget)]
        for s in (seed, seed, seed + 1)
    ]
    _require(runs[0], "the searcher asked for nothing")
    _require(runs[0] == runs[1], "the same seed must ask for the same architectures")
    _require(len(runs[0]) <= budget, f"the searcher went on past its budget of {budget}")
    networks = [space.canonical(tuple(t["arch"])) for t in runs[0]]
    _require(len(set(networks)) == len(networks), "a network was evaluated twice")
    within = [t for t in runs[0] if t["metrics"]["cost/macs"] <= 60e6]
    _require(len(within) == len(runs[0]), "the searcher asked for architectures that cheap constraints exclude")
    good = [t for t in runs[0] if t["status"] == "ok"]
    _require(good and all(isfinite(t["metrics"]["valid/score"]) for t in good), "no trial satisfied the constraints")


# --- supernets --------------------------------------------------------------------------------------------------------


def check_supernet(supernet: Any, *, n: int = 4, seed: int = 0) -> None:
    """A path through the supernet is the network it stands for, on `n` random architectures and the extremes.

    Outputs and gradients equal those of the extracted network, in training and in evaluation; evaluation changes
    nothing; built and extracted networks cost what their blueprints say.
    """
    from .supernets.checks import contract_violations

    for flaw in contract_violations(supernet, n=n, seed=seed):
        raise ContractError(flaw)
