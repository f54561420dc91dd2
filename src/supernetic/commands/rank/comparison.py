"""What `rank` compares with what, over which networks, and the statistics of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import ceil
from typing import Any

import numpy as np

from ...benchmarks import Table
from ...benchmarks.table import Floats, Ints
from ...errors import InputError
from ...progress import OnEvent
from ...ranking.correlation import Interval, Pairs, count_pairs, pearson, spearman, tau_difference, weighted_tau
from ...ranking.top_n import (
    Group,
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
from .parsing import ScoreParser
from .result import Against, RankResult
from .scores import ALL, SampleSize, Score

FEW_NETWORKS = 30  # below which a correlation says little


@dataclass(frozen=True)
class Comparison:
    """What is compared with what."""

    truth: Score
    score: Score
    against: Score | None

    @classmethod
    def parse(cls, parser: ScoreParser, truth: Any, score: Any, against: Any) -> Comparison:
        """From what the caller gives; an empty text in `against` is none."""
        is_alone = against is None or (isinstance(against, str) and not against)
        return cls(
            parser.parse_truth(truth),
            parser.parse(score),
            None if is_alone else parser.parse(against, "other score"),
        )

    @property
    def parts(self) -> tuple[Score, ...]:
        """All single scores but the truth."""
        return (*self.score.parts, *(self.against.parts if self.against else ()))

    @property
    def usual_sample(self) -> SampleSize:
        """That of the slowest score."""
        return min((p.usual_sample for p in self.parts if p.usual_sample != ALL), default=ALL)

    def with_known_numbers(self, table: Table) -> Table:
        """The table with the truth and with those scores that need not be measured, and no other columns."""
        rows = np.arange(len(table))
        scores = {s.name: s for s in (self.truth, *self.parts) if s is self.truth or not s.is_measured}
        return replace(table, columns={name: s.ask(table, rows).column for name, s in scores.items()})

    def with_measured_numbers(self, table: Table, rows: Ints, on_event: OnEvent) -> tuple[Table, list[str]]:
        """The table with all scores, those that are measured on some rows only; and remarks."""
        columns = dict(table.columns)
        remarks: list[str] = []
        for score in self.parts:
            if score.name not in columns and len(rows):
                answers = score.ask(table, rows, on_event)
                values = np.full(len(table), np.nan)
                values[rows] = answers.column.values
                columns[score.name] = replace(answers.column, values=values)
                remarks += answers.remarks
        return replace(table, columns=columns), remarks

    def __str__(self) -> str:
        return " and ".join(s.name for s in (self.score, self.against, self.truth) if s)


# --- which networks ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Sample:
    """Rows of a table that are compared.

    Args:
        random: Rows drawn from all that could be.
        best: Rows drawn from the truly best tenth besides; none if all rows are taken.
        drawn: How many random rows were drawn; some of them may have got no number since.
        population: How many rows they were drawn from.
    """

    random: Ints
    best: Ints
    drawn: int
    population: int

    @property
    def rows(self) -> Ints:
        """All rows, each once."""
        return np.unique(np.concatenate([self.random, self.best]))

    def keep(self, rows: Ints) -> Sample:
        """The sample without rows that are not among these."""
        return replace(self, random=self.random[np.isin(self.random, rows)], best=self.best[np.isin(self.best, rows)])

    def __str__(self) -> str:
        drawn = f"drawn from {self.population:,}" if self.drawn < self.population else ""
        return drawn + (f", and {len(self.best)} of their top 10 %" if len(self.best) else "")


def sample_size(usual: SampleSize, random: int | None, top: int | None) -> SampleSize:
    """The given sizes, or the usual ones."""
    for name, value in (("sample", random), ("sample_top", top)):
        if value is not None and value < 0:
            raise InputError(f"{name} must not be negative, got {value}")
    return SampleSize(usual.random if random is None else random, usual.top if top is None else top)


def draw(truth: Floats, rows: Ints, size: SampleSize, rng: np.random.Generator) -> Sample:
    """Draw rows at random, and from the truly best tenth.

    Args:
        truth: The truth of every row.
        rows: Rows that may be drawn.
        size: How many; all, if 0 or more than there are.
        rng: Random numbers.

    Returns:
        The rows, in ascending order.
    """
    if not 0 < size.random < len(rows):
        return Sample(rows, rows[:0], len(rows), len(rows))
    random = np.sort(rng.permutation(rows)[: size.random])
    first = len(rows) - ceil(len(rows) / 10)
    best = rows[np.argsort(truth[rows], kind="stable")[first:]]
    return Sample(random, np.sort(rng.permutation(best)[: size.top]), len(random), len(rows))


def complete_rows(table: Table) -> Ints:
    """Rows that have all numbers."""
    return np.flatnonzero(np.isfinite([c.values for c in table.columns.values()]).all(axis=0))


# --- statistics -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Ranking:
    """The numbers that answer a comparison: networks with all scores, and which of them are compared."""

    comparison: Comparison
    networks: Table
    sample: Sample
    counts: str  # what a row is: "encodings" or "networks"

    def result(self, top: Sequence[int], seed: int, remarks: Sequence[str] = ()) -> RankResult:
        """All statistics.

        Args:
            top: Sizes of the top-N groups.
            seed: Of the random groups.
            remarks: What scores have to say of themselves.

        Returns:
            The result of the whole job.
        """
        rng = np.random.default_rng(seed)
        rows = self.sample.random
        x, y = self._score(rows), self._truth(rows)
        pairs = count_pairs(x, y)
        groups = top_groups(x, y, top)
        truth = self.networks[self.comparison.truth.name]
        return RankResult(
            space=self.networks.space.name,
            without=getattr(self.networks.space, "without", ()),
            score=self.comparison.score.name,
            truth=self.comparison.truth.name,
            truth_about=str(truth),
            truth_split=truth.split,
            counts=self.counts,
            sampled=str(self.sample),
            n=pairs.n,
            tau=pairs.tau(),
            interval=pairs.interval(),
            tau_scalenet=pairs.tau_scalenet(),
            tau_b=pairs.tau_b(),
            spearman=spearman(x, y),
            pearson=pearson(x, y),
            weighted_tau=weighted_tau(x, y, pairs),
            top_n=tuple(groups),
            random=random_group(x, y, rng),
            tau_a=tau_a(groups),
            top10pct=self._top_tenth(x, y),
            regret={k: regret(x, y, rng, k) for k in (1, 10)},
            top1pct=top_pick(x, y, rng),
            usage=_usages(self.networks.take(rows), y, [g.n for g in groups]),
            warnings=(*self._doubts(), *remarks, *self._warnings(pairs)),
            against=self._against(self.comparison.against) if self.comparison.against else None,
        )

    def _score(self, rows: Ints) -> Floats:
        return self.comparison.score.values(self.networks, rows)

    def _truth(self, rows: Ints) -> Floats:
        return self.comparison.truth.values(self.networks, rows)

    def _top_tenth(self, score: Floats, truth: Floats) -> Group:
        """Of the best that were drawn as such; else of the best of the random ones, whose numbers are given."""
        best = self.sample.best
        if not len(best):
            return top_share(score, truth, 0.1)
        return group(self._score(best), self._truth(best), np.arange(len(best)))

    def _doubts(self) -> Iterator[str]:
        """What a reader must know of the scores."""
        for score in self.comparison.parts:
            if score.name == self.comparison.truth.name:
                yield f"{score.name} is both score and truth"
            elif self.networks[score.name].is_test:
                yield f"the score {score.name} holds test data: good for a study, not for a search"

    def _warnings(self, pairs: Pairs) -> Iterator[str]:
        sample, n = self.sample, len(self.networks)
        left_out = n - sample.population + sample.drawn - len(sample.random)
        if left_out:
            yield f"{left_out} of {n} architectures lack a number and are left out"
        low, high = pairs.interval()
        if not (low > 0 or high < 0):
            yield "no correlation is shown: the interval of tau includes 0"
        if pairs.n < FEW_NETWORKS:
            yield f"only {pairs.n} networks: the intervals are rough"

    def _against(self, other: Score) -> Against:
        """The taus of two scores, over random rows and over the best: drawn as such, or the best of the random."""
        random, best = self.sample.random, self.sample.best
        scores = [self._score(random), other.values(self.networks, random), self._truth(random)]
        more = _tau_difference(*scores)
        if len(best):
            scores = [self._score(best), other.values(self.networks, best), self._truth(best)]
        else:
            rows = top_rows(scores[2], 0.1)
            scores = [values[rows] for values in scores]
        return Against(other.name, *more, *_tau_difference(*scores))


def _tau_difference(score: Floats, other: Floats, truth: Floats) -> tuple[float, Interval]:
    """How much more of tau a score has than another one."""
    return tau_difference(count_pairs(score, truth), count_pairs(other, truth))


def _usages(table: Table, truth: Floats, sizes: Sequence[int]) -> tuple[Usage, ...]:
    """Operations of the top-N, for spaces whose choices all have the same options."""
    options = {c.options for c in table.space.choices}
    if len(options) > 1:
        return ()
    order = best_first(truth)
    return tuple(usage(table.archs[order[:n]], [str(o) for o in table.space.choices[0].options]) for n in sizes)
