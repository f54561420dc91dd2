"""The tables of a study as CSV: all numbers, means over seeds, verdicts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from ..text import csv_text, number
from .claims import Verdict
from .seed_spread import Spread


def measures_csv(rows: Iterable[tuple[str, int | str, Mapping[str, float]]]) -> str:
    """The columns variant, seed, metric, value: one line per number.

    Args:
        rows: Variant, seed (or `all` for numbers of all seeds together) and values by metric.

    Returns:
        The table as text.
    """
    lines = ((variant, seed, metric, number(v)) for variant, seed, values in rows for metric, v in values.items())
    return csv_text(("variant", "seed", "metric", "value"), lines)


def summary_csv(summary: Mapping[str, Mapping[str, Spread]]) -> str:
    """The columns variant, metric, seeds, mean, sd, low, high: one line per variant and metric."""
    lines = (
        (variant, metric, s.n, *map(number, (s.mean, s.sd, s.low, s.high)))
        for variant, metrics in summary.items()
        for metric, s in metrics.items()
    )
    return csv_text(("variant", "metric", "seeds", "mean", "sd", "low", "high"), lines)


def claims_csv(verdicts: Sequence[Verdict]) -> str:
    """One line per claim, with its verdict and numbers."""
    head = ("claim", "verdict", "metric", "variant", "relation", "other", "difference", "low", "high", "seeds")
    lines = (
        (c.text, v.verdict, c.metric, c.variant, c.relation, c.other, *map(number, (v.value, v.low, v.high)), v.n)
        for v in verdicts
        for c in [v.claim]
    )
    return csv_text(head, lines)
