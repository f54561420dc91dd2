"""`rank`: how well a score orders architectures, against the truth in a benchmark table."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, isfinite
from pathlib import Path
from typing import Any

import numpy as np

from .. import catalog
from ..benchmarks import Column, Table
from ..benchmarks.table import Floats, Ints
from ..errors import InputError, UnknownNameError
from ..ranking.correlation import Interval, count_pairs, pearson, spearman, weighted_tau
from ..ranking.top_n import SIZES, Group, Usage, best_first, group, random_group, tau_a, top_groups, top_share, usage
from ..ranking.trust import Outcome, regret, top_pick
from ..ranking.vote import KINDS as VOTES
from ..ranking.vote import vote as combine
from ..space import Space
from .columns import column_of, find_runs, find_table, scored, split_scores
from .ladder import is_ladder, laddered
from .score import Report
from .told import Told
from .votes import is_vote, voted

QUICK, SLOW, TRAINED = (0, 0), (1000, 300), (20, 0)  # networks that are scored, at random (0: all) and of the top 10 %
FEW = 30  # networks below which a correlation says little


@dataclass(frozen=True)
class RankResult(Told):
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
    tau: float  # paper 002's; tied pairs count for neither side
    interval: Interval  # 95 %, of tau
    tau_scalenet: float
    tau_b: float
    spearman: float
    pearson: float
    weighted_tau: float
    top_n: tuple[Group, ...]
    random: Group
    tau_a: float
    top10pct: Group
    regret: dict[int, Outcome]  # by the number of networks that would be trained
    top1pct: Outcome
    usage: tuple[Usage, ...]
    warnings: tuple[str, ...]

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
            f"  tau          {_number(self.tau)}  {_range(self.interval)}  paper 002: ties count for neither side",
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
            f"  tau_a        {_number(self.tau_a)}  of the mean score over N; -1 is ideal",
            "",
            *self._choosing(),
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


def rank(
    space: str | Space = "nasbench201",
    *,
    score: str,
    truth: str,
    table: str | Path | Table | None = None,
    without: Sequence[str] = (),
    unique: bool | None = None,
    top: Sequence[int] = SIZES,
    sample: int | None = None,
    sample_top: int | None = None,
    bn: str = "recalibrate",
    vote: str = VOTES[0],
    data: str | Path = "embedded",
    workers: int = 1,
    seed: int = 0,
    progress: Report | None = None,
) -> RankResult:
    """Correlate a score with the truth over all architectures of a table that have both.

    A score is one of these, or several joined by `+` and combined as `vote` says, by "mean-rank" or "log-rank":

    - a column, or a cost (`macs`, `params`, `peak`: the raw number, more counts as better);
    - a file, `mine.csv` or `mine.csv:column`;
    - the run of a trained supernet, `runs/mine`, by cross-entropy, of which less is better; or by another metric,
      `runs/mine:valid/accuracy`, `runs/mine:angle`;
    - the runs of a few-shot supernet, `runs/a,runs/b`: each network is scored by the one that has its option;
    - a training-free vote (`jacov`, `layers`, ...: see `voters`) on images of `data`;
    - a training on a subset of `data`, `ladder:size=500,seeds=2`, by calibrated cross-entropy on the valid split; so
      many `workers` at a time.

    `without` masks operations. `unique` counts networks instead of encodings; by default where the space says which
    encodings coincide. `sample` takes that many at random (0: all; by default all, but 1,000 for supernets and votes,
    20 for trainings) and `sample_top` that many more of the true top 10 % (300 for supernets and votes), on which the
    correlation in the top 10 % is then measured. `bn` says where a supernet's BN statistics come from.
    """
    if not top or min(top) < 2:
        raise InputError(f"top-N sizes must be at least 2, got {', '.join(map(str, top)) or 'none'}")
    if vote not in VOTES:
        raise UnknownNameError("way to vote", vote, VOTES)
    full = find_table(catalog.space(space), table)
    if workers < 1:
        raise InputError(f"there must be a worker, got workers={workers}")
    if find_runs(truth) or (truth not in full.columns and (is_vote(truth) or is_ladder(truth))):
        raise InputError(f"the truth is a column of a table, not a supernet's score, a vote or a ladder; got {truth}")
    names = split_scores(score)
    columns = {str(i): column_of(full, name) for i, name in enumerate((truth, *names))}
    chosen = dataclasses.replace(full, columns=columns).restrict(without)
    merge = chosen.counts_networks if unique is None else unique
    chosen = chosen.unique() if merge else chosen
    known = _complete(chosen)
    doubts = list(_doubts(columns, truth, names))
    asked = {str(i): name for i, name in enumerate(names, 1) if name not in full.columns}
    votes, ladders = ({i: n for i, n in asked.items() if kind(n)} for kind in (is_vote, is_ladder))
    usual = TRAINED if ladders else SLOW if votes or any(map(find_runs, names)) else QUICK
    sizes = usual[0] if sample is None else sample, usual[1] if sample_top is None else sample_top
    drawn = _draw(chosen, known, *sizes, np.random.default_rng([seed, 1]))
    rows = np.unique(np.concatenate(drawn))
    chosen, remarks = scored(chosen, names, rows, bn, progress)
    if votes:
        chosen, more = voted(chosen, rows, votes, data, seed, progress)
        remarks += more
    if ladders:
        chosen, more = laddered(chosen, rows, ladders, data, seed, workers, progress)
        remarks += more
    random, best = (rows[np.isin(rows, _complete(chosen))] for rows in drawn)
    if len(random) < 2:
        raise InputError(f"a ranking needs two architectures with both {score} and {truth}, got {len(random)}")
    doubts += remarks
    left_out = len(chosen) - len(known) + len(drawn[0]) - len(random)
    if left_out:
        doubts.append(f"{left_out} of {len(chosen)} architectures lack a number and are left out")
    counts = "networks" if merge else "encodings"
    sampled = f"drawn from {len(known):,}" if len(drawn[0]) < len(known) else ""
    sampled += f", and {len(best)} of their top 10 %" if len(best) else ""
    log = vote == "log-rank"
    result = _measure(chosen.take(random), score, truth, counts, sampled, top, seed, doubts, log)
    if not len(best):
        return result
    x, y = _score(chosen.take(best), log)
    return dataclasses.replace(result, top10pct=group(x, y, np.arange(len(best))))


def _complete(table: Table) -> Ints:
    """Rows that have all numbers."""
    return np.flatnonzero(np.isfinite([c.values for c in table.columns.values()]).all(axis=0))


def _score(table: Table, log: bool) -> tuple[Floats, Floats]:
    """(score, truth), the score combined by (log-)rank if there are several."""
    y, *parts = (c.values for c in table.columns.values())
    return parts[0] if len(parts) == 1 else combine(parts, log=log), y


def _draw(table: Table, known: Ints, n: int, top: int, rng: np.random.Generator) -> tuple[Ints, Ints]:
    """Rows drawn from all that are known, and rows drawn from the truly best tenth; none of the latter if all are."""
    for name, value in (("sample", n), ("sample_top", top)):
        if value < 0:
            raise InputError(f"{name} must not be negative, got {value}")
    if not 0 < n < len(known):
        return known, known[:0]
    random = np.sort(rng.permutation(known)[:n])
    truth = table.columns["0"].values[known]
    tenth = known[np.argsort(truth, kind="stable")[len(known) - ceil(len(known) / 10) :]]
    return random, np.sort(rng.permutation(tenth)[:top])


def _measure(
    table: Table,
    score: str,
    truth: str,
    counts: str,
    sampled: str,
    top: Sequence[int],
    seed: int,
    warnings: list[str],
    log: bool,
) -> RankResult:
    rng = np.random.default_rng(seed)
    x, y = _score(table, log)
    pairs = count_pairs(x, y)
    low, high = pairs.interval()
    if not (low > 0 or high < 0):
        warnings.append("no correlation is shown: the interval of tau includes 0")
    if pairs.n < FEW:
        warnings.append(f"only {pairs.n} networks: the intervals are rough")
    groups = top_groups(x, y, top)
    about = table.columns["0"]
    return RankResult(
        space=table.space.name,
        without=getattr(table.space, "without", ()),
        score=score,
        truth=truth,
        truth_about=str(about),
        truth_split=about.split,
        counts=counts,
        sampled=sampled,
        n=pairs.n,
        tau=pairs.tau(),
        interval=(low, high),
        tau_scalenet=pairs.tau_scalenet(),
        tau_b=pairs.tau_b(),
        spearman=spearman(x, y),
        pearson=pearson(x, y),
        weighted_tau=weighted_tau(x, y, pairs),
        top_n=tuple(groups),
        random=random_group(x, y, rng),
        tau_a=tau_a(groups),
        top10pct=top_share(x, y, 0.1),
        regret={k: regret(x, y, rng, k) for k in (1, 10)},
        top1pct=top_pick(x, y, rng),
        usage=_usages(table, y, [g.n for g in groups]),
        warnings=tuple(warnings),
    )


def _usages(table: Table, truth: Floats, sizes: Sequence[int]) -> tuple[Usage, ...]:
    """Operations of the top-N, for spaces whose choices all have the same options."""
    options = {c.options for c in table.space.choices}
    if len(options) > 1:
        return ()
    order = best_first(truth)
    return tuple(usage(table.archs[order[:n]], [str(o) for o in table.space.choices[0].options]) for n in sizes)


def _doubts(columns: dict[str, Column], truth: str, names: Sequence[str]) -> Sequence[str]:
    doubts = []
    for name, column in zip(names, list(columns.values())[1:], strict=True):
        if name == truth:
            doubts.append(f"{name} is both score and truth")
        elif column.is_test:
            doubts.append(f"the score {name} holds test data: good for a study, not for a search")
    return doubts


# --- output -----------------------------------------------------------------------------------------------------------


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
