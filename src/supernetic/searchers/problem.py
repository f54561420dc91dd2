"""What is searched for: a space, objectives and constraints; and what comes back: trials."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import isfinite
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from .. import pareto
from ..costs import LayerCost
from ..costs.budget import BudgetSampler, budget_sampler, inside
from ..errors import BudgetError
from ..objective import Constraint, Metrics, Objective
from ..runs.directory import jsonable
from ..space import Arch, Archs, Space

Bools = npt.NDArray[np.bool_]


class Trial(NamedTuple):
    """One evaluated architecture: `ok`, `infeasible` (a constraint is broken) or `failed` (no usable numbers)."""

    arch: Arch
    metrics: Metrics
    status: str = "ok"
    reason: str = ""

    @property
    def ok(self) -> bool:
        """Whether it satisfies every constraint."""
        return self.status == "ok"

    def to_json(self) -> dict[str, Any]:
        """A record with nothing but plain values; costs are whole numbers, what is not finite is null."""
        metrics = {k: int(v) if k.startswith("cost/") and isfinite(v) else jsonable(v) for k, v in self.metrics.items()}
        reason = {"reason": self.reason} if self.reason else {}
        return {"arch": list(self.arch), "status": self.status, **reason, "metrics": metrics}

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> Trial:
        """The trial that `to_json` wrote.

        Args:
            record: a line of `trials.jsonl`.

        Returns:
            The trial; what is null there is NaN here.
        """
        metrics = {k: float("nan") if v is None else float(v) for k, v in record["metrics"].items()}
        return cls(tuple(record["arch"]), metrics, record["status"], record.get("reason", ""))


Asking = Generator[list[Arch], list[Trial], None]


class Searcher(Protocol):
    """A frozen dataclass of settings with one generator method."""

    @property
    def needs_budget(self) -> bool:
        """Whether it goes on until it is stopped."""

    def search(self, task: SearchProblem, rng: np.random.Generator) -> Asking:
        """Yield architectures to evaluate, receive a trial for each, in the same order.

        Args:
            task: the space, the objectives and the constraints.
            rng: of all draws.

        Returns:
            A generator of lists of architectures.
        """


@dataclass(frozen=True, eq=False)
class SearchProblem:
    """Objectives and constraints over a space.

    Constraints on `cost/...` and on the `layer_cost` are cheap: checked before any evaluation.
    Searchers for a single objective go by Pareto order when there are several (`pareto.best_first`).
    """

    space: Space
    objectives: tuple[Objective, ...]
    constraints: tuple[Constraint, ...] = ()
    among: Archs | None = None  # the only architectures there are, for tables that hold a part of their space
    layer_cost: LayerCost | None = None  # a further cost that adds up over layers: measured latencies

    @cached_property
    def cheap(self) -> tuple[Constraint, ...]:
        """Constraints that need no evaluation."""
        priced = () if self.layer_cost is None else (self.layer_cost.name,)
        return tuple(c for c in self.constraints if c.name.startswith("cost/") or c.name in priced)

    @cached_property
    def _sampler(self) -> BudgetSampler:
        return budget_sampler(self.space, self.cheap, layer_cost=self.layer_cost)

    @cached_property
    def _members(self) -> Archs | None:
        """Of the only architectures there are, those that satisfy the cheap constraints."""
        if self.among is None:
            return None
        members = self.among[self._affordable(self.among)]
        if not len(members):
            limits = " and ".join(map(str, self.cheap))
            raise BudgetError(f"none of the {len(self.among)} architectures of {self.space.name} here has {limits}")
        return members

    @cached_property
    def _member_set(self) -> set[Arch]:
        return set(map(tuple, self._members.tolist())) if self._members is not None else set()

    def feasible(self, archs: Archs) -> Bools:
        """Which rows are valid and satisfy the cheap constraints.

        Args:
            archs: one architecture per row.

        Returns:
            True or False per row.
        """
        if self._members is not None:
            return np.array([tuple(a) in self._member_set for a in archs.tolist()], dtype=bool)
        good = np.ones(len(archs), dtype=bool)
        if (
            type(self.space)._invalid_reason is not Space._invalid_reason
        ):  # validity needs more than the ranges of the choices
            good = np.array([not self.space._invalid_reason(tuple(a)) for a in archs.tolist()], dtype=bool)
        good[good] = self._affordable(archs[good])
        return good

    def _affordable(self, archs: Archs) -> Bools:
        good = np.ones(len(archs), dtype=bool)
        for c in self.cheap:
            short = replace(c, name=c.name.removeprefix("cost/"))
            good[good] = inside(self.space, archs[good], short, self.layer_cost)
        return good

    def sample(self, rng: np.random.Generator, n: int) -> Archs:
        """Architectures drawn uniformly from those that satisfy the cheap constraints.

        Args:
            rng: of the draws.
            n: how many.

        Returns:
            One architecture per row.
        """
        if self._members is not None:
            return self._members[rng.integers(len(self._members), size=n)]
        return self._sampler.sample(rng, n)[0]

    def verdict(self, metrics: Metrics) -> tuple[str, str]:
        """The status of a record, by the constraints in the order given, cheap ones first.

        Args:
            metrics: the record of one architecture.

        Returns:
            (status, reason); the reason of `ok` is empty.
        """
        for name in (*(o.name for o in self.objectives), *(c.name for c in self.constraints)):
            if not isfinite(metrics.get(name, float("nan"))):
                return "failed", f"{name} is not a finite number"
        for c in sorted(self.constraints, key=lambda c: c not in self.cheap):
            if not c.holds(metrics[c.name]):
                return "infeasible", f"{c} does not hold"
        return "ok", ""

    def points(self, trials: Iterable[Trial]) -> pareto.Points:
        """Objectives of the trials, all to be minimised.

        Args:
            trials: any trials.

        Returns:
            One row per trial, one column per objective.
        """
        return pareto.points([t.metrics for t in trials], self.objectives)

    def best_first(self, trials: Sequence[Trial]) -> list[Trial]:
        """Trials from best to worst: one objective by value, several by Pareto order.

        Args:
            trials: any trials.

        Returns:
            The same trials in order.
        """
        return [trials[i] for i in pareto.best_first(self.points(trials))]

    def better(self, a: Trial, b: Trial) -> bool:
        """Whether one trial beats another; with several objectives, dominates it.

        Args:
            a: a trial that has to satisfy all constraints.
            b: the trial to beat.

        Returns:
            True if `a` is better.
        """
        if not (a.ok and b.ok):
            return a.ok and not b.ok
        left, right = self.points([a, b])
        return bool((left <= right).all() and (left < right).any())


def fill(
    task: SearchProblem, n: int, seen: set[Arch], propose: Callable[[int], Archs], patience: int = 100
) -> list[Arch]:
    """New feasible architectures from repeated proposals.

    Args:
        task: the space and its constraints.
        n: how many are needed.
        seen: networks that do not count as new; the result is added.
        propose: makes so many architectures.
        patience: calls of `propose` before giving up.

    Returns:
        At most `n` architectures, no network twice.
    """
    fresh: list[Arch] = []
    for attempt in range(patience):
        if len(fresh) == n:
            break
        candidates = propose((n - len(fresh)) * (4 if attempt else 1))  # what is left over is hard to come by
        for arch in map(tuple, candidates[task.feasible(candidates)].tolist()):
            network = task.space.canonical(arch)
            if network not in seen and len(fresh) < n:
                seen.add(network)
                fresh.append(arch)
    return fresh
