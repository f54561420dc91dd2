"""`rank`: how well a score orders architectures, against the truth in a benchmark table."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np

from .. import catalog
from ..benchmarks import Column, Table
from ..benchmarks.own import read
from ..benchmarks.table import ABSENT, Floats
from ..costs import METRICS, costs_of
from ..errors import InputError, TableError, UnknownNameError
from ..ranking.correlation import Interval, count_pairs, pearson, spearman, weighted_tau
from ..ranking.top_n import SIZES, Group, Usage, best_first, random_group, tau_a, top_groups, top_share, usage
from ..ranking.trust import Outcome, mean_rank, regret, top_pick
from ..space import Space

COMBINE = "+"
FEW = 30  # networks below which a correlation says little
_FILE = re.compile(r"(.+\.(?:csv|npz))(?::([\w./ -]+))?")


@dataclass(frozen=True)
class RankResult:
    """Correlations of `score` with `truth` over `n` networks, and what choosing by the score would cost."""

    space: str
    without: tuple[str, ...]  # masked operations
    score: str
    truth: str
    truth_about: str  # data set, split, schedule and seed of the truth
    truth_split: str
    counts: str  # what an item is: "encodings" or "networks"
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

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def lines(self) -> list[str]:
        """A summary for people."""
        about = f" ({self.truth_about})" if self.truth_about else ""
        masked = f" without {', '.join(self.without)}" if self.without else ""
        return [
            f"{self.score} against {self.truth}{about}",
            f"on {self.space}{masked}, {self.n:,} {self.counts}",
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
    seed: int = 0,
) -> RankResult:
    """Correlate a score with the truth over all architectures of a table that have both.

    A score is a column, a cost (`macs`, `params`, `peak`: the raw number, more counts as better), a file
    (`mine.csv`, or `mine.csv:column`), or several of these joined by `+` and combined by mean rank. `without` masks
    operations. `unique` counts networks instead of encodings; by default where the space says which encodings coincide.
    """
    if not top or min(top) < 2:
        raise InputError(f"top-N sizes must be at least 2, got {', '.join(map(str, top)) or 'none'}")
    full = _table(catalog.space(space), table)
    names = [score] if _FILE.fullmatch(score) and Path(score).is_file() else score.split(COMBINE)
    columns = {str(i): _column(full, name.strip()) for i, name in enumerate((truth, *names))}
    chosen = dataclasses.replace(full, columns=columns).restrict(without)
    merge = chosen.counts_networks if unique is None else unique
    chosen = chosen.unique() if merge else chosen
    known = np.flatnonzero(np.isfinite([c.values for c in chosen.columns.values()]).all(axis=0))
    warnings = list(_doubts(columns, truth, names, len(chosen) - len(known), len(chosen)))
    if len(known) < 2:
        raise InputError(f"a ranking needs two architectures with both {score} and {truth}, got {len(known)}")
    chosen = chosen.take(known)
    y, *parts = (chosen[c].values for c in columns)
    x = parts[0] if len(parts) == 1 else mean_rank(parts)
    return _measure(chosen, x, y, score, truth, "networks" if merge else "encodings", top, seed, warnings)


def _measure(
    table: Table, x: Floats, y: Floats, score: str, truth: str, counts: str, top: Sequence[int], seed: int,
    warnings: list[str],
) -> RankResult:  # fmt: skip
    rng = np.random.default_rng(seed)
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


# --- where numbers come from ------------------------------------------------------------------------------------------


def _table(space: Space, table: str | Path | Table | None) -> Table:
    """The table given, or the one that is bundled with the space."""
    if isinstance(table, Table):
        return table
    if table is None and space.name not in catalog.TABLES:
        raise TableError(f"no table of {space.name} is bundled (there are {', '.join(catalog.TABLES)}): give a file")
    return catalog.table(table or space.name, space)


def _column(table: Table, name: str) -> Column:
    """A score or truth for every row of the table, by name."""
    short = name.removeprefix("table/").removeprefix("cost/")
    if short in table.columns:
        return table[short]
    if short in METRICS:
        return Column(costs_of(table.space, table.archs, short).astype(np.float64), unit=short)
    if match := _FILE.fullmatch(name):
        return _from_file(table, *match.groups())
    raise UnknownNameError("score", name, [*table.columns, *METRICS])


def _from_file(table: Table, path: str, column: str | None) -> Column:
    other = read(path, table.space)
    if column is None and len(other.columns) > 1:
        names = ", ".join(other.columns)
        raise InputError(f"{path} has several columns: say which as {path}:COLUMN, one of {names}")
    source = other[column or next(iter(other.columns))]
    rows = other.find(table.archs)
    values = np.where(rows == ABSENT, np.nan, source.values[rows])
    return dataclasses.replace(source, values=values)


def _doubts(columns: dict[str, Column], truth: str, names: Sequence[str], left_out: int, total: int) -> Sequence[str]:
    doubts = []
    for name, column in zip(names, list(columns.values())[1:], strict=True):
        if name == truth:
            doubts.append(f"{name} is both score and truth")
        elif column.is_test:
            doubts.append(f"the score {name} holds test data: good for a study, not for a search")
    if left_out:
        doubts.append(f"{left_out} of {total} architectures lack a number and are left out")
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
