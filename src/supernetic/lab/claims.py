"""Claims about variants, and their verdicts: held, did not hold, not significant, not measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any

from ..errors import InputError, UnknownNameError
from .seed_spread import Values, contrast, spread

VARIANT_RELATIONS = ("above", "below", "not_above", "not_below")  # to another variant
NUMBER_RELATIONS = ("at_least", "at_most")  # to a number
RELATIONS = (*VARIANT_RELATIONS, *NUMBER_RELATIONS)
CLAIM_KEYS = ("text", "metric", "variant", "margin", *RELATIONS)
DEFAULT_MARGIN = 0.05  # differences up to it do not count, in the unit of the metric
HELD, DID_NOT_HOLD = "held", "did not hold"
NOT_SIGNIFICANT, NOT_MEASURED = "not significant", "not measured"


@dataclass(frozen=True)
class Claim:
    """A metric of one variant is related to that of another variant, or to a number."""

    text: str
    metric: str
    variant: str
    relation: str  # one of RELATIONS
    other: str | float  # the other variant, or the number
    margin: float = DEFAULT_MARGIN  # of not_above and not_below


@dataclass(frozen=True)
class Verdict:
    """The verdict on a claim. `value` is the difference from the other variant or number, with its 95 % interval."""

    claim: Claim
    verdict: str  # held, did not hold, not significant, not measured
    value: float
    low: float
    high: float
    n: int  # seeds

    def sentence(self) -> str:
        """The verdict in words, with its numbers."""
        c = self.claim
        if not self.n:
            return f"{NOT_MEASURED}: {c.metric} has no value"
        against = f"{c.variant} minus {c.other}" if isinstance(c.other, str) else f"{c.variant}, minus {c.other:g}"
        interval = f" [{self.low:+.3f}, {self.high:+.3f}]" if isfinite(self.low) else ", one seed: no interval"
        seeds = f"{self.n} {'seed' if self.n == 1 else 'seeds'}"
        return f"{self.verdict}: {c.metric} of {against} is {self.value:+.3f}{interval}, {seeds}"

    def to_json(self) -> dict[str, Any]:
        """A plain record; what is undefined is null."""
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


def read_claim(table: Mapping[str, Any], variants: Sequence[str]) -> Claim:
    """Read a claim from its table in a study file.

    Args:
        table: The table under `[[claims]]`.
        variants: Names of the variants of the study.

    Returns:
        The claim.
    """
    for key in table:
        if key not in CLAIM_KEYS:
            raise UnknownNameError("key of a claim", key, CLAIM_KEYS)
    text, metric, variant = (str(table.get(k, "")) for k in ("text", "metric", "variant"))
    if not (text and metric and variant):
        raise InputError(f"a claim needs text, metric and variant, got {', '.join(table) or 'none'}")
    relation, other = _relation(text, table)
    for name in (variant, other) if relation in VARIANT_RELATIONS else (variant,):
        if name not in variants:
            raise UnknownNameError(f"variant in the claim {text!r}:", str(name), variants)
    margin = _number(text, "margin", table.get("margin", DEFAULT_MARGIN))
    if margin < 0:
        raise InputError(f"the claim {text!r}: margin must be at least 0, got {margin:g}")
    return Claim(text, metric, variant, relation, other, margin)


def _relation(text: str, table: Mapping[str, Any]) -> tuple[str, Any]:
    """(relation, the variant or number that it is to)."""
    relations = [k for k in RELATIONS if k in table]
    if len(relations) != 1:
        raise InputError(f"the claim {text!r} needs one of {', '.join(RELATIONS)}, got {len(relations)}")
    relation = relations[0]
    if relation in NUMBER_RELATIONS:
        _number(text, relation, table[relation])
    return relation, table[relation]


def _number(text: str, key: str, value: Any) -> float:
    if type(value) not in (int, float):
        raise InputError(f"the claim {text!r}: {key} must be a number, got {value!r}")
    return float(value)


def judge(claim: Claim, values: Values, *, exact: bool = False) -> Verdict:
    """Judge a claim by its 95 % interval; a claim that the interval does not decide is not significant.

    Args:
        claim: The claim.
        values: Its metric by variant and seed.
        exact: Whether the values have no noise, such as those of a table.

    Returns:
        The verdict.
    """
    if isinstance(claim.other, str):
        difference = contrast(values, claim.variant, claim.other)
        n, value, low, high = difference.n, difference.value, difference.low, difference.high
    else:
        own = spread(values, claim.variant)
        n = own.n
        value, low, high = (v - claim.other for v in (own.mean, own.low, own.high))
    if exact:
        low = high = value
    return Verdict(claim, _verdict(claim, n, low, high), value, low, high, n)


def _verdict(claim: Claim, n: int, low: float, high: float) -> str:
    if not n:
        return NOT_MEASURED
    if not isfinite(low):
        return NOT_SIGNIFICANT
    if claim.relation not in ("above", "not_below", "at_least"):
        low, high = -high, -low  # so that more is always in favour of the claim
    if claim.relation in ("not_above", "not_below"):
        held = low >= -claim.margin
    else:
        held = low > 0 or (low == 0 and claim.relation in NUMBER_RELATIONS)
    return HELD if held else DID_NOT_HOLD if high < 0 else NOT_SIGNIFICANT
