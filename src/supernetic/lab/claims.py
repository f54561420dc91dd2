"""Claims about variants, and what became of them: held, did not hold, or not shown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any

from ..errors import InputError, UnknownNameError
from .seed_spread import Values, contrast, spread

VARIANT, NUMBER = ("above", "below", "not_above", "not_below"), ("at_least", "at_most")
KEYS = ("text", "metric", "variant", "margin", *VARIANT, *NUMBER)
MARGIN = 0.05  # what counts as no difference, in the metric's unit
HELD, FAILED, OPEN = "held", "did not hold", "not shown"


@dataclass(frozen=True)
class Claim:
    """A metric of a variant stands in a relation to that of another variant, or to a number."""

    text: str
    metric: str
    variant: str
    relation: str  # above, below, not_above, not_below; at_least, at_most
    other: str | float
    margin: float = MARGIN  # of not_above and not_below: as much is no difference


@dataclass(frozen=True)
class Verdict:
    """What became of a claim. `value` is the difference to the other variant or number, with its 95 % interval."""

    claim: Claim
    verdict: str
    value: float
    low: float
    high: float
    n: int  # seeds

    def sentence(self) -> str:
        """In words."""
        c = self.claim
        against = f"{c.variant} minus {c.other}" if isinstance(c.other, str) else f"{c.variant}, minus {c.other:g}"
        if not self.n:
            return f"not shown: {c.metric} is not known"
        interval = f" [{self.low:+.3f}, {self.high:+.3f}]" if isfinite(self.low) else ", one seed: no interval"
        seeds = f"{self.n} {'seed' if self.n == 1 else 'seeds'}"
        return f"{self.verdict}: {c.metric} of {against} is {self.value:+.3f}{interval}, {seeds}"

    def to_json(self) -> dict[str, Any]:
        """A record; what is undefined is null."""
        c = self.claim
        numbers = {k: v if isfinite(v := getattr(self, k)) else None for k in ("value", "low", "high")}
        return {
            "text": c.text,
            "verdict": self.verdict,
            "metric": c.metric,
            "variant": c.variant,
            "relation": c.relation,
            "other": c.other,
            **numbers,
            "n": self.n,
            "sentence": self.sentence(),
        }


def claim(table: Mapping[str, Any], variants: Sequence[str]) -> Claim:
    """A claim from its table; the variants that it names must exist."""
    for key in table:
        if key not in KEYS:
            raise UnknownNameError("key of a claim", key, KEYS)
    text, metric, variant = (str(table.get(k, "")) for k in ("text", "metric", "variant"))
    if not (text and metric and variant):
        raise InputError(f"a claim needs text, metric and variant, got {', '.join(table) or 'none'}")
    relations = [k for k in (*VARIANT, *NUMBER) if k in table]
    if len(relations) != 1:
        raise InputError(f"the claim {text!r} needs one of {', '.join((*VARIANT, *NUMBER))}, got {len(relations)}")
    relation, other = relations[0], table[relations[0]]
    for name in (variant, *([other] if relation in VARIANT else [])):
        if name not in variants:
            raise UnknownNameError(f"variant in the claim {text!r}:", str(name), variants)
    if relation in NUMBER and type(other) not in (int, float):
        raise InputError(f"the claim {text!r}: {relation} must be a number, got {other!r}")
    margin = table.get("margin", MARGIN)
    if type(margin) not in (int, float) or margin < 0:
        raise InputError(f"the claim {text!r}: margin must be a number, at least 0, got {margin!r}")
    return Claim(text, metric, variant, relation, other, float(margin))


def judge(claim: Claim, values: Values, *, exact: bool = False) -> Verdict:
    """The verdict, from the metric's values by variant and seed. What no interval decides is not shown.

    `exact` numbers, such as those of a table, have no noise.
    """
    if isinstance(claim.other, str):
        found = contrast(values, claim.variant, claim.other)
        n, value, low, high = found.n, found.value, found.low, found.high
    else:
        own = spread(values, claim.variant)
        n = own.n
        value, low, high = (v - claim.other for v in (own.mean, own.low, own.high))
    if exact:
        low = high = value
    up = claim.relation in ("above", "not_below", "at_least")
    low_, high_ = (low, high) if up else (-high, -low)  # of how far the claim is true
    if claim.relation in ("not_above", "not_below"):
        held, failed = low_ >= -claim.margin, high_ < 0
    else:
        held, failed = low_ > 0 or (low_ == 0 and claim.relation in NUMBER), high_ < 0
    verdict = OPEN if not isfinite(low) else HELD if held else FAILED if failed else OPEN
    return Verdict(claim, verdict, value, low, high, n)
