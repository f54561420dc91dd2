"""What may be believed: the comparisons with controls, and the score against accuracy after training."""

from __future__ import annotations

from typing import Any

from ... import metrics
from ...ranking.sentences import (
    INTERVAL_REASON,
    NOT_SIGNIFICANT,
    TOO_SHORT,
    decided,
    footing,
    outcome,
    says_little,
    trust_sentences,
)
from ...runs.view import DEFAULT_SCORE, RunView
from .. import svg as plots
from ..summary_text import by_supernet, interval, of_score, points, score_label, show, trust_of_data, typeset
from .section import legend, some_went_on

TRUTH = "valid/accuracy"
OUTCOMES = {  # of a comparison: its style, and the words of its tip
    "better": ("won", "significantly better"),
    "worse": ("lost", "significantly worse"),
    NOT_SIGNIFICANT: ("open", f"{NOT_SIGNIFICANT}: {INTERVAL_REASON}"),
    TOO_SHORT: ("open", TOO_SHORT),
}


def comparison(run: RunView) -> dict[str, Any]:
    """Models against controls, with intervals."""
    rows = []
    for c in decided(run.trust):
        style, words = OUTCOMES[TOO_SHORT if says_little(c) else outcome(c["low"], c["high"])]
        bounds = f"{points(c['difference'])} points ({interval(c['low'], c['high'])})"
        tip = f"{c['model']} against {c['control']}\n{bounds}\n{words}"
        rows.append(plots.Difference(c["model"], c["control"], c["difference"], c["low"], c["high"], style, tip))
    if not rows:
        return {}
    title = "differences of test accuracy between models and controls, with 95 % intervals"
    return {"comparison": plots.intervals(rows, "test accuracy, points", title), "footing": _footing(run)}


def _footing(run: RunView) -> str:
    """How long the networks of the comparisons were trained."""
    comparisons = decided(run.trust)
    trained = footing(comparisons)
    if not trained:
        return "All networks were trained by the same recipe for the same number of steps."
    first = " in the first round" if some_went_on(run) else ""
    little = f" That is {TOO_SHORT}." if any(map(says_little, comparisons)) else ""
    return f"The networks are compared as they were trained alike{first}: for {trained}.{little}"


def trust(run: RunView) -> dict[str, Any]:
    """Whether the score orders networks as training does."""
    score = (run.trust.get("tau") or {}).get("score", DEFAULT_SCORE)
    statements = [typeset(s) for s in trust_sentences(trust_of_data(run), of_score(run, score))]
    plot = _plot(run, score)
    if not statements and not plot:
        return {}
    return {
        "scored_by": "the supernet's score" if by_supernet(run, score) else "the score",
        "statements": statements,
        "trust": plot,
        "roles": legend(dict.fromkeys(m.role for m in run.models if m.score)),
    }


def _plot(run: RunView, score: str) -> str:
    """The score against accuracy, or the metric that decides, after a training that was alike."""
    truth = str(run.trust.get("decides", TRUTH))
    dots = [
        plots.Dot(
            m.score[score],
            m.first[truth],
            f"{m.name}\n{score_label(run, score)} {show(score, m.score[score])}\ntrained {show(truth, m.first[truth])}",
            m.role,
            m.name if m.chosen else "",
        )
        for m in run.models
        if score in m.score and truth in m.first
    ]
    if len(dots) < 2:
        return ""
    descending = metrics.better(score) == "lower"
    frame = plots.Frame(
        plots.axis(
            (d.x for d in dots),
            f"{score_label(run, score)} (better to the right)",
            descending=descending,
            pad=0.08,
        ),
        plots.axis((d.y for d in dots), f"{metrics.label(truth)} after training, %", pad=0.1),
        height=380,
    )
    return frame.svg(
        plots.dots(frame, dots), f"score against {metrics.label(truth)} after training of {len(dots)} networks"
    )
