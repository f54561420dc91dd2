"""Why a model: what it beat and by how much, and what it did not."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ..errors import UnknownNameError
from ..metrics import label
from ..ranking.sentences import NOT_SIGNIFICANT, TOO_SHORT, decided, footing, outcome, says_little
from ..runs.files import SELECT
from ..runs.view import Model, RunView, read_run
from .recommendation import recommendation
from .sources import number_sources
from .summary_text import count, interval, percent, points
from .why_selected import why_selected

OUTCOMES = {
    "better": "significantly better than",
    NOT_SIGNIFICANT: "no significant difference from",
    "worse": "significantly worse than",
    TOO_SHORT: "trained alike, but for a time that is too short to tell, with",
}


def why(run: str | Path, model: str) -> list[str]:
    """Say what a model beat and by how much, and what it did not.

    Args:
        run: The run directory.
        model: The name of one of its networks.

    Returns:
        Lines, from the run's files alone.
    """
    if (Path(run) / SELECT).exists():
        return why_selected(Path(run), model)
    record = read_run(run)
    own = record.model(model)
    if own is None:
        raise UnknownNameError("model", model, [m.name for m in record.models])
    return [
        *(recommendation(record.networks, record.trust)[:2] if own.recommended else ()),
        *_itself(own, record),
        *_among_trials(own, record),
        *_against(own, record),
        *_within(own, record),
    ]


def _itself(m: Model, run: RunView) -> list[str]:
    return [f"{m.name}: {m.label}" if m.label else m.name, *(f"  {line}" for line in number_sources(m, run))]


def _among_trials(m: Model, run: RunView) -> Iterator[str]:
    """Where it stands among what was scored."""
    cost, score = run.cost, run.score
    own, layer_cost = m.score.get(score.name), _price(m, run)
    known = [t for t in run.trials if cost.name in t.metrics and score.name in t.metrics and t.arch != m.arch]
    if own is None or layer_cost is None or not known:
        return
    rivals = [t.metrics[score.name] for t in known if t.metrics[cost.name] <= layer_cost]
    better = sum(v > own if score.maximise else v < own for v in rivals)
    what = f"with no more {label(cost.name)}"
    if rivals:
        have = f"{better:,} {'has' if better == 1 else 'have'}"
        yield f"of {count(len(rivals), 'other trial')} {what}, {have} a better {label(score.name)}"
    else:
        yield f"there is no other trial {what}"


def _price(m: Model, run: RunView) -> float | None:
    costs = {"cost/macs": m.macs, "cost/params": m.params, "latency/ms": m.latency}
    layer_cost = costs.get(run.cost.name)
    return (
        next((t.metrics.get(run.cost.name) for t in run.trials if t.arch == m.arch), None)
        if layer_cost is None
        else layer_cost
    )


def _against(m: Model, run: RunView) -> Iterator[str]:
    """The controls (for a control: the models), the clearest wins first."""
    rows = [_turned(c, m.name) for c in decided(run.trust) if m.name in (c["model"], c["control"])]
    for verdict, words in OUTCOMES.items():
        for c in sorted((c for c in rows if c["outcome"] == verdict), key=lambda c: -c["difference"]):
            yield (
                f"{words} {c['other']}: {points(c['difference'])} points of test accuracy "
                f"(95 % interval {interval(c['low'], c['high'])}{c['footing']})"
            )
    if not rows and run.controls:
        yield "not compared on test images yet"


def _turned(c: Mapping[str, Any], name: str) -> dict[str, Any]:
    """A comparison as seen from one side."""
    mine = c["model"] == name
    sign, low, high = (1, c["low"], c["high"]) if mine else (-1, -c["high"], -c["low"])
    other, difference = c["control"] if mine else c["model"], sign * c["difference"]
    return {
        "other": other,
        "difference": difference,
        "low": low,
        "high": high,
        "outcome": TOO_SHORT if says_little(c) else outcome(low, high),
        "footing": f"; both trained for {trained}" if (trained := footing([c])) else "",
    }


def _within(m: Model, run: RunView) -> Iterator[str]:
    """The other chosen models, by test accuracy."""
    mine = m.accuracy
    for other in run.chosen:
        theirs = other.accuracy
        if m.chosen and other.name != m.name and mine is not None and theirs is not None:
            dear = other.macs / m.macs if other.macs and m.macs else None
            layer_cost = f" at {dear:.2f} times the MACs" if dear else ""
            yield f"{other.name} has {percent(theirs)}{layer_cost}: {points(mine - theirs)} points between them"
