"""Why a model: what it beat and by how much, and what it did not."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ..errors import UnknownNameError
from ..runs.records import Model, Record, read_run
from .summary_text import count, interval, metric_name, percent, points, show, verdict

OUTCOMES = {
    "won": "shown better than",
    "open": "not decided against",
    "lost": "shown worse than",
}


def why(run: str | Path, model: str) -> list[str]:
    """Lines about one model of a run, from its files alone."""
    record = read_run(run)
    found = record.model(model)
    if found is None:
        raise UnknownNameError("model", model, [m.name for m in record.models])
    return [_itself(found, record), *_among_trials(found, record), *_against(found, record), *_within(found, record)]


def _itself(m: Model, run: Record) -> str:
    facts = [f"{show('cost/macs', m.macs)} MACs", f"{show('cost/params', m.params)} parameters"]
    facts += [f"{show('latency/ms', m.latency)}"] if m.latency is not None else []
    facts += [f"{metric_name(k)} {show(k, v)} by the supernet" for k, v in m.score.items() if run.curves]
    facts += [f"{metric_name(k)} {show(k, v)}" for k, v in m.score.items() if not run.curves]
    facts += [f"{metric_name(k)} {show(k, v)} after training" for k, v in m.trained.items() if "accuracy" in k]
    facts += [f"test accuracy {percent(m.accuracy)}"] if m.accuracy is not None else []
    return f"{m.name}: " + ", ".join(facts)


def _among_trials(m: Model, run: Record) -> Iterator[str]:
    """Where it stands among what was scored."""
    cost, score = run.cost, run.score
    own, layer_cost = m.score.get(score.name), _price(m, run)
    known = [t for t in run.trials if cost.name in t.metrics and score.name in t.metrics and t.arch != m.arch]
    if own is None or layer_cost is None or not known:
        return
    rivals = [t.metrics[score.name] for t in known if t.metrics[cost.name] <= layer_cost]
    better = sum(v > own if score.maximise else v < own for v in rivals)
    what = f"with no more {metric_name(cost.name)}"
    if rivals:
        have = f"{better:,} {'has' if better == 1 else 'have'}"
        yield f"of {count(len(rivals), 'other trial')} {what}, {have} a better {metric_name(score.name)}"
    else:
        yield f"there is no other trial {what}"


def _price(m: Model, run: Record) -> float | None:
    costs = {"cost/macs": m.macs, "cost/params": m.params, "latency/ms": m.latency}
    layer_cost = costs.get(run.cost.name)
    return (
        next((t.metrics.get(run.cost.name) for t in run.trials if t.arch == m.arch), None)
        if layer_cost is None
        else layer_cost
    )


def _against(m: Model, run: Record) -> Iterator[str]:
    """The controls (for a control: the models), the clearest wins first."""
    rows = [c for c in run.trust.get("comparisons", ()) if m.name in (c["model"], c["control"])]
    told = [_turned(c, m.name) for c in rows]
    for outcome, words in OUTCOMES.items():
        for c in sorted((c for c in told if c["verdict"] == outcome), key=lambda c: -c["difference"]):
            yield (
                f"{words} {c['other']}: {points(c['difference'])} points of test accuracy "
                f"(95 % interval {interval(c['low'], c['high'])})"
            )
    if not rows and run.controls:
        yield "not compared on test images yet"


def _turned(c: Mapping[str, Any], name: str) -> dict[str, Any]:
    """A comparison as seen from one side."""
    mine = c["model"] == name
    sign, low, high = (1, c["low"], c["high"]) if mine else (-1, -c["high"], -c["low"])
    other, found = c["control"] if mine else c["model"], verdict(low, high)
    return {"other": other, "difference": sign * c["difference"], "low": low, "high": high, "verdict": found}


def _within(m: Model, run: Record) -> Iterator[str]:
    """The other chosen models, by test accuracy."""
    mine = m.accuracy
    for other in run.chosen:
        theirs = other.accuracy
        if m.chosen and other.name != m.name and mine is not None and theirs is not None:
            dear = other.macs / m.macs if other.macs and m.macs else None
            layer_cost = f" at {dear:.2f} times the MACs" if dear else ""
            yield f"{other.name} has {percent(theirs)}{layer_cost}: {points(mine - theirs)} points between them"
