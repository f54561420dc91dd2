"""Objectives and constraints over metrics: direction and limits, stated once.

A metric has a full name `group/name`: `cost/macs`, `cost/params`, `cost/peak`, `latency/ms`, `valid/accuracy`,
`valid/cross_entropy`, `table/c10_valid_200`. Files and JSON hold full names; short ones are resolved at the door.
Accuracies are in percent everywhere.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import inf, isfinite

from .errors import InputError, UnknownNameError
from .metrics import COUNT, MILLISECONDS, NATS, PERCENT, SECONDS, find
from .numerals import REAL

Metrics = dict[str, float]

UNITS = {"": 1.0, "k": 1e3, "m": 1e6, "g": 1e9, "ms": 1.0, "%": 1.0}
UNITS_OF = {COUNT: ("", "k", "m", "g"), PERCENT: ("", "%"), MILLISECONDS: ("", "ms"), SECONDS: ("",), NATS: ("",)}
UNIT_NAMES = {COUNT: "a count, with K, M or G", PERCENT: "in %", MILLISECONDS: "in ms", SECONDS: "in seconds"}
UNIT_NAMES |= {NATS: "in nats, without a unit"}
HIGHEST = {PERCENT: 100.0}  # values that no metric in this unit exceeds
LONGEST = 200  # characters of a limit or an objective
_QUANTITY = re.compile(rf"({REAL.pattern})\s*(K|M|G|ms|%)?", re.IGNORECASE)
_LIMIT = re.compile(r"\s*([\w./-]+)\s*(<=|>=|<|>)\s*(\S+)\s*")
_RANGE = re.compile(r"\s*([\w./-]+)\s+in\s+(\S+?)\s*\.\.\s*(\S+)\s*")


def parse_quantity(text: str) -> float:
    """Read a number with an optional unit.

    Args:
        text: Such as `300M`, `1.2G`, `8ms`, `40%` or `1e6`.

    Returns:
        The number.
    """
    return _number_and_unit(text)[0]


def _number_and_unit(text: str) -> tuple[float, str]:
    match = _QUANTITY.fullmatch(text.strip())
    if not match:
        raise InputError(f"a value is a number with an optional unit K, M, G, ms or %, got {text[:LONGEST]!r}")
    unit = (match[2] or "").lower()
    value = float(match[1]) * UNITS[unit]
    if not isfinite(value):
        raise InputError(f"a value must be finite, got {text[:LONGEST]!r}")
    return value, unit


def show_quantity(value: float) -> str:
    """A count for people: 305.2M."""
    for unit, scale in (("G", 1e9), ("M", 1e6), ("K", 1e3)):
        if isfinite(value) and abs(value) >= scale:
            return f"{value / scale:.4g}{unit}"
    return f"{value:g}"


@dataclass(frozen=True)
class Constraint:
    """Limits of one metric; inclusive unless marked open."""

    name: str
    low: float = -inf
    high: float = inf
    low_open: bool = False
    high_open: bool = False

    def holds(self, value: float) -> bool:
        """Whether the value lies within the limits; a NaN never does."""
        above = value > self.low if self.low_open else value >= self.low
        below = value < self.high if self.high_open else value <= self.high
        return above and below

    def __str__(self) -> str:
        if isfinite(self.low) and isfinite(self.high) and not (self.low_open or self.high_open):
            return f"{self.name} in {show_quantity(self.low)}..{show_quantity(self.high)}"
        limits = []
        if isfinite(self.low):
            limits.append(f"{self.name}{'>' if self.low_open else '>='}{show_quantity(self.low)}")
        if isfinite(self.high):
            limits.append(f"{self.name}{'<' if self.high_open else '<='}{show_quantity(self.high)}")
        return " and ".join(limits)


def parse_where(text: str) -> Constraint:
    """Read a constraint.

    Args:
        text: `NAME (<=|>=|<|>) VALUE` or `NAME in A..B` (inclusive).

    Returns:
        The constraint, with the name as it was given.
    """
    if len(text) <= LONGEST:
        if match := _RANGE.fullmatch(text):
            low, high = (_limit(text, match[1], value) for value in match.groups()[1:])
            if low > high:
                raise InputError(f"--where {text!r}: the range must run from low to high, got {match[2]}..{match[3]}")
            return _possible(Constraint(match[1], low, high))
        if match := _LIMIT.fullmatch(text):
            value, is_open = _limit(text, match[1], match[3]), "=" not in match[2]
            if match[2].startswith("<"):
                return _possible(Constraint(match[1], high=value, high_open=is_open))
            return _possible(Constraint(match[1], low=value, low_open=is_open))
    shown = text if len(text) <= LONGEST else f"{text[:LONGEST]}..."
    raise InputError(f"--where is NAME (<=|>=|<|>) VALUE or NAME in A..B, such as 'macs<=300M'; got {shown!r}")


def _limit(text: str, name: str, quantity: str) -> float:
    """The value of a limit, in a unit that its metric can have."""
    value, unit = _number_and_unit(quantity)
    kind = find(name).unit
    if unit not in UNITS_OF.get(kind, UNITS):
        raise InputError(f"--where {text!r}: {name} is {UNIT_NAMES[kind]}, got {quantity!r}")
    return value


def _possible(limit: Constraint) -> Constraint:
    """Refuse a limit that no network can satisfy; metrics that are not known are left alone."""
    metric = find(limit.name)
    most = HIGHEST.get(metric.unit, inf)
    if limit.low > most or (limit.low == most and limit.low_open):
        raise InputError(f"--where {str(limit)!r}: {metric.label} is at most {most:g} %, so no network can satisfy it")
    if metric.unit in (PERCENT, NATS) and (limit.high < 0 or (limit.high == 0 and limit.high_open)):
        raise InputError(f"--where {str(limit)!r}: {metric.label} is never below 0, so no network can satisfy it")
    if metric.unit in (COUNT, MILLISECONDS, SECONDS) and limit.high <= 0:
        raise InputError(f"--where {str(limit)!r}: {metric.label} is always above 0, so no network can satisfy it")
    return limit


def combine(constraints: Iterable[Constraint]) -> dict[str, Constraint]:
    """One constraint per metric: the intersection of all that name it."""
    merged: dict[str, Constraint] = {}
    for c in constraints:
        a = merged.get(c.name, Constraint(c.name))
        low, low_open = max((a.low, a.low_open), (c.low, c.low_open))
        high, closed = min((a.high, not a.high_open), (c.high, not c.high_open))
        if low > high or (low == high and (low_open or not closed)):
            raise InputError(f"the constraints on {c.name} contradict each other: {a} and {c}")
        merged[c.name] = Constraint(c.name, low, high, low_open, not closed)
    return merged


@dataclass(frozen=True)
class Objective:
    """A metric and the direction that is better."""

    name: str
    maximise: bool

    def __str__(self) -> str:
        return f"{'max' if self.maximise else 'min'} {self.name}"


def parse_objective(text: str) -> Objective:
    """Read an objective.

    Args:
        text: `max NAME` or `min NAME`.

    Returns:
        The objective, with the name as it was given.
    """
    match = re.fullmatch(r"\s*(max|min)\s+([\w./-]+)\s*", text[:LONGEST])
    if not match or len(text) > LONGEST:
        raise InputError(f"an objective is 'max NAME' or 'min NAME', got {text[:LONGEST]!r}")
    return Objective(match[2], match[1] == "max")


def resolve(name: str, available: Iterable[str]) -> str:
    """Find the full name of a metric.

    Args:
        name: Its full name or its last part.
        available: The full names that there are.

    Returns:
        The full name. An unknown or ambiguous name is refused.
    """
    names = list(available)
    if name in names:
        return name
    short: Mapping[str, list[str]] = {n.rpartition("/")[2]: [] for n in names}
    for n in names:
        short[n.rpartition("/")[2]].append(n)
    short = {**short, **({"latency": ["latency/ms"]} if "latency/ms" in names else {})}
    matches = short.get(name, [])
    if len(matches) == 1:
        return matches[0]
    if matches:
        raise InputError(f"the metric {name!r} is ambiguous: say one of {', '.join(matches)}")
    raise UnknownNameError("metric", name, short)
