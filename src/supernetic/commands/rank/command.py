"""`rank`: how well a score orders architectures, against the truth in a benchmark table."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from math import ceil
from pathlib import Path

import numpy as np

from ... import catalog
from ...benchmarks import Column, Table
from ...benchmarks.table import Floats, Ints
from ...errors import InputError, UnknownNameError
from ...jobs.train.score import Report
from ...ranking.combine import KINDS as VOTES
from ...ranking.combine import vote as combine
from ...ranking.correlation import count_pairs, pearson, spearman, tau_difference, weighted_tau
from ...ranking.top_n import (
    SIZES,
    Usage,
    best_first,
    group,
    random_group,
    tau_a,
    top_groups,
    top_rows,
    top_share,
    usage,
)
from ...ranking.trust import regret, top_pick
from ...runs.trust import opens_runs
from ...space import Space
from .proxies import is_proxy, scored_by_proxies
from .result import Against, RankResult
from .scores import column_of, find_runs, find_table, scored, split_scores
from .subset_training import is_subset_training, scored_by_subset_training

QUICK, SLOW, TRAINED = (0, 0), (1000, 300), (20, 0)  # networks that are scored, at random (0: all) and of the top 10 %
Score = Callable[[Ints], Floats]  # of some rows of a table

FEW = 30  # networks below which a correlation says little


@opens_runs
def rank(
    space: str | Space = "nasbench201",
    *,
    score: str,
    truth: str,
    against: str = "",
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
    trust_code: bool = False,
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

    `against` is another score, to be beaten: the taus are compared over the same networks, with an interval of their
    difference. `without` masks operations. `unique` counts networks instead of encodings; by default where the space
    says which encodings coincide.

    `sample` takes that many at random (0: all; by default all, but 1,000 for supernets and votes, 20 for trainings) and
    `sample_top` that many more of the true top 10 % (300 for supernets and votes), on which the correlation in the top
    10 % is then measured. `bn` says where a supernet's BN statistics come from. A run whose space is code needs
    `trust_code`, unless `space` is that very code.
    """
    if not top or min(top) < 2:
        raise InputError(f"top-N sizes must be at least 2, got {', '.join(map(str, top)) or 'none'}")
    if vote not in VOTES:
        raise UnknownNameError("way to vote", vote, VOTES)
    full = find_table(catalog.space(space), table)
    if workers < 1:
        raise InputError(f"there must be a worker, got workers={workers}")
    if find_runs(truth) or (truth not in full.columns and (is_proxy(truth) or is_subset_training(truth))):
        raise InputError(f"the truth is a column of a table, not a supernet's score, a vote or a ladder; got {truth}")
    own = split_scores(score)
    names = [*own, *(split_scores(against) if against else ())]
    columns = {str(i): column_of(full, name) for i, name in enumerate((truth, *names))}
    chosen = dataclasses.replace(full, columns=columns).restrict(without)
    merge = chosen.counts_networks if unique is None else unique
    chosen = chosen.unique() if merge else chosen
    known = _complete(chosen)
    doubts = list(_doubts(columns, truth, names))
    asked = {str(i): name for i, name in enumerate(names, 1) if name not in full.columns}
    votes, ladders = ({i: n for i, n in asked.items() if kind(n)} for kind in (is_proxy, is_subset_training))
    usual = TRAINED if ladders else SLOW if votes or any(map(find_runs, names)) else QUICK
    sizes = usual[0] if sample is None else sample, usual[1] if sample_top is None else sample_top
    drawn = _draw(chosen, known, *sizes, np.random.default_rng([seed, 1]))
    rows = np.unique(np.concatenate(drawn))
    chosen, remarks = scored(chosen, names, rows, bn, progress)
    if votes:
        chosen, more = scored_by_proxies(chosen, rows, votes, data, seed, progress)
        remarks += more
    if ladders:
        chosen, more = scored_by_subset_training(chosen, rows, ladders, data, seed, workers, progress)
        remarks += more
    random, best = (rows[np.isin(rows, _complete(chosen))] for rows in drawn)
    if len(random) < 2:
        both = " and ".join(filter(None, (score, against, truth)))
        raise InputError(f"a ranking needs two architectures with {both}, got {len(random)}")
    doubts += remarks
    left_out = len(chosen) - len(known) + len(drawn[0]) - len(random)
    if left_out:
        doubts.append(f"{left_out} of {len(chosen)} architectures lack a number and are left out")
    counts = "networks" if merge else "encodings"
    sampled = f"drawn from {len(known):,}" if len(drawn[0]) < len(known) else ""
    sampled += f", and {len(best)} of their top 10 %" if len(best) else ""
    mine, theirs = (_combined(chosen, some, vote == "log-rank") for some in _halves(len(own), len(names)))
    y = chosen.columns["0"].values
    result = _measure(chosen.take(random), mine(random), score, truth, counts, sampled, top, seed, doubts)
    if len(best):
        result = dataclasses.replace(result, top10pct=group(mine(best), y[best], np.arange(len(best))))
    if against:
        result = dataclasses.replace(result, against=_against(against, mine, theirs, y, random, best))
    return result


def _against(name: str, mine: Score, theirs: Score, truth: Floats, random: Ints, best: Ints) -> Against:
    """The taus of two scores compared, over random rows and over the best: drawn as such, or the best of the random."""
    x, z, y = mine(random), theirs(random), truth[random]
    more = tau_difference(count_pairs(x, y), count_pairs(z, y))
    if len(best):
        x, z, y = mine(best), theirs(best), truth[best]
    else:
        x, z, y = (values[top_rows(y, 0.1)] for values in (x, z, y))
    return Against(name, *more, *tau_difference(count_pairs(x, y), count_pairs(z, y)))


def _complete(table: Table) -> Ints:
    """Rows that have all numbers."""
    return np.flatnonzero(np.isfinite([c.values for c in table.columns.values()]).all(axis=0))


def _halves(own: int, both: int) -> tuple[list[str], list[str]]:
    """The columns of the score, and of the one that it is held against."""
    names = [str(i) for i in range(1, both + 1)]
    return names[:own], names[own:]


def _combined(table: Table, names: Sequence[str], log: bool) -> Score:
    """A score over some rows, combined by (log-)rank among them if it has several columns."""

    def score(rows: Ints) -> Floats:
        parts = [table.columns[name].values[rows] for name in names]
        return parts[0] if len(parts) == 1 else combine(parts, log=log)

    return score


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
    x: Floats,
    score: str,
    truth: str,
    counts: str,
    sampled: str,
    top: Sequence[int],
    seed: int,
    warnings: list[str],
) -> RankResult:
    rng = np.random.default_rng(seed)
    y = table.columns["0"].values
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
