"""Claims about variants, and their verdicts: held, did not hold, not significant, not measured, undecided.

A study may have a condition, such as that its plain supernets order networks at all: while that is not met, its claims
are undecided, whatever the intervals say.
"""

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
NOT_SIGNIFICANT, NOT_MEASURED, UNDECIDED = "not significant", "not measured", "undecided"
CONDITION_KEYS = ("metric", "variant", "at_least")


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
    verdict: str  # held, did not hold, not significant, not measured, undecided
    value: float
    low: float
    high: float
    n: int  # seeds
    reason: str = ""  # why it is undecided

    def sentence(self) -> str:
        """The verdict in words, with its numbers."""
        c = self.claim
        if not self.n:
            return f"{NOT_MEASURED}: {c.metric} has no value"
        against = f"{c.variant} minus {c.other}" if isinstance(c.other, str) else f"{c.variant}, minus {c.other:g}"
        interval = f" [{self.low:+.3f}, {self.high:+.3f}]" if isfinite(self.low) else ", one seed: no interval"
        seeds = f"{self.n} {'seed' if self.n == 1 else 'seeds'}"
        because = f" ({self.reason})" if self.reason else ""
        return f"{self.verdict}{because}: {c.metric} of {against} is {self.value:+.3f}{interval}, {seeds}"

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
            **({"reason": self.reason} if self.reason else {}),
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


@dataclass(frozen=True)
class Condition:
    """What must be true of a variant before any claim is judged: the mean of a metric is at least a number."""

    metric: str
    variant: str
    at_least: float

    def unmet(self, values: Values) -> str:
        """Why claims cannot be judged; empty if they can.

        Args:
            values: The metric by variant and seed.

        Returns:
            The reason.
        """
        own = spread(values, self.variant)
        if own.n and own.mean >= self.at_least:
            return ""
        found = f"{own.mean:.3f}" if own.n else "not measured"
        return f"{self.metric} of {self.variant} is {found}, at least {self.at_least:g} is needed"


def read_condition(table: Mapping[str, Any], variants: Sequence[str]) -> Condition | None:
    """Read the condition of a study file.

    Args:
        table: The table `[condition]`; an empty one is none.
        variants: Names of the variants of the study.

    Returns:
        The condition, if there is one.
    """
    if not table:
        return None
    for key in table:
        if key not in CONDITION_KEYS:
            raise UnknownNameError("key of the condition", key, CONDITION_KEYS)
    if missing := [k for k in CONDITION_KEYS if k not in table]:
        raise InputError(f"the condition needs {', '.join(CONDITION_KEYS)}, got no {missing[0]}")
    if table["variant"] not in variants:
        raise UnknownNameError("variant in the condition", str(table["variant"]), variants)
    if type(table["at_least"]) not in (int, float):
        raise InputError(f"the condition: at_least must be a number, got {table['at_least']!r}")
    return Condition(str(table["metric"]), str(table["variant"]), float(table["at_least"]))


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
