"""Checks for your own spaces, samplers, evaluators, searchers and supernets.

    from supernetic.testing import check_space

    def test_my_space() -> None:
        check_space(MySpace())

Each check tests what the rest of the package relies on: that encodings round-trip, that shapes fit, that a seed decides
everything, and so on. It returns nothing if all is well, and else raises `ContractError` with one sentence that says
what is broken. Everything in the catalogue passes these checks. They need no data and take seconds; the check of an
evaluator takes as long as a few dozen of its evaluations.
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
from .samplers.checks import contract_violations as sampler_violations
from .samplers.step import Sampler
from .searchers.problem import Searcher, SearchProblem
from .searchers.runner import run_search
from .space import Arch, SequentialSpace, Space
from .spaces.macro import Macro


class ContractError(SupernetError):
    """Something that a space, sampler, evaluator, searcher or supernet must do, and does not."""


def _require(condition: object, what: str) -> None:
    if not condition:
        raise ContractError(what)


# --- spaces -----------------------------------------------------------------------------------------------------------


def check_space(space: Space, *, n: int = 1000, seed: int = 0) -> None:
    """Check that encodings, texts, blueprints and costs of a space agree with one another.

    - Choices have distinct names and at most 127 options; the space is hashable; a seed decides what `sample` draws.
    - Every architecture survives `format` and `parse`; `canonical` is valid, stable and costs the same.
    - `check` refuses architectures that are too long, too short or out of range.
    - Layers of a blueprint have distinct names and shapes that fit (`check_blueprint`).
    - Costs from tables equal the costs of blueprints; a sequential space has as many paths as its `size` says.

    Args:
        space: The space.
        n: Random architectures to check, beside the named ones.
        seed: Seed of these architectures.

    Raises:
        ContractError: With what is broken.
    """
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
        graph = cost_graph_of(space)
        counted = count_exactly(count_suffixes(graph, 4 * sum(int(c.max()) for c in graph.costs) + 1), 0, 1 << 62)
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
    costs = [cost(space.blueprint(arch)) for arch in rows]
    for metric in METRICS:
        expected = np.array([getattr(c, metric) for c in costs])
        wrong = np.flatnonzero(costs_of(space, archs, metric) != expected)
        _require(
            not len(wrong), f"{space.name}: table and blueprint disagree on {metric} of {rows[int((*wrong, 0)[0])]}"
        )
    for arch, own in zip(rows[:100], costs, strict=False):
        same = cost(space.blueprint(space.canonical(arch)))
        _require(
            (same.macs, same.params) == (own.macs, own.params),
            f"{space.name}: the canonical form of {arch} must cost the same",
        )


def check_blueprint(blueprint: Blueprint) -> None:
    """Check that a blueprint can be built: names are distinct, layers read earlier ones, and shapes fit.

    Args:
        blueprint: The blueprint.

    Raises:
        ContractError: With what is broken.
    """
    names = [layer.name for layer in blueprint]
    _require(len(set(names)) == len(names), f"layer names must be distinct: {names}")
    _require(Blueprint.from_json(blueprint.to_json()) == blueprint, "a blueprint must survive JSON")
    _require(blueprint.layers[-1].kind == "linear", "a blueprint ends with a linear layer")
    for i, (layer, sources) in enumerate(zip(blueprint, blueprint.wiring(), strict=True)):
        _require(all(s < i for s in sources), f"layer {layer.name} reads a later layer")
        if sources != (-1,):
            _check_shapes(layer, [blueprint.layers[s] for s in sources])


def _check_shapes(layer: Layer, sources: list[Layer]) -> None:
    what = f"layer {layer.name} reads {[(s.name, s.c_out, s.resolution_out) for s in sources]}, expects {layer.c_in}"
    _require(all(s.resolution_out == layer.resolution for s in sources), f"{what} of resolution {layer.resolution}")
    widths = [s.c_out for s in sources]
    if layer.kind == "join" and layer.join == "concat":
        _require(sum(widths) == layer.c_out, what)
    elif layer.kind == "join":
        _require(min(widths) >= layer.c_out, what)
    else:
        _require(widths == [layer.c_in], what)


# --- samplers ---------------------------------------------------------------------------------------------------------


def check_sampler(sampler: BudgetSampler | Sampler, space: Space | None = None, *, n: int = 500, seed: int = 0) -> None:
    """Check that every draw of a sampler is valid, that it keeps its constraints, and that a seed decides everything.

    Args:
        sampler: A sampler of the paths that a supernet is trained on, or a `BudgetSampler` of architectures.
        space: The space to sample paths from; a `BudgetSampler` has its own.
        n: Draws to check.
        seed: Seed of these draws.

    Raises:
        ContractError: With what is broken.
    """
    if isinstance(sampler, BudgetSampler):
        _check_budget_sampler(sampler, n, seed)
        return
    _require(space is not None, "a sampler of paths must be checked on a space: check_sampler(sampler, space)")
    assert space is not None
    for violation in sampler_violations(sampler, space, steps=max(1, n // 25), seed=seed):
        raise ContractError(violation)


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
    """Check that answers hold the declared metrics, and that the answer for an architecture depends on it alone.

    The architectures are evaluated three times: together, in reverse order, and one by one.

    Args:
        evaluate: The evaluator.
        space: The space of the architectures that it evaluates.
        n: Random architectures to evaluate.
        seed: Seed of these architectures.

    Raises:
        ContractError: With what is broken.
    """
    archs: list[Arch] = [tuple(row) for row in space.sample(np.random.default_rng(seed), n).tolist()]
    answers = evaluate(archs)
    _require(
        len(answers) == n, f"an evaluator must answer for every architecture: {n} asked for, {len(answers)} answers"
    )
    declared = set(evaluate.metrics)
    _require(
        all("/" in name for name in declared),
        f"metrics must have full names such as valid/accuracy, got {sorted(declared)}",
    )
    _require(
        evaluate.test <= declared, f"test metrics must be among the metrics, got {sorted(evaluate.test - declared)}"
    )
    for answer in answers:
        _require(set(answer) == declared, f"an answer must hold the metrics {sorted(declared)}, got {sorted(answer)}")
    _require(_equal(evaluate(archs[::-1]), answers[::-1]), "answers depend on the order of the architectures")
    _require(
        _equal([evaluate([a])[0] for a in archs], answers),
        "answers depend on which architectures are evaluated together",
    )


def _equal(a: list[Metrics], b: list[Metrics]) -> bool:
    return all(
        x.keys() == y.keys() and all(x[k] == y[k] or (x[k] != x[k] and y[k] != y[k]) for k in x)
        for x, y in zip(a, b, strict=True)
    )


# --- searchers --------------------------------------------------------------------------------------------------------


class _Score:
    """An evaluator for tests: its score has one best network, and is NaN for some architectures."""

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
    """Check a searcher on a small problem: NAS-Bench-Macro, two objectives, a limit on MACs, and a score with gaps.

    It must ask only for architectures within the cheap constraints, never twice for the same network, no more often
    than the budget allows, and for the same ones with the same seed.

    Args:
        searcher: The searcher.
        budget: Evaluations that it may ask for.
        seed: Seed of the search.

    Raises:
        ContractError: With what is broken.
    """
    space = Macro()
    problem = SearchProblem(
        space,
        (Objective("valid/score", True), Objective("cost/macs", False)),
        (Constraint("cost/macs", high=60e6), Constraint("valid/score", low=5)),
    )
    runs: list[list[Any]] = [
        [t.to_json() for t in run_search(searcher, problem, _Score(space), seed=s, budget=budget)]
        for s in (seed, seed, seed + 1)
    ]
    _require(runs[0], "the searcher asked for nothing")
    _require(runs[0] == runs[1], "the same seed must ask for the same architectures")
    _require(len(runs[0]) <= budget, f"the searcher must keep its budget of {budget} evaluations, got {len(runs[0])}")
    networks = [space.canonical(tuple(t["arch"])) for t in runs[0]]
    _require(len(set(networks)) == len(networks), "a network was evaluated twice")
    within = [t for t in runs[0] if t["metrics"]["cost/macs"] <= 60e6]
    _require(len(within) == len(runs[0]), "the searcher asked for architectures that cheap constraints exclude")
    good = [t for t in runs[0] if t["status"] == "ok"]
    _require(good and all(isfinite(t["metrics"]["valid/score"]) for t in good), "no trial satisfied the constraints")


# --- supernets --------------------------------------------------------------------------------------------------------


def check_supernet(supernet: Any, *, n: int = 4, seed: int = 0) -> None:
    """Check that a path through a supernet computes the same as the network that is extracted for it.

    Outputs and gradients must be equal, in training and in evaluation. Evaluation must change no weight. Networks must
    cost what their blueprints say.

    Args:
        supernet: The supernet.
        n: Random architectures to check, beside the smallest and the largest.
        seed: Seed of these architectures.

    Raises:
        ContractError: With what is broken.
    """
    from .supernets.checks import contract_violations

    for violation in contract_violations(supernet, n=n, seed=seed):
        raise ContractError(violation)
