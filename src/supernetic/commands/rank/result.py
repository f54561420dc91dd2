"""The result of `rank`: correlations for people and for programs."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from math import isfinite
from typing import Any

from ...ranking.correlation import Interval
from ...ranking.top_n import Group, Usage
from ...ranking.trust import Outcome
from ...result import Result


@dataclass(frozen=True)
class Against:
    """How much more of tau the score has than another one of the same networks, with 95 % intervals."""

    score: str
    more: float
    interval: Interval
    more_top10pct: float
    interval_top10pct: Interval

    def to_json(self) -> dict[str, Any]:
        """A record."""
        return dataclasses.asdict(self)

    def line(self) -> str:
        """A sentence for people."""
        low, high = self.interval
        verdict = "better" if low > 0 else "worse" if high < 0 else "not significant"
        return (
            f"  against      {self.score}: {verdict}, tau {_number(self.more)} {_range(self.interval)}; "
            f"in top 10 % {_number(self.more_top10pct)} {_range(self.interval_top10pct)}"
        )


@dataclass(frozen=True)
class RankResult(Result):
    """Correlations of `score` with `truth` over `n` networks, and what choosing by the score would cost."""

    space: str
    without: tuple[str, ...]  # masked operations
    score: str
    truth: str
    truth_about: str  # data set, split, schedule and seed of the truth
    truth_split: str
    counts: str  # what an item is: "encodings" or "networks"
    sampled: str  # which of them were taken; empty for all
    n: int
    tau: float  # tau-a: tied pairs count for neither side
    interval: Interval  # 95 %, of tau
    tau_scalenet: float
    tau_b: float
    spearman: float
    pearson: float
    weighted_tau: float
    top_n: tuple[Group, ...]
    random: Group
    tau_a: float  # as in "Single-path ranking correlations": tau of the mean score over N
    top10pct: Group
    regret: dict[int, Outcome]  # by the number of networks that would be trained
    top1pct: Outcome
    usage: tuple[Usage, ...]
    warnings: tuple[str, ...]
    against: Against | None = None

    def to_json(self) -> dict[str, Any]:
        """Plain records; what is undefined is null."""
        record = {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}
        record["tau_top10pct"] = self.top10pct.tau
        cleaned: dict[str, Any] = _plain(record)
        return cleaned

    def lines(self) -> list[str]:
        """A summary for people."""
        about = f" ({self.truth_about})" if self.truth_about else ""
        masked = f" without {', '.join(self.without)}" if self.without else ""
        return [
            f"{self.score} against {self.truth}{about}",
            f"on {self.space}{masked}, {self.n:,} {self.counts}" + (f" ({self.sampled})" if self.sampled else ""),
            "",
            f"  tau          {_number(self.tau)}  {_range(self.interval)}  tau-a (ties count for neither side)",
            f"  in top 10 %  {_number(self.top10pct.tau)}  {_range(self.top10pct.interval)}  n {self.top10pct.n}",
            f"  tau-b        {_number(self.tau_b)}",
            f"  ScaleNet     {_number(self.tau_scalenet)}  ties discordant, absolute value",
            f"  weighted     {_number(self.weighted_tau)}  pairs weighted by 1/rank",
            f"  Spearman     {_number(self.spearman)}",
            f"  Pearson      {_number(self.pearson)}",
            "",
            "  top N        tau     95 % interval     mean score",
            *(_row(f"{g.n}", g) for g in self.top_n),
            _row(f"random {self.random.n}", self.random),
            f"  trend        {_number(self.tau_a)}  tau of the mean score over N; -1 is ideal",
            "",
            *self._choosing(),
            *([self.against.line()] if self.against else []),
            *(f"  note: {w}" for w in self.warnings),
        ]

    def _choosing(self) -> list[str]:
        """What a user of the score gets."""
        top = self.top1pct
        if not top.n:
            return []
        low, high = top.interval
        losses = ", ".join(f"{r.mean:.3g} with {k} trained" for k, r in self.regret.items())
        return [
            f"  regret       {losses}, choosing by score among {top.pool} random ones",
            f"  top pick     is in their true top 1 % with probability {top.mean:.2f} [{low:.2f}, {high:.2f}]",
        ]


def _plain(value: Any) -> Any:
    """JSON types only; non-finite numbers become null."""
    if hasattr(value, "to_json"):
        return _plain(value.to_json())
    if isinstance(value, dict):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(v) for v in value]
    return None if isinstance(value, float) and not isfinite(value) else value


def _number(value: float) -> str:
    return f"{value:+.3f}" if isfinite(value) else "undefined"


def _range(interval: Interval) -> str:
    return f"[{interval[0]:+.3f}, {interval[1]:+.3f}]" if isfinite(interval[0]) else ""


def _row(label: str, g: Group) -> str:
    return f"  {label:<13}{_number(g.tau):<8}{_range(g.interval):<18}{g.mean_score:.6g}"
