"""`rank`: how well a score orders architectures, against the truth in a benchmark table."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, isfinite
from pathlib import Path
from typing import Any

import numpy as np

from .. import catalog
from ..benchmarks import Column, Table
from ..benchmarks.own import read
from ..benchmarks.table import ABSENT, Floats, Ints
from ..costs import METRICS, costs_of
from ..errors import InputError, RunError, TableError, UnknownNameError
from ..objective import resolve
from ..ranking.correlation import Interval, count_pairs, pearson, spearman, weighted_tau
from ..ranking.top_n import SIZES, Group, Usage, best_first, group, random_group, tau_a, top_groups, top_share, usage
from ..ranking.trust import Outcome, regret, top_pick
from ..ranking.vote import KINDS as VOTES
from ..ranking.vote import vote as combine
from ..run import SETTINGS
from ..space import Space
from ..voters import VOTERS
from .score import Report, is_run
from .score import score as evaluate
from .told import Told
from .votes import is_vote, voted

COMBINE = "+"
SAMPLE, SAMPLE_TOP = 1000, 300  # networks that are scored where it takes time: random ones, and some of the top 10 %
FEW = 30  # networks below which a correlation says little
_FILE = re.compile(r"(.+\.(?:csv|npz))(?::([\w./ -]+))?")


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
    seed: int = 0,
    progress: Report | None = None,
) -> RankResult:
    """Correlate a score with the truth over all architectures of a table that have both.

    A score is a column, a cost (`macs`, `params`, `peak`: the raw number, more counts as better), a file
    (`mine.csv`, or `mine.csv:column`), the run directory of a trained supernet (`runs/mine`, or
    `runs/mine:valid/accuracy`; by default its cross-entropy, of which less is better), a training-free vote (`jacov`,
    `layers`, ...: see `voters`) on images of `data`, or several of these joined by `+` and combined as `vote` says, by
    "mean-rank" or "log-rank". `without` masks operations. `unique` counts networks instead of encodings; by default
    where the space says which encodings coincide.

    `sample` takes that many at random (0: all; by default all, but 1,000 for supernets and votes) and `sample_top` that
    many more of the true top 10 % (300 for those), on which the correlation in the top 10 % is then measured. `bn` says
    where a supernet's BN statistics come from.
    """
    if not top or min(top) < 2:
        raise InputError(f"top-N sizes must be at least 2, got {', '.join(map(str, top)) or 'none'}")
    if vote not in VOTES:
        raise UnknownNameError("way to vote", vote, VOTES)
    full = _table(catalog.space(space), table)
    if find_run(truth) or (is_vote(truth) and truth not in full.columns):
        raise InputError(f"the truth is a column of a table, not a supernet's score or a vote; got {truth}")
    names = _split(score)
    columns = {str(i): _column(full, name) for i, name in enumerate((truth, *names))}
    chosen = dataclasses.replace(full, columns=columns).restrict(without)
    merge = chosen.counts_networks if unique is None else unique
    chosen = chosen.unique() if merge else chosen
    known = _complete(chosen)
    doubts = list(_doubts(columns, truth, names))
    asked = {str(i): name for i, name in enumerate(names, 1) if is_vote(name) and name not in full.columns}
    slow = bool(asked) or any(map(find_run, names))
    drawn = _draw(chosen, known, sample, sample_top, slow, np.random.default_rng([seed, 1]))
    chosen, remarks = _scored(chosen, names, drawn, bn, progress)
    if asked:
        chosen, more = voted(chosen, np.unique(np.concatenate(drawn)), asked, data, seed, progress)
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


def _draw(
    table: Table, known: Ints, sample: int | None, sample_top: int | None, slow: bool, rng: np.random.Generator
) -> tuple[Ints, Ints]:
    """Rows drawn from all that are known, and rows drawn from the truly best tenth; none of the latter if all are."""
    for name, value in (("sample", sample), ("sample_top", sample_top)):
        if value is not None and value < 0:
            raise InputError(f"{name} must not be negative, got {value}")
    n = (SAMPLE if slow else 0) if sample is None else sample
    if not 0 < n < len(known):
        return known, known[:0]
    random = np.sort(rng.permutation(known)[:n])
    wanted = (SAMPLE_TOP if slow else 0) if sample_top is None else sample_top
    truth = table.columns["0"].values[known]
    tenth = known[np.argsort(truth, kind="stable")[len(known) - ceil(len(known) / 10) :]]
    return random, np.sort(rng.permutation(tenth)[:wanted])


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


# --- where numbers come from ------------------------------------------------------------------------------------------


def _table(space: Space, table: str | Path | Table | None) -> Table:
    """The table given, or the one that is bundled with the space."""
    if isinstance(table, Table):
        return table
    if table is None and space.name not in catalog.TABLES:
        raise TableError(f"no table of {space.name} is bundled (there are {', '.join(catalog.TABLES)}): give a file")
    return catalog.table(table or space.name, space)


def _split(score: str) -> list[str]:
    """The scores that are joined; a file or run whose own name holds a `+` is one."""
    file = _FILE.fullmatch(score)
    if (file and Path(file[1]).is_file()) or find_run(score):
        return [score]
    return [name.strip() for name in score.split(COMBINE)]


def find_run(name: str) -> tuple[str, str] | None:
    """(directory, metric or nothing) of `RUN` or `RUN:METRIC`."""
    path, _, metric = name.rpartition(":")
    return (name, "") if is_run(name) else (path, metric) if path and is_run(path) else None


def _column(table: Table, name: str) -> Column:
    """A score or truth for every row of the table, by name."""
    short = name.removeprefix("table/").removeprefix("cost/")
    if short in table.columns:
        return table[short]
    if short in METRICS:
        return Column(costs_of(table.space, table.archs, short).astype(np.float64), unit=short)
    if match := _FILE.fullmatch(name):
        return _from_file(table, *match.groups())
    if find_run(name) or is_vote(name):
        return Column(np.zeros(len(table)))  # until it is known which rows are wanted
    if name and Path(name).is_dir():
        raise RunError(f"{name} is not a run: it holds no {SETTINGS}")
    raise UnknownNameError("score", name, [*table.columns, *METRICS, *VOTERS])


def _from_file(table: Table, path: str, column: str | None) -> Column:
    other = read(path, table.space)
    if column is None and len(other.columns) > 1:
        names = ", ".join(other.columns)
        raise InputError(f"{path} has several columns: say which as {path}:COLUMN, one of {names}")
    source = other[column or next(iter(other.columns))]
    rows = other.find(table.archs)
    values = np.where(rows == ABSENT, np.nan, source.values[rows])
    return dataclasses.replace(source, values=values)


def _scored(
    table: Table, names: Sequence[str], drawn: tuple[Ints, Ints], bn: str, progress: Report | None
) -> tuple[Table, list[str]]:
    """The table with what supernets say about the rows that were drawn, more for better; and remarks."""
    rows, remarks = np.unique(np.concatenate(drawn)), []
    for i, name in enumerate(names, 1):
        if len(rows) and (found := find_run(name)):
            path, metric = found
            answers = evaluate(path, table.space, list(table.take(rows)), bn=bn, progress=progress)
            metric = resolve(metric, answers[0]) if metric else next(iter(answers[0]))
            sign = -1 if metric.endswith("cross_entropy") else 1
            values = np.full(len(table), np.nan)
            values[rows] = [sign * a[metric] for a in answers]
            columns = {**table.columns, str(i): Column(values, split=metric.partition("/")[0])}
            table = dataclasses.replace(table, columns=columns)
            remarks.append(f"{name} is {metric}" + (", less is better: its sign is turned" if sign < 0 else ""))
    return table, remarks


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
