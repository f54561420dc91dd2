"""The tables of a study as CSV: every number, means over seeds, claims."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from ..text import csv_text, number
from .claims import Verdict
from .seed_spread import Spread


def measures_csv(rows: Iterable[tuple[str, int | str, Mapping[str, float]]]) -> str:
    """variant, seed, metric, value: one line per number; what all seeds give together has `all` for a seed."""
    lines = ((variant, seed, metric, number(v)) for variant, seed, values in rows for metric, v in values.items())
    return csv_text(("variant", "seed", "metric", "value"), lines)


def summary_csv(summary: Mapping[str, Mapping[str, Spread]]) -> str:
    """variant, metric, seeds, mean, sd, low, high."""
    lines = (
        (variant, metric, s.n, *map(number, (s.mean, s.sd, s.low, s.high)))
        for variant, metrics in summary.items()
        for metric, s in metrics.items()
    )
    return csv_text(("variant", "metric", "seeds", "mean", "sd", "low", "high"), lines)


def claims_csv(verdicts: Sequence[Verdict]) -> str:
    """One line per claim."""
    head = ("claim", "verdict", "metric", "variant", "relation", "other", "difference", "low", "high", "seeds")
    lines = (
        (c.text, v.verdict, c.metric, c.variant, c.relation, c.other, *map(number, (v.value, v.low, v.high)), v.n)
        for v in verdicts
        for c in [v.claim]
    )
    return csv_text(head, lines)
