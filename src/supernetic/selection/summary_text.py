"""A decision in sentences."""

from __future__ import annotations

from collections.abc import Sequence

from .agreement import Contest
from .curve import MIN_CURVE_SIZES
from .decision import BIT, Decision, Worth
from .profiles import Profiles

SHOWN = 3  # rivals in a sentence


def sentences(profiles: Profiles, decision: Decision, contests: Sequence[Contest]) -> list[str]:
    """What was found, the answer first."""
    return [
        _answer(profiles, decision),
        _sure(profiles, decision),
        _early(profiles, decision),
        *_closer(profiles, contests),
        _more(profiles, decision),
        *_length(decision),
    ]


def _answer(profiles: Profiles, d: Decision) -> str:
    best = float(profiles.means[0, :, -1].min())
    error = float(profiles.means[2, profiles.models.index(d.model), -1])
    return (
        f"Take {d.model}: calibrated cross-entropy {best:.3f} nats ({best / BIT:.3f} bits) "
        f"with {profiles.sizes[-1]:,} images, error rate {error:.1f} %."
    )


def _sure(profiles: Profiles, d: Decision) -> str:
    if not d.rivals:
        return "There is no other model to compare it with."
    if not profiles.repeated:
        return "How sure that is is not shown: there was one seed only."
    near = [f"{r.model} {_signed(r.difference)} [{_signed(r.low)}, {_signed(r.high)}]" for r in d.rivals[:SHOWN]]
    numbers = "; ".join(near)
    share = f"it is the best in {100 * d.sure:.0f} % of draws of seeds and images ({numbers} nats)"
    if not d.open:
        return f"It is shown to be better than all others: {share}."
    return f"That it is better than {_listed(d.open)} is not shown: {share}."


def _early(profiles: Profiles, d: Decision) -> str:
    last = profiles.sizes[-1]
    if len(profiles.sizes) < 2:
        return "From how little data it could be known is not shown: there is one size only."
    early = (
        f"From {d.stable_from:,} images on it has the least calibrated cross-entropy at every size"
        if d.stable_from < last
        else "No smaller size names it as the best, so less data would have misled"
    )
    shown = f", and from {d.shown_from:,} on that is shown" if d.shown_from is not None else ""
    if d.best_by_error == d.model:
        by_error = f"the error rate names it from {d.stable_by_error:,} on"
    else:
        by_error = f"the error rate names {d.best_by_error} instead, from {d.stable_by_error:,} on"
    return f"{early}{shown}; {by_error}."


def _closer(profiles: Profiles, contests: Sequence[Contest]) -> list[str]:
    own = next((c for c in contests if c.target == "own"), None)
    if own is None or len(profiles.models) < 3 or not profiles.repeated:
        return []
    numbers = f"tau differs by {_signed(own.value, 2)} [{_signed(own.low, 2)}, {_signed(own.high, 2)}]"
    if own.verdict == "not shown":
        what = "is not shown to be closer to its last than that by error rate"
    else:
        what = f"is {own.verdict} {'to' if own.verdict == 'closer' else 'from'} its last than that by error rate"
    return [f"On smaller subsets the ranking by calibrated cross-entropy {what}: {numbers}."]


def _more(profiles: Profiles, d: Decision) -> str:
    if not d.worth:
        sizes = f"a curve needs {MIN_CURVE_SIZES} sizes, got {len(profiles.sizes)}"
        return f"What more data would be worth is not shown: {sizes}."
    first = min(w.times for w in d.worth)
    own = next(w for w in d.worth if w.model == d.model and w.times == first)
    last = max(w.times for w in d.worth)
    then = max((w for w in d.worth if w.times == last), key=lambda w: w.best)
    gain = f"{own.gain:.3f} [{own.gain_low:.3f}, {own.gain_high:.3f}] nats"
    text = f"If its curve goes on, {first:g} times the data would be worth {gain} to {d.model}"
    held = [c for c in d.checks if c.held]
    check = f"; such curves met the largest rung for {len(held)} of {len(d.checks)} models" if d.checks else ""
    return f"{text}{_then(d, then)}{check}."


def _then(d: Decision, then: Worth) -> str:
    share = f"{100 * then.best:.0f} % of draws"
    if then.model == d.model:
        return f", and it is the best with {then.times:g} times as well, in {share}"
    return f", and with {then.times:g} times {then.model} would be the best, in {share}"


def _length(d: Decision) -> list[str]:
    if not d.lengths:
        return []
    short = d.lengths[0]
    bits = f"{short.total / short.labels / BIT:.3f} bits per label"
    return [f"The shortest description of the {short.labels:,} labels is that of {short.model}: {bits}."]


def _signed(value: float, digits: int = 3) -> str:
    return f"{value:+.{digits}f}"


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} or {names[-1]}"
