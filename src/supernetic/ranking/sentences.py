"""How far a search may be trusted, in sentences made from the facts that `trust.json` holds.

The printed summary and the page both say these sentences, so that they cannot disagree.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .. import metrics
from ..text import duration
from .verdict import too_short

NOT_SIGNIFICANT = "not significant"
TOO_SHORT = "too short to tell how they compare when trained to the end"
INTERVAL_REASON = "the 95 % interval includes 0"  # is given the first time that something is not significant
SPREAD_SENTENCE = (
    "Intervals are over test images. Each network was trained once, so they do not include the spread between "
    "trainings."
)

Facts = Mapping[str, Any]


def trust_sentences(trust: Facts, score: str = "") -> list[str]:
    """Say what a test showed.

    Args:
        trust: The facts as in `trust.json`: `tau` and `comparisons` as `verdict` gives them, and `table`, the places
            of the chosen models in a benchmark's table. Each may be missing.
        score: What the score is called; by default as its metric is.

    Returns:
        Sentences: the agreement of the score with training, every comparison with a control and on what footing, what
        the intervals do not include, and the places in the table.
    """
    tau, comparisons = trust.get("tau"), decided(trust)
    explained = bool(tau) and _includes_zero(tau or {})
    return [
        *([tau_sentence(tau, score)] if tau else ()),
        *_comparisons(comparisons, explained=explained),
        *([SPREAD_SENTENCE] if comparisons else ()),
        *table_sentences(trust.get("table")),
    ]


def decided(trust: Facts) -> list[Facts]:
    """The comparisons that have an interval."""
    comparisons = trust.get("comparisons") or ()
    return [c for c in comparisons if c.get("low") is not None and c.get("high") is not None]


def outcome(low: float, high: float) -> str:
    """What the 95 % interval of a difference says: `better`, `worse`, or `not significant` if it includes 0."""
    return "better" if low > 0 else "worse" if high < 0 else NOT_SIGNIFICANT


def says_little(comparison: Facts) -> bool:
    """Whether the networks of a comparison were trained for too short a time to conclude anything from it."""
    return too_short(comparison.get("epochs"))


def footing(comparisons: Sequence[Facts]) -> str:
    """How long the networks of comparisons were trained.

    Args:
        comparisons: As `trust.json` has them.

    Returns:
        Such as `20 s (1,140 to 3,400 steps, 12 to 36 epochs)`; nothing if it is not known.
    """
    steps = [s for c in comparisons for s in c.get("steps") or ()]
    if not steps:
        return ""
    epochs = [e for c in comparisons for e in c.get("epochs") or ()]
    lengths = [f"{_range([f'{s:,}' for s in (min(steps), max(steps))])} steps"]
    lengths += [f"{_range([show_epochs(e) for e in (min(epochs), max(epochs))])} epochs"] if epochs else []
    seconds = comparisons[0].get("seconds")
    if seconds:
        return f"{duration(seconds)} ({', '.join(lengths)})"
    return lengths[0] + (f" ({lengths[1]})" if lengths[1:] else "")


def show_epochs(epochs: float) -> str:
    """A number of epochs: 0.25, 3.4, 37."""
    return f"{epochs:.2g}" if epochs < 9.95 else f"{epochs:,.0f}"


def _range(texts: Sequence[str]) -> str:
    """From one to the other; one alone if both are the same."""
    return " to ".join(dict.fromkeys(texts))


def not_significant(*, explained: bool = False) -> str:
    """The words for a result whose interval includes 0; the reason is given once in a text."""
    return NOT_SIGNIFICANT if explained else f"{NOT_SIGNIFICANT} ({INTERVAL_REASON})"


# --- the score --------------------------------------------------------------------------------------------------------


def tau_sentence(tau: Facts, score: str = "") -> str:
    """Whether a score ranks networks as their training does.

    Args:
        tau: The facts of an `Agreement`.
        score: What the score is called; by default as its metric is.

    Returns:
        One sentence, with tau, its interval and the number of networks; two if the order is reversed.
    """
    score, truth = score or metrics.label(tau["score"]), _truth(tau["truth"])
    if tau.get("constant") or tau.get("alike"):  # as version 0.1.0 has it
        return f"Whether {score} ranks networks as {truth} does is unknown: all {tau['n']} are equal in one of them."
    if any(tau.get(k) is None for k in ("value", "low", "high")):
        return f"Whether {score} ranks networks as {truth} does is unknown: n = {tau['n']} is too small."
    numbers = f"tau {tau['value']:+.2f} [{tau['low']:+.2f}, {tau['high']:+.2f}], n = {tau['n']}"
    if tau.get("significant"):
        return _capital(f"{score} ranks networks as {truth} does: {numbers}.")
    if tau["high"] < 0:
        return _capital(f"{score} ranks networks against {truth}: {numbers}. Do not trust this ranking.")
    return f"The agreement of {score} with {truth} is {insignificance(tau)}: {numbers}."


def insignificance(tau: Facts) -> str:
    """Why a tau is not significant: the interval includes 0, or chance gives so large a tau to so few networks."""
    if _includes_zero(tau):
        return not_significant()
    return f"{NOT_SIGNIFICANT} (n = {tau['n']} is too small: chance alone can give such a tau)"


def _includes_zero(tau: Facts) -> bool:
    return tau.get("low") is not None and tau.get("high") is not None and tau["low"] <= 0 <= tau["high"]


def _truth(name: str) -> str:
    """The name of the truth, which is a metric or a metric `after training`."""
    metric, _, rest = name.partition(" ")
    return " ".join(filter(None, (metrics.label(metric), rest)))


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


# --- comparisons ------------------------------------------------------------------------------------------------------


def _comparisons(comparisons: Sequence[Facts], *, explained: bool) -> list[str]:
    sentences = []
    for c in comparisons:
        sentences.append(_comparison(c, explained=explained))
        explained = explained or (outcome(c["low"], c["high"]) == NOT_SIGNIFICANT and not says_little(c))
    return sentences


def _comparison(c: Facts, *, explained: bool) -> str:
    numbers = f"{c['difference']:+.2f} points [{c['low']:+.2f}, {c['high']:+.2f}]"
    alike = f"Trained alike for {trained}, " if (trained := footing([c])) else ""
    if says_little(c):
        return f"{alike}{c['model']} against {c['control']}: {numbers}. That is {TOO_SHORT}."
    verdict = outcome(c["low"], c["high"])
    if verdict == NOT_SIGNIFICANT:
        return f"{alike}{c['model']} against {c['control']}: {not_significant(explained=explained)}, {numbers}."
    verb = "beats" if verdict == "better" else "loses to"
    return f"{alike}{c['model']} {verb} {c['control']}: {numbers}."


# --- a benchmark's table ----------------------------------------------------------------------------------------------


def table_sentences(table: Facts | None) -> list[str]:
    """The places of the chosen models in a benchmark's table.

    Args:
        table: `column`, `dataset`, the number of networks `of`, the `best` value, and the places of `models`; nothing
            if the space has no table.

    Returns:
        A sentence for each model.
    """
    return [table_sentence(table, place) for place in table.get("models") or [table]] if table else []


def table_sentence(table: Facts, place: Facts) -> str:
    """The place of one model; `place` has its `rank`, its `value`, and its rank among those with `no_larger` cost."""
    about = ", ".join(filter(None, (table.get("dataset"), table["column"])))
    model = place.get("model") or "the best chosen model"
    values = [f"{place['value']:.2f}"] if place.get("value") is not None else []
    values += [f"the best has {table['best']:.2f}"] if table.get("best") is not None else []
    numbers = f" ({', '.join(values)})" if values else ""
    small = place.get("no_larger")
    among = f", and number {small['rank']:,} of the {small['of']:,} with no more MACs" if small else ""
    best = f" (the best has {small['best']:.2f})" if small and small.get("best") is not None else ""
    return (
        f"In the benchmark's table ({about}), {model} is number {place['rank']:,} of {table['of']:,}{numbers}"
        f"{among}{best}."
    )
