"""A decision in sentences, made from the facts that `select.json` holds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..ranking.sentences import NOT_SIGNIFICANT, not_significant, outcome
from .decision import BIT

NAMED_RIVALS = 3  # in a sentence
FEWEST_RANKED = 3  # models of which rankings are compared

Facts = Mapping[str, Any]


def sentences(record: Facts) -> list[str]:
    """Say what was found, the answer first.

    Args:
        record: The facts as in `select.json`: `models`, `sizes`, `seeds`, `table` (means by metric, model and size),
            `decision` and `contests`.

    Returns:
        The sentences; none if nothing was decided.
    """
    if not record["decision"]:
        return []
    lead = _lead(record)
    return [
        _answer(record),
        *_start(record),
        lead,
        _early(record),
        *_closer(record, explained=NOT_SIGNIFICANT in lead),
        _more(record),
        *_length(record["decision"]),
    ]


def open_rivals(decision: Facts) -> list[str]:
    """The models that are not significantly worse than the chosen one."""
    return [r["model"] for r in decision["rivals"] if not r["significant"]]


def _answer(record: Facts) -> str:
    model = record["decision"]["model"]
    nats = record["table"]["calibrated_cross_entropy"][model][-1]
    error = record["table"]["error"][model][-1]
    return (
        f"Take {model}: calibrated cross-entropy {nats:.3f} nats ({nats / BIT:.3f} bits) "
        f"with {record['sizes'][-1]:,} images, error rate {error:.1f} %."
    )


def _start(record: Facts) -> list[str]:
    """What a comparison of pretrained models with others is, and is not."""
    starts, model = record.get("starts", {}), record["decision"]["model"]
    if not starts or all(m in starts for m in record["models"]):
        return []
    began, others = (
        (f"the pretrained weights of {starts[model]}", "random")
        if model in starts
        else ("random weights", "pretrained")
    )
    return [
        f"It began with {began}, others with {others} ones: this says what to begin with, not which architecture is "
        "better."
    ]


def _lead(record: Facts) -> str:
    d = record["decision"]
    if not d["rivals"]:
        return "There is no other model to compare it with."
    if max(record["seeds"]) < 2:
        return "There was only one seed, so the significance of its lead is unknown."
    rivals = (
        f"{r['model']} {_signed(r['difference'])} [{_signed(r['low'])}, {_signed(r['high'])}]"
        for r in d["rivals"][:NAMED_RIVALS]
    )
    share = f"it is the best in {100 * d['sure']:.0f} % of draws of seeds and images ({'; '.join(rivals)} nats)"
    close = open_rivals(d)
    if not close:
        return f"It is significantly better than all others: {share}."
    return f"Its lead over {_listed(close)} is {not_significant()}: {share}."


def _early(record: Facts) -> str:
    d, sizes = record["decision"], record["sizes"]
    if len(sizes) < 2:
        return "There is only one size, so it is unknown whether less data would have been enough."
    text = (
        f"From {d['stable_from']:,} images on it has the lowest calibrated cross-entropy at every size"
        if d["stable_from"] < sizes[-1]
        else "No smaller size names it as the best, so less data would have misled"
    )
    if d["significant_from"] is not None:
        text += f", significantly so from {d['significant_from']:,} on"
    same = "it" if d["best_by_error"] == d["model"] else f"{d['best_by_error']} instead,"
    return f"{text}; the error rate names {same} from {d['stable_by_error']:,} on."


def _closer(record: Facts, *, explained: bool) -> list[str]:
    """Whether rankings by calibrated cross-entropy settle earlier than those by error rate."""
    own = next((c for c in record["contests"] if c["target"] == "own"), None)
    if own is None or len(record["models"]) < FEWEST_RANKED or max(record["seeds"]) < 2:
        return []
    numbers = f"tau differs by {_signed(own['value'], 2)} [{_signed(own['low'], 2)}, {_signed(own['high'], 2)}]"
    verdict = outcome(own["low"], own["high"])
    subject = "On smaller subsets the ranking by calibrated cross-entropy"
    if verdict == NOT_SIGNIFICANT:
        reason = not_significant(explained=explained)
        return [f"{subject} is about as close to its final one as that by error rate: {numbers}, {reason}."]
    close = "closer to" if verdict == "better" else "farther from"
    return [f"{subject} is significantly {close} its final one than that by error rate: {numbers}."]


def _more(record: Facts) -> str:
    """What more data would be worth, by the learning curves."""
    d, sizes = record["decision"], record["sizes"]
    if not d["worth"]:
        few = "one size is" if len(sizes) == 1 else f"{len(sizes)} sizes are"
        return f"What more data would be worth is unknown: {few} too few for a learning curve."
    first, last = (pick(w["times"] for w in d["worth"]) for pick in (min, max))
    own = next(w for w in d["worth"] if w["model"] == d["model"] and w["times"] == first)
    best = max((w for w in d["worth"] if w["times"] == last), key=lambda w: float(w["best"]))
    gain = f"{own['gain']:.3f} [{own['gain_low']:.3f}, {own['gain_high']:.3f}] nats"
    text = f"If its learning curve continues, {first:g} times the data would be worth {gain} to {d['model']}"
    met = sum(c["low"] <= c["true"] <= c["high"] for c in d["checks"])
    check = f"; such curves predicted the largest size for {met} of {len(d['checks'])} models" if d["checks"] else ""
    return f"{text}{_then(d, best)}{check}."


def _then(decision: Facts, best: Facts) -> str:
    share = f"{100 * best['best']:.0f} % of draws"
    if best["model"] == decision["model"]:
        return f", and it would still be the best with {best['times']:g} times the data, in {share}"
    return f", and with {best['times']:g} times the data {best['model']} would be the best, in {share}"


def _length(decision: Facts) -> list[str]:
    if not decision["lengths"]:
        return []
    short = decision["lengths"][0]
    bits = f"{short['total'] / short['labels'] / BIT:.3f} bits per label"
    return [f"The shortest description of the {short['labels']:,} labels is that by {short['model']}: {bits}."]


def _signed(value: float, digits: int = 3) -> str:
    return f"{value:+.{digits}f}"


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
