"""The tables of a choice as CSV: every training, means over seeds, agreement of rankings, description lengths."""

from __future__ import annotations

from collections.abc import Sequence
from math import nan

from ...selection.agreement import Agreement
from ...selection.decision import BIT, Length
from ...selection.profiles import Profiles, interval
from ...selection.scores import METRICS
from ...text import csv_text, number
from .trainings import Outcome, SubsetTraining


def trainings_csv(subset_trainings: Sequence[SubsetTraining], outcomes: Sequence[Outcome]) -> str:
    """One line per training; nothing for the scores of one that diverged."""
    head = ("model", "images", "seed", "learning_rate", "batch_size", "temperature", *METRICS, "reason")
    lines = []
    for r, o in zip(subset_trainings, outcomes, strict=True):
        numbers = map(number, (o.temperature, *(o.metrics[m] for m in METRICS)))
        lines.append((r.model.name, r.size, r.seed, f"{r.recipe.lr:g}", r.recipe.batch_size, *numbers, o.reason))
    return csv_text(head, lines)


def profiles_csv(profiles: Profiles) -> str:
    """Means over seeds (in bits too, of what has nats), deviations between them, intervals over all, and places."""
    head = ("model", "images", "metric", "seeds", "mean", "sd", "low", "high", "bits", "place")
    lines = []
    for i, metric in enumerate(METRICS):
        places = profiles.means[i].argsort(axis=0).argsort(axis=0) + 1
        for m, model in enumerate(profiles.models):
            for k, size in enumerate(profiles.sizes):
                low, high = interval(profiles.draws[:, i, m, k])
                numbers = profiles.means[i, m, k], profiles.deviations[i, m, k], low, high
                bits = nan if metric == "error" else numbers[0] / BIT
                lines.append((model, size, metric, profiles.seeds[k], *map(number, (*numbers, bits)), places[m, k]))
    return csv_text(head, lines)


def agreement_csv(agreements: Sequence[Agreement]) -> str:
    """Rankings at each size against the last."""
    head = ("metric", "target", "images", "tau", "low", "high", "same_best", "sure")
    lines = (
        (a.metric, a.target, a.size, *map(number, (a.tau, a.low, a.high)), str(a.top).lower(), number(a.sure))
        for a in agreements
    )
    return csv_text(head, lines)


def mdl_csv(lengths: Sequence[Length]) -> str:
    """Description lengths of the labels, in nats and bits."""
    head = ("model", "labels", "nats", "low", "high", "bits", "nats_per_label", "bits_per_label")
    lines = (
        (
            x.model,
            x.labels,
            *map(number, (x.total, x.low, x.high, x.total / BIT, x.total / x.labels, x.total / x.labels / BIT)),
        )
        for x in lengths
    )
    return csv_text(head, lines)
