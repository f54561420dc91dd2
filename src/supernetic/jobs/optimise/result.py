"""The result of `optimise`."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite
from typing import Any

from ...result import Result
from ...searchers import Trial
from ...text import columns
from ...trials import Axes, Trials

STATUSES = ("ok", "infeasible", "failed")
SHOWN_FAILURES = 3  # reasons in a summary for people


@dataclass(frozen=True)
class OptimiseResult(Result):
    """All evaluations of a function, and the front among them."""

    run: str  # the run directory
    space: str
    searcher: dict[str, Any]
    objectives: tuple[str, ...]
    where: tuple[str, ...]
    seed: int
    trials: Trials  # in the order of evaluation

    @property
    def front(self) -> Trials:
        """The trials that no other one dominates, the cheapest first."""
        return self.trials.front

    @property
    def best(self) -> Trial | None:
        """The best trial by the first objective; None if none keeps all constraints."""
        return self.trials.best

    def counts(self) -> dict[str, int]:
        """How many trials were ok, infeasible and failed.

        Returns:
            Counts by status.
        """
        statuses = [trial.status for trial in self.trials]
        return {status: statuses.count(status) for status in STATUSES}

    def lines(self) -> list[str]:
        """A summary for people; the best is starred."""
        limits = f" where {' and '.join(self.where)}" if self.where else ""
        counts = self.counts()
        others = "".join(f", {counts[s]} {s}" for s in STATUSES[1:] if counts[s])
        names = self.trials.metrics
        rows = [
            ["*" if trial == self.best else "", *(_shown(n, trial.metrics.get(n)) for n in names), self._name(trial)]
            for trial in self.front
        ]
        reasons = dict.fromkeys(trial.reason for trial in self.trials if trial.status == "failed")
        return [
            f"{self.space}: {', '.join(self.objectives)}{limits}",
            f"{len(self.trials):,} evaluations by {self.searcher['name']}{others}: a front of {len(self.front)}",
            "",
            *columns([["", *(n.rpartition("/")[2] for n in names), "architecture"], *rows]),
            "",
            *(f"failed: {reason}" for reason in list(reasons)[:SHOWN_FAILURES]),
            f"* the best {self.objectives[0].partition(' ')[2]}; everything is in {self.run}",
        ]

    def to_json(self) -> dict[str, Any]:
        """Plain records; all trials are in the run's `trials.jsonl`."""
        best = self.best
        return {
            "run": self.run,
            "space": self.space,
            "searcher": {k: list(v) if isinstance(v, tuple) else v for k, v in self.searcher.items()},
            "objectives": list(self.objectives),
            "where": list(self.where),
            "seed": self.seed,
            "evaluations": len(self.trials),
            "trials": self.counts(),
            "front": [self._record(trial) for trial in self.front],
            "best": None if best is None else self._record(best),
        }

    def plot(self, x: str | None = None, y: str | None = None, ax: Axes | None = None) -> Axes:
        """Draw all trials and their front; needs matplotlib.

        Args:
            x: metric of the horizontal axis; by default the cost that was searched for.
            y: metric of the vertical axis; by default the first objective that is another.
            ax: axes of matplotlib to draw on; by default new ones.

        Returns:
            The axes.
        """
        return self.trials.plot(x, y, ax)

    def _name(self, trial: Trial) -> str:
        return self.trials.name_of(trial)

    def _record(self, trial: Trial) -> dict[str, Any]:
        return {"arch": list(trial.arch), "name": self._name(trial), "metrics": trial.to_json()["metrics"]}


def _shown(name: str, value: float | None) -> str:
    if value is None or not isfinite(value):
        return "-"
    return f"{value:,.0f}" if name.startswith("cost/") else f"{value:.6g}"
